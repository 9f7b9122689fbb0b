/* Reductions: how folds and lines are spread over threads and blocks; sums, means, products, counts, any and
 * all, extremes and where they stand; variances and deviations, logsumexp. */
#include "cuda/strided_iterator.cuh"
#include "lines.cuh"
#include "reduce.cuh"
#include <math.h>

/* ==== how a fold is spread: Note [CUDA folds] ==== */
enum {
    MANY_BLOCKS = 1024, /* with fewer, outputs are split, */
    SHARE = 16          /* into parts that give a thread this many times REDUCE_UNROLL elements */
};

/* the views' dims that are in the mask, and last the elements' numbers in there */
static bool iter_pick(cuda_iter *w, const rl_view *const *views, int nops, uint64_t mask, bool numbered) {
    cuda_subview picked[CUDA_OPS], number;
    const rl_view *all[CUDA_OPS];
    for (int op = 0; op < nops; op++) {
        cuda_subview_pick(&picked[op], views[op], mask);
        all[op] = &picked[op].view;
    }
    cuda_subview_number(&number, all[0], ~(uint64_t)0);
    all[nops] = &number.view;
    return cuda_iter_make_along(w, all, nops + numbered);
}

static int64_t inner_step(const cuda_iter *w) {
    return w->ndim ? w->step[0][w->ndim - 1] : INT64_MAX;
}

/* the power of 2 from n on, at most `most` */
static int power_above(int64_t n, int most) {
    int p = 1;
    while (p < most && p < n) p *= 2;
    return p;
}

bool cuda_reduction_make(cuda_reduction *r, const rl_view *const *views, int nops, uint64_t mask,
                         bool numbered) {
    if (!iter_pick(&r->kept, views, nops, ~mask, true) ||
        !iter_pick(&r->reduced, views, nops, mask, numbered))
        return false;
    const int64_t kept = r->kept.numel, elements = r->reduced.numel;
    const int64_t rounds = (elements + REDUCE_UNROLL - 1) / REDUCE_UNROLL;
    r->from = rl_const_data(views[0]);
    r->dtype = views[0]->dtype;
    r->rows = inner_step(&r->reduced) <= inner_step(&r->kept);
    r->strip = r->rows && r->reduced.ndim == 1 && inner_step(&r->reduced) == 1;
    const int widest = REDUCE_THREADS / power_above(kept, r->rows ? 1 : CUDA_WARP);
    r->per = power_above(rounds, widest);
    const int64_t width = REDUCE_THREADS / r->per, blocks = (kept + width - 1) / width;
    const int64_t whole = rounds / ((int64_t)r->per * SHARE), wanted = blocks ? MANY_BLOCKS / blocks : 0;
    const int64_t splits = whole < wanted ? whole : wanted;
    r->blocks = (unsigned)blocks;
    if (blocks > INT32_MAX) return false;
    r->splits = splits > 1 ? (unsigned)splits : 1;
    r->share = (rounds + r->splits - 1) / r->splits * REDUCE_UNROLL; /* vectors stay aligned */
    return true;
}

/* ==== how lines are: Note [CUDA lines] ==== */
enum { LONG_LINE = 1024, LONGEST_LINE = 16384 }; /* for a block of LINE_THREADS, of LINE_MAX_THREADS */

static int threads_of(const cuda_lines *l, int64_t across) {
    const int64_t lines = l->iter.numel, n = l->n;
    int per = 1;
    if (l->step[0] > across && lines >= LINE_THREADS) return 1;
    if (n > LONGEST_LINE) return LINE_MAX_THREADS;
    if (n > LONG_LINE) return LINE_THREADS;
    while (per < CUDA_WARP && per < n) per *= 2;
    return per;
}

bool cuda_lines_make(cuda_lines *l, const rl_view *const *views, int nops, int64_t dim) {
    cuda_subview first[CUDA_LINE_OPS];
    const rl_view *firsts[CUDA_LINE_OPS];
    const bool is_scalar = views[0]->ndim == 0;
    for (int op = 0; op < nops; op++) {
        cuda_subview_pick(&first[op], views[op], ~(is_scalar ? 0 : (uint64_t)1 << dim));
        firsts[op] = &first[op].view;
        l->step[op] = is_scalar ? 0 : views[op]->strides[dim];
    }
    l->n = is_scalar ? 1 : views[0]->shape[dim];
    if (!cuda_iter_make_along(&l->iter, firsts, nops)) return false;
    const int last = l->iter.ndim - 1;
    l->per = threads_of(l, last < 0 ? INT64_MAX : l->iter.step[0][last]);
    l->threads = l->per > LINE_THREADS ? LINE_MAX_THREADS : LINE_THREADS;
    const int64_t width = l->threads / l->per, blocks = (l->iter.numel + width - 1) / width;
    l->blocks = (unsigned)blocks;
    return blocks <= INT32_MAX;
}

