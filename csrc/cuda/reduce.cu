/* Sums, means, products, counts, any and all; extremes and where they stand. */
#include "reduce_dims.h"

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
