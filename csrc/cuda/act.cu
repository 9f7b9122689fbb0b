/* Activations. */
#include "elementwise.h"

enum {
    RELU,
    SILU,
    GELU,
    GELU_TANH,
    HARDSWISH,
    HARDSIGMOID,
    MISH,
    LOG_SIGMOID,
    LEAKY_RELU,
    ELU,
    SOFTPLUS,
    CELU,
    SELU,
    SOFTSHRINK,
    HARDSHRINK,
    THRESHOLD,
    PRELU,
    GLU
};

/* x limited to [0, 6]; NaN stays NaN */
template <class C> static __device__ C up_to_six(C x) {
    return x < 0 ? (C)0 : x > 6 ? (C)6 : x;
}
template <class C> static __device__ C log_sigmoid(C x) {
    return (x < 0 || x != x ? x : (C)0) - log1p(exp(-fabs(x)));
}
template <class C> static __device__ C gelu_tanh(C a) {
    const C scale = (C)0.79788456080286535588; /* sqrt(2 / pi) */
    return (C)0.5 * a * (1 + tanh(scale * (a + (C)0.044715 * a * a * a)));
}

template <class C> struct act : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = sizeof(C) == sizeof(float) ? 4 : 1, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C sqrt_half = (C)0.70710678118654752440, n0 = this->n[0], n1 = this->n[1];
        const C selu_scale = (C)1.0507009873554804934193349852946,
                selu_alpha = (C)(1.6732632423543772848170429916717 * 1.0507009873554804934193349852946);
        switch (this->op) {
            CUDA_CASE_1(RELU, a < 0 ? (C)0 : a)
            CUDA_CASE_1(SILU, a / (1 + exp(-a)))
            CUDA_CASE_1(GELU, a * (C)0.5 * (1 + erf(a * sqrt_half)))
            CUDA_CASE_1(GELU_TANH, gelu_tanh(a))
            CUDA_CASE_1(HARDSWISH, a * up_to_six(a + 3) / 6)
            CUDA_CASE_1(HARDSIGMOID, up_to_six(a + 3) / 6)
            CUDA_CASE_1(MISH, a * tanh(log1p(exp(a))))
            CUDA_CASE_1(LOG_SIGMOID, log_sigmoid(a))
            CUDA_CASE_1(LEAKY_RELU, a > 0 ? a : a * n0)
            CUDA_CASE_1(ELU, a < 0 ? n0 * expm1(a) : a)
            CUDA_CASE_1(SOFTPLUS, a * n0 > n1 ? a : log1p(exp(a * n0)) / n0)
            CUDA_CASE_1(CELU, a < 0 ? n0 * expm1(a * n1) : a)
            CUDA_CASE_1(SELU, a < 0 ? expm1(a) * selu_alpha : a * selu_scale)
            CUDA_CASE_1(SOFTSHRINK, a > n0 ? a - n0 : a < -n0 ? a + n0 : a * 0)
            CUDA_CASE_1(HARDSHRINK, a >= -n0 && a <= n0 ? (C)0 : a)
            CUDA_CASE_1(THRESHOLD, a <= n0 ? n1 : a)
        }
    }
};

template <> struct act<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 1, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C n0 = n[0], n1 = n[1];
        switch (op) {
            CUDA_CASE_1(RELU, a < 0 ? 0 : a)
            CUDA_CASE_1(THRESHOLD, a <= n0 ? n1 : a)
        }
    }
};

CUDA_KERNEL(cuda_relu) {
    return rl_in(k, 0)->dtype == RL_BOOL ? RL_UNSUPPORTED : cuda_elementwise<act>(k, RELU);
}
CUDA_KERNEL(cuda_gelu) {
    return cuda_elementwise<act>(k, k->attr[0] ? GELU_TANH : GELU);
}

#define ACT(name, op, ...)                                                                                   \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<act>(k, op, {{__VA_ARGS__}, {}});                                            \
    }
ACT(silu, SILU)
ACT(hardswish, HARDSWISH)
ACT(hardsigmoid, HARDSIGMOID)
ACT(mish, MISH)
ACT(log_sigmoid, LOG_SIGMOID)
ACT(selu, SELU)
ACT(leaky_relu, LEAKY_RELU, rl_num(k, 1))
ACT(elu, ELU, rl_num(k, 1))
ACT(softplus, SOFTPLUS, rl_num(k, 1), rl_num(k, 2))
ACT(celu, CELU, rl_num(k, 1), 1 / rl_num(k, 1))
ACT(softshrink, SOFTSHRINK, rl_num(k, 1))
ACT(hardshrink, HARDSHRINK, rl_num(k, 1))

CUDA_KERNEL(cuda_threshold) {
    cuda_numbers numbers = {};
    for (int i = 0; i < 2; i++)
        if (cuda_number_of(k, 1 + i, rl_in(k, 0)->dtype, &numbers.d[i], &numbers.i[i]) != RL_OK)
            return RL_FAIL;
    return cuda_elementwise<act>(k, THRESHOLD, numbers);
}

extern "C" rl_status cuda_clamp(rl_call *k); /* clamp.cu */
CUDA_KERNEL(cuda_hardtanh) {
    if (rl_in(k, 0)->dtype == RL_U8 && (rl_num(k, 1) < 0 || rl_num(k, 2) < 0))
        return rl_fail(k, RL_RUNTIME, "cannot do hardtanh on an unsigned type with negative limits");
    return cuda_clamp(k);
}

/* ---- of two operands ---- */
template <class C> struct act_pairs : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = sizeof(C) == sizeof(float) ? 4 : 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        switch (this->op) {
            CUDA_CASE_2(PRELU, a > 0 ? a : a * b)
            CUDA_CASE_2(GLU, a / (1 + exp(-b)))
        }
    }
};

CUDA_KERNEL(cuda_prelu) {
    const rl_view *x = rl_in(k, 0);
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    rl_view slope = *rl_in(k, 1);
    if (slope.numel != 1) { /* the weights stand along dimension 1 */
        for (int d = 0; d < x->ndim; d++) shape[d] = 1, strides[d] = 0;
        shape[1] = slope.numel;
        strides[1] = slope.strides[0];
        slope.shape = shape;
        slope.strides = strides;
        slope.ndim = x->ndim;
    }
    const rl_view *views[] = {k->out[0], x, &slope};
    return cuda_elementwise<act_pairs>(k, views, PRELU, {});
}

CUDA_KERNEL(cuda_glu) {
    const rl_view *out = k->out[0];
    rl_view half = *rl_in(k, 0);
    half.shape = out->shape;
    half.numel = out->numel;
    rl_view gate = half;
    if (out->numel) gate.offset += out->shape[k->attr[0]] * half.strides[k->attr[0]];
    const rl_view *views[] = {out, &half, &gate};
    return cuda_elementwise<act_pairs>(k, views, GLU, {});
}