/* ==== sums, means, products, counts, any and all; extremes and where they stand ==== */
enum { SUM, NANSUM, MEAN, PROD, COUNT, ANY, ALL };

/* ---- sums and products: float for halves, else as wide as the element ---- */
template <class C> __device__ C product(C a, C b) {
    return a * b;
}
template <> __device__ int64_t product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
template <class C> __device__ C mean_of(C sum, int64_t count) {
    return sum / (C)count;
}
template <> __device__ int64_t mean_of(int64_t sum, int64_t) {
    return sum; /* there is no mean of integers */
}

template <class C> struct number_fold {
    typedef C value_type, number_type;
    int op, dtype;
    void *to;
    int64_t count;
    __device__ C start() const { return op == PROD; }
    __device__ C take(C v, C x, int64_t) const {
        if (op == PROD) return product(v, x);
        return op == NANSUM && x != x ? v : cuda_sum()(v, x);
    }
    __device__ C join(C a, C b) const { return op == PROD ? product(a, b) : cuda_sum()(a, b); }
    __device__ void store(int64_t at, C v) const {
        cuda_store(dtype, to, at, op == MEAN ? mean_of(v, count) : v);
    }
};

template <class C> static rl_status fold_numbers(rl_call *k, const cuda_reduction &r, int op) {
    const rl_view *out = k->out[0];
    return cuda_reduce(k, r, number_fold<C>{op, out->dtype, rl_data(out, RL_WRITE), r.reduced.numel});
}

static rl_status reduce_numbers(rl_call *k, int op) {
    cuda_reduction r;
    const int dtype = rl_in(k, 0)->dtype;
    if (!cuda_reduction_of(k, &r, false)) return RL_UNSUPPORTED;
    if (r.kept.numel == 0) return RL_OK;
    if (dtype == RL_F64) return fold_numbers<double>(k, r, op);
    return rl_is_float(dtype) ? fold_numbers<float>(k, r, op) : fold_numbers<int64_t>(k, r, op);
}
CUDA_KERNEL(cuda_sum) {
    return reduce_numbers(k, SUM);
}
CUDA_KERNEL(cuda_nansum) {
    return reduce_numbers(k, NANSUM);
}
CUDA_KERNEL(cuda_mean) {
    return reduce_numbers(k, MEAN);
}
CUDA_KERNEL(cuda_prod) {
    return reduce_numbers(k, PROD);
}

/* ---- what is not zero ---- */
struct truth_fold {
    typedef int64_t value_type;
    typedef cuda_bool number_type;
    int op, dtype;
    void *to;
    __device__ int64_t start() const { return op == ALL; }
    __device__ int64_t take(int64_t v, cuda_bool x, int64_t) const { return join(v, x.byte); }
    __device__ int64_t join(int64_t a, int64_t b) const {
        return op == COUNT ? a + b : op == ANY ? a | b : a & b;
    }
    __device__ void store(int64_t at, int64_t v) const { cuda_store(dtype, to, at, v); }
};

static rl_status reduce_truths(rl_call *k, int op) {
    cuda_reduction r;
    if (!cuda_reduction_of(k, &r, false)) return RL_UNSUPPORTED;
    if (r.kept.numel == 0) return RL_OK;
    return cuda_reduce(k, r, truth_fold{op, k->out[0]->dtype, rl_data(k->out[0], RL_WRITE)});
}
CUDA_KERNEL(cuda_count_nonzero) {
    return reduce_truths(k, COUNT);
}
CUDA_KERNEL(cuda_any) {
    return reduce_truths(k, ANY);
}
CUDA_KERNEL(cuda_all) {
    return reduce_truths(k, ALL);
}

/* ---- extremes: NaN beats every number, the first of equals wins ---- */
template <class C> struct placed {
    C best;
    int64_t at; /* -1: nothing seen */
};
template <class C> struct extreme_fold {
    typedef placed<C> value_type;
    typedef C number_type;
    bool is_least;
    int dtype;
    void *values, *places; /* NULL: not asked for */
    __device__ value_type start() const { return {0, -1}; }
    __device__ value_type take(const value_type &v, C x, int64_t i) const { return join(v, {x, i}); }
    __device__ bool beats(C x, C y) const { return (is_least ? x < y : x > y) || (x != x && y == y); }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
        if (beats(a.best, b.best)) return a;
        return beats(b.best, a.best) || b.at < a.at ? b : a;
    }
    __device__ void store(int64_t at, const value_type &v) const {
        if (values) cuda_store(dtype, values, at, v.best);
        if (places) ((int64_t *)places)[at] = v.at;
    }
};

