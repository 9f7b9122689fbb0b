/* Variances and deviations with or without their means, logsumexp: of floats. */
#include "reduce_dims.h"
#include <math.h>

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
