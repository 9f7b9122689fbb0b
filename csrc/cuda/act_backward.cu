/* Gradients of activations: a is that of the result, b what the forward
 * operator saw (or answered). */
#include "elementwise.h"

enum {
    THRESHOLD,
    LEAKY_RELU,
    HARDTANH,
    SHRINK,
    HARDSIGMOID,
    HARDSWISH,
    ELU,
    SOFTPLUS,
    SILU,
    MISH,
    LOG_SIGMOID,
    GELU,
    GELU_TANH
};

template <class C> static __device__ C logistic(C x) {
    return 1 / (1 + exp(-x));
}
template <class C> static __device__ C softplus_slope(C x, C beta, C threshold) {
    return x * beta > threshold ? (C)1 : logistic(x * beta);
}
template <class C> static __device__ C silu_slope(C x) {
    const C s = logistic(x);
    return s * (1 + x * (1 - s));
}
template <class C> static __device__ C mish_slope(C x) {
    const C t = tanh(log1p(exp(x)));
    return t + x * logistic(x) * (1 - t * t);
}
template <class C> static __device__ C log_sigmoid_slope(C x) {
    const C z = exp(-fabs(x)), part = z / (1 + z);
    return x < 0 ? 1 - part : part;
}
template <class C> static __device__ C gelu_slope(C x) {
    const C half_bell = (C)0.39894228040143267794; /* 1 / sqrt(2 pi) */
    return (C)0.5 * (1 + erf(x * (C)0.70710678118654752440)) + x * (exp(x * x * (C)-0.5) * half_bell);
}
template <class C> static __device__ C gelu_tanh_slope(C x) {
    const C scale = (C)0.79788456080286535588; /* sqrt(2 / pi) */
    const C t = tanh(scale * (x + (C)0.044715 * (x * x * x))),
            inner = scale * (1 + 3 * (C)0.044715 * (x * x));
    return (C)0.5 * (1 + t) + (C)0.5 * x * (1 - t * t) * inner;
}

template <class C> struct act_backward : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = sizeof(C) == sizeof(float) ? 4 : 1, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C n0 = this->n[0], n1 = this->n[1], n2 = this->n[2];
        switch (this->op) {
            CUDA_CASE_2(THRESHOLD, b <= n0 ? (C)0 : a)
            CUDA_CASE_2(LEAKY_RELU, b > 0 ? a : a * n0)
            CUDA_CASE_2(HARDTANH, b > n0 && b < n1 ? a : (C)0)
            CUDA_CASE_2(SHRINK, b < -n0 || b > n0 ? a : (C)0)
            CUDA_CASE_2(HARDSIGMOID, b > -3 && b < 3 ? a * (C)(1.0f / 6) : (C)0)
            CUDA_CASE_2(HARDSWISH, b <= -3 ? (C)0 : b >= 3 ? a : a * (b / 3 + (C)0.5))
            /* numbers: alpha * scale * input_scale, input_scale, scale */
            CUDA_CASE_2(ELU, b > 0 ? a * n2 : a * n1 * n0 * exp(b * n1))
            CUDA_CASE_2(SOFTPLUS, a * softplus_slope(b, n0, n1))
            CUDA_CASE_2(SILU, a * silu_slope(b))
            CUDA_CASE_2(MISH, a * mish_slope(b))
            CUDA_CASE_2(LOG_SIGMOID, a * log_sigmoid_slope(b))
            CUDA_CASE_2(GELU, a * gelu_slope(b))
            CUDA_CASE_2(GELU_TANH, a * gelu_tanh_slope(b))
        }
    }
};

template <> struct act_backward<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C border = n[0];
        switch (op) { CUDA_CASE_2(THRESHOLD, b <= border ? 0 : a) }
    }
};

#define BACK(name, op, ...)                                                                                  \
    CUDA_KERNEL(cuda_##name##_backward) {                                                                    \
        return rl_is_float(rl_in(k, 0)->dtype) ? cuda_elementwise<act_backward>(k, op, {{__VA_ARGS__}, {}})  \
                                               : RL_UNSUPPORTED;                                             \
    }
BACK(leaky_relu, LEAKY_RELU, rl_num(k, 2))
BACK(hardtanh, HARDTANH, rl_num(k, 2), rl_num(k, 3))
BACK(shrink, SHRINK, rl_num(k, 2))
BACK(hardsigmoid, HARDSIGMOID)
BACK(hardswish, HARDSWISH)
BACK(elu, ELU, rl_num(k, 2) * rl_num(k, 3), rl_num(k, 4), rl_num(k, 3))
BACK(softplus, SOFTPLUS, rl_num(k, 2), rl_num(k, 3))
BACK(silu, SILU)
BACK(mish, MISH)
BACK(log_sigmoid, LOG_SIGMOID)
BACK(gelu, k->attr[0] ? GELU_TANH : GELU)

CUDA_KERNEL(cuda_threshold_backward) {
    return cuda_elementwise<act_backward>(k, THRESHOLD, {{rl_num(k, 2)}, {(int64_t)floor(rl_num(k, 2))}});
}