static rl_status reduce_extreme(rl_call *k, bool is_least, const rl_view *values, const rl_view *places) {
    cuda_reduction r;
    const rl_view *x = rl_in(k, 0);
    void *to = values ? rl_data(values, RL_WRITE) : nullptr,
         *at = places ? rl_data(places, RL_WRITE) : nullptr;
    if (!cuda_reduction_of(k, &r, true)) return RL_UNSUPPORTED;
    if (r.kept.numel == 0) return RL_OK;
    if (x->dtype == RL_F64) return cuda_reduce(k, r, extreme_fold<double>{is_least, x->dtype, to, at});
    if (rl_is_float(x->dtype)) return cuda_reduce(k, r, extreme_fold<float>{is_least, x->dtype, to, at});
    return cuda_reduce(k, r, extreme_fold<int64_t>{is_least, x->dtype, to, at});
}
CUDA_KERNEL(cuda_amax) {
    return reduce_extreme(k, false, k->out[0], nullptr);
}
CUDA_KERNEL(cuda_amin) {
    return reduce_extreme(k, true, k->out[0], nullptr);
}
CUDA_KERNEL(cuda_max_dim) {
    return reduce_extreme(k, false, k->out[0], k->out[1]);
}
CUDA_KERNEL(cuda_min_dim) {
    return reduce_extreme(k, true, k->out[0], k->out[1]);
}
CUDA_KERNEL(cuda_argmax) {
    return reduce_extreme(k, false, nullptr, k->out[0]);
}
CUDA_KERNEL(cuda_argmin) {
    return reduce_extreme(k, true, nullptr, k->out[0]);
}
CUDA_KERNEL(cuda_aminmax) {
    const rl_status least = reduce_extreme(k, true, k->out[0], nullptr);
    return least == RL_OK ? reduce_extreme(k, false, k->out[1], nullptr) : least;
}

/* ==== variances and deviations with or without their means, logsumexp: of floats ==== */
/* ---- variances ---- */
template <class C> struct moments_fold {
    typedef cuda_moments<C> value_type;
    typedef C number_type;
    bool is_root;
    int dtype;
    void *to, *to_mean; /* NULL: not asked for */
    C left;             /* what the squares are divided by */
    static moments_fold make(rl_call *k, int64_t count, bool is_root, double correction) {
        const double left = (double)count - correction;
        return {is_root, k->out[0]->dtype, rl_data(k->out[0], RL_WRITE),
                k->n_out > 1 ? rl_data(k->out[1], RL_WRITE) : nullptr, (C)(left > 0 ? left : 0)};
    }
    __device__ value_type start() const { return {0, 0, 0}; }
    __device__ value_type take(const value_type &v, C x, int64_t) const { return cuda_moments_take(v, x); }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        return cuda_moments_join(a, b);
    }
    __device__ void store(int64_t at, const value_type &v) const {
        const C variance = v.square / left;
        cuda_store(dtype, to, at, is_root ? sqrt(variance) : variance);
        if (to_mean) cuda_store(dtype, to_mean, at, v.count > 0 ? v.mean : (C)NAN);
    }
};

static rl_status reduce_moments(rl_call *k, bool is_root) {
    /* the argument may be a fraction; the shape rules leave whole numbers in attr[1] */
    const bool is_fraction = k->n_arg > 2 && k->arg[2].tag == RL_FLOAT;
    return cuda_reduce_floats<moments_fold>(k, is_root, is_fraction ? k->arg[2].u.d : (double)k->attr[1]);
}
CUDA_KERNEL(cuda_var) {
    return reduce_moments(k, false);
}
CUDA_KERNEL(cuda_std) {
    return reduce_moments(k, true);
}

/* ---- logsumexp: sum * exp(most), where `most` is a number, so that infinities count in the sum ---- */
template <class C> struct powers {
    C most, sum;
};
template <class C> struct powers_fold {
    typedef powers<C> value_type;
    typedef C number_type;
    int dtype;
    void *to;
    static powers_fold make(rl_call *k, int64_t) { return {k->out[0]->dtype, rl_data(k->out[0], RL_WRITE)}; }
    __device__ value_type start() const {
        return {sizeof(C) == 4 ? (C)-3.4028235e38f : (C)-1.7976931348623157e308, 0};
    }
    static __device__ C scaled(C sum, C by) { return isinf(sum) ? sum : sum * exp(by); }
    __device__ value_type take(const value_type &v, C x, int64_t) const {
        if (x > v.most && !isinf(x)) return {x, scaled(v.sum, v.most - x) + 1};
        return {v.most, v.sum + exp(x - v.most)};
    }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        const C most = a.most > b.most ? a.most : b.most;
        return {most, scaled(a.sum, a.most - most) + scaled(b.sum, b.most - most)};
    }
    __device__ void store(int64_t at, const value_type &v) const {
        cuda_store(dtype, to, at, v.most + log(v.sum));
    }
};
CUDA_KERNEL(cuda_logsumexp) {
    return cuda_reduce_floats<powers_fold>(k);
}
