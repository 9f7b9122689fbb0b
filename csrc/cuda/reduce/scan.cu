/* Running sums, products, logarithms of sums of powers, extremes and where they stand: along one dim. */
#include "lines.cuh"
#include <math.h>

/* A scan travels with the launch; operands of its lines are the output, the input, the places:
 *     value_type start()             joins as nothing
 *     value_type load(at, i)         of element i of a line
 *     value_type join(a, b)          a stands before b
 *     void store(at, place, v)       where the output, and the places, lie */
template <class F> struct scan_join {
    F scan;
    typedef typename F::value_type V;
    __device__ V operator()(const V &a, const V &b) const { return scan.join(a, b); }
};

/* the running joins of the threads of a line; `total` is that of all of them */
template <class F>
__device__ typename F::value_type scan_threads(const F &scan, const cuda_lines &l, typename F::value_type v,
                                               typename F::value_type *total) {
    const scan_join<F> join = {scan};
    if (l.per > CUDA_WARP) return cuda_block_scan(v, join, total);
    v = cuda_warp_scan(v, join, l.per);
    *total = cuda_shuffle_from(v, l.per - 1, l.per);
    return v;
}

template <class F> __global__ void __launch_bounds__(LINE_MAX_THREADS) scan_lines(F scan, cuda_lines l) {
    typename F::value_type before = scan.start(), total;
    int64_t at[CUDA_LINE_OPS];
    int part;
    const bool is_line = cuda_line_seek(l, at, &part);
    for (int64_t first = 0; first < l.n; first += l.per) {
        const int64_t i = first + part;
        typename F::value_type v = i < l.n ? scan.load(at[1] + i * l.step[1], i) : scan.start();
        v = scan.join(before, scan_threads(scan, l, v, &total));
        if (is_line && i < l.n) scan.store(at[0] + i * l.step[0], at[2] + i * l.step[2], v);
        before = scan.join(before, total);
    }
}

template <class F> static rl_status scan_run(rl_call *k, const cuda_lines &l, const F &scan) {
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH_BLOCKS((scan_lines<F>), l.blocks, l.threads, 0, (cudaStream_t)k->stream, scan, l);
    return rl_cuda_end(k);
}

static bool scan_begin(const rl_call *k, cuda_lines *l) {
    const rl_view *views[CUDA_LINE_OPS] = {k->out[0], rl_in(k, 0), k->n_out > 1 ? k->out[1] : k->out[0]};
    return cuda_lines_make(l, views, CUDA_LINE_OPS, k->attr[0]);
}

/* ---- numbers ---- */
enum { SUMS, PRODUCTS, POWERS };
template <class C> __device__ C scan_product(C a, C b) {
    return a * b;
}
template <> __device__ int64_t scan_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
template <class C> __device__ C log_add(C a, C b) {
    const C high = a > b || a != a ? a : b, low = high == a ? b : a;
    if (high == low && isinf(high)) return high;
    return high + log1p(exp(low - high));
}
template <> __device__ int64_t log_add(int64_t a, int64_t) {
    return a; /* there is none of integers */
}

template <class C> struct number_scan {
    typedef C value_type;
    int op, from_dtype, dtype;
    const void *from;
    void *to;
    __device__ C start() const { return op == POWERS ? -(C)INFINITY : op == PRODUCTS; }
    __device__ C load(int64_t at, int64_t) const { return cuda_load<C>(from_dtype, from, at); }
    __device__ C join(C a, C b) const {
        return op == SUMS ? cuda_sum()(a, b) : op == PRODUCTS ? scan_product(a, b) : log_add(a, b);
    }
    __device__ void store(int64_t at, int64_t, C v) const { cuda_store(dtype, to, at, v); }
};
template <> __device__ inline int64_t number_scan<int64_t>::start() const {
    return op == PRODUCTS;
}

template <class C> static rl_status scan_as(rl_call *k, const cuda_lines &l, int op) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    return scan_run(k, l, number_scan<C>{op, x->dtype, out->dtype, rl_const_data(x), rl_data(out, RL_WRITE)});
}
static rl_status scan_numbers(rl_call *k, int op) {
    const int dtype = k->out[0]->dtype;
    cuda_lines l;
    if (!scan_begin(k, &l)) return RL_UNSUPPORTED;
    if (k->out[0]->numel == 0) return RL_OK;
    if (dtype == RL_F64) return scan_as<double>(k, l, op);
    return rl_is_float(dtype) ? scan_as<float>(k, l, op) : scan_as<int64_t>(k, l, op);
}
CUDA_KERNEL(cuda_cumsum) {
    return scan_numbers(k, SUMS);
}
CUDA_KERNEL(cuda_cumprod) {
    return scan_numbers(k, PRODUCTS);
}
CUDA_KERNEL(cuda_logcumsumexp) {
    return scan_numbers(k, POWERS);
}

/* ---- extremes: the last of equals is where it stands; a NaN is the extreme from then on ---- */
template <class C> struct running_extreme {
    C best;
    int64_t at; /* -1: nothing seen */
};
template <class C> struct extreme_scan {
    typedef running_extreme<C> value_type;
    bool is_least;
    int dtype;
    const void *from;
    void *to;
    int64_t *places;
    __device__ value_type start() const { return {0, -1}; }
    __device__ value_type load(int64_t at, int64_t i) const { return {cuda_load<C>(dtype, from, at), i}; }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
        return b.best != b.best || (is_least ? b.best <= a.best : b.best >= a.best) ? b : a;
    }
    __device__ void store(int64_t at, int64_t place, const value_type &v) const {
        cuda_store(dtype, to, at, v.best);
        places[place] = v.at;
    }
};

static rl_status scan_extremes(rl_call *k, bool is_least) {
    const rl_view *x = rl_in(k, 0);
    cuda_lines l;
    if (!scan_begin(k, &l)) return RL_UNSUPPORTED;
    if (x->numel == 0) return RL_OK;
    const void *from = rl_const_data(x);
    void *to = rl_data(k->out[0], RL_WRITE);
    int64_t *places = (int64_t *)rl_data(k->out[1], RL_WRITE);
    if (rl_is_float(x->dtype))
        return scan_run(k, l, extreme_scan<double>{is_least, x->dtype, from, to, places});
    return scan_run(k, l, extreme_scan<int64_t>{is_least, x->dtype, from, to, places});
}
CUDA_KERNEL(cuda_cummax) {
    return scan_extremes(k, false);
}
CUDA_KERNEL(cuda_cummin) {
    return scan_extremes(k, true);
}
