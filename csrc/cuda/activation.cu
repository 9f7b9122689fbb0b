/* Activations and their gradients. */
#include "cuda/random/philox.cuh"
#include "device.h"
#include "elementwise.cuh"

/* clang-format off */
#define ACTIVATIONS(X)                                                                                       \
    X(act, silu, a / (1 + exp(-a)))                                                                          \
    X(act, hardswish, a * up_to_six(a + 3) / 6)                                                              \
    X(act, hardsigmoid, up_to_six(a + 3) / 6)                                                                \
    X(act, mish, a * tanh(log1p(exp(a))))                                                                    \
    X(act, log_sigmoid, log_sigmoid(a))                                                                      \
    X(act, selu, a < 0 ? expm1(a) * selu_alpha : a * selu_scale)                                             \
    X(act, leaky_relu, a > 0 ? a : a * n0, rl_num(k, 1))                                                     \
    X(act, elu, a < 0 ? n0 * expm1(a) : a, rl_num(k, 1))                                                     \
    X(act, softplus, a * n0 > n1 ? a : log1p(exp(a * n0)) / n0, rl_num(k, 1), rl_num(k, 2))                  \
    X(act, celu, a < 0 ? n0 * expm1(a * n1) : a, rl_num(k, 1), 1 / rl_num(k, 1))                             \
    X(act, softshrink, a > n0 ? a - n0 : a < -n0 ? a + n0 : a * 0, rl_num(k, 1))                             \
    X(act, hardshrink, a >= -n0 && a <= n0 ? (C)0 : a, rl_num(k, 1))
/* clang-format on */
enum { ACTIVATIONS(CUDA_TAG) RELU, GELU, GELU_TANH, THRESHOLD, PRELU, GLU };

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
            ACTIVATIONS(CUDA_LINE_1)
            CUDA_CASE_1(RELU, a < 0 ? (C)0 : a)
            CUDA_CASE_1(GELU, a * (C)0.5 * (1 + erf(a * sqrt_half)))
            CUDA_CASE_1(GELU_TANH, gelu_tanh(a))
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

ACTIVATIONS(CUDA_LINE_KERNEL)

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

/* ==== gradients: a is that of the result, b what the forward operator saw, or answered ==== */
/* the numbers of elu: alpha * scale * input_scale, input_scale, scale */
/* clang-format off */
#define ACTIVATION_GRADIENTS(X)                                                                              \
    X(act_backward, leaky_relu_backward, b > 0 ? a : a * n0, rl_num(k, 2))                                   \
    X(act_backward, hardtanh_backward, b > n0 && b < n1 ? a : (C)0, rl_num(k, 2), rl_num(k, 3))              \
    X(act_backward, shrink_backward, b < -n0 || b > n0 ? a : (C)0, rl_num(k, 2))                             \
    X(act_backward, hardsigmoid_backward, b > -3 && b < 3 ? a * (C)(1.0f / 6) : (C)0)                        \
    X(act_backward, hardswish_backward, b <= -3 ? (C)0 : b >= 3 ? a : a * (b / 3 + (C)0.5))                  \
    X(act_backward, elu_backward, b > 0 ? a * n2 : a * n1 * n0 * exp(b * n1),                                \
       rl_num(k, 2) * rl_num(k, 3), rl_num(k, 4), rl_num(k, 3))                                              \
    X(act_backward, softplus_backward, a * softplus_slope(b, n0, n1), rl_num(k, 2), rl_num(k, 3))            \
    X(act_backward, silu_backward, a * silu_slope(b))                                                        \
    X(act_backward, mish_backward, a * mish_slope(b))                                                        \
    X(act_backward, log_sigmoid_backward, a * log_sigmoid_slope(b))
/* clang-format on */
enum { ACTIVATION_GRADIENTS(CUDA_TAG) THRESHOLD_BACKWARD, GELU_BACKWARD, GELU_TANH_BACKWARD };

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
            ACTIVATION_GRADIENTS(CUDA_LINE_2)
            CUDA_CASE_2(THRESHOLD_BACKWARD, b <= n0 ? (C)0 : a)
            CUDA_CASE_2(GELU_BACKWARD, a * gelu_slope(b))
            CUDA_CASE_2(GELU_TANH_BACKWARD, a * gelu_tanh_slope(b))
        }
    }
};

template <> struct act_backward<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 2, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const C border = n[0];
        switch (op) { CUDA_CASE_2(THRESHOLD_BACKWARD, b <= border ? 0 : a) }
    }
};

static rl_status backward(rl_call *k, int op, const cuda_numbers &numbers) {
    return rl_is_float(rl_in(k, 0)->dtype) ? cuda_elementwise<act_backward>(k, op, numbers) : RL_UNSUPPORTED;
}
#define BACKWARD_KERNEL(family, name, result, ...)                                                           \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return backward(k, family##_##name, {{__VA_ARGS__}, {}});                                            \
    }
ACTIVATION_GRADIENTS(BACKWARD_KERNEL)
CUDA_KERNEL(cuda_gelu_backward) {
    return backward(k, k->attr[0] ? GELU_TANH_BACKWARD : GELU_BACKWARD, {});
}

CUDA_KERNEL(cuda_threshold_backward) {
    return cuda_elementwise<act_backward>(k, THRESHOLD_BACKWARD,
                                          {{rl_num(k, 2)}, {(int64_t)floor(rl_num(k, 2))}});
}

/* ==== rrelu: a random slope for each element below 0. Note [Device draws] ==== */
template <class C>
static __device__ void lean_at(const cuda_iter &w, int dtype, void *out, const void *in, int64_t i, C slope) {
    int64_t at[2];
    cuda_iter_seek(w, i, at);
    const C x = cuda_load<C>(dtype, in, at[1]);
    cuda_store<C>(dtype, out, at[0], x <= 0 ? x * slope : x);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    lean(cuda_draws d, cuda_iter w, int dtype, void *out, const void *in, C low, C range) {
    enum { EACH = 16 / sizeof(C) };
    cuda_draw<EACH>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        C u[EACH];
        cuda_units(words, u);
        CUDA_ROLLED
        for (int j = 0; j < EACH && i < w.numel; j++, i += step) {
            lean_at(w, dtype, out, in, i, fma(u[0], range, low));
            cuda_turn(u);
        }
    });
}

template <class C>
static rl_status launch_lean(rl_call *k, const cuda_iter &w, const rl_view *x, C low, C high) {
    cuda_draws d;
    if (cuda_draws_take(k, &d, w.numel, 16 / sizeof(C), true) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((lean<C>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w, x->dtype,
                rl_data(k->out[0], RL_WRITE), rl_const_data(x), low, high - low);
    return rl_cuda_end(k);
}

/* the same slope for all, where nothing is trained */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    lean_evenly(cuda_iter w, int dtype, void *out, const void *in, C slope) {
    CUDA_EACH(i, w) lean_at(w, dtype, out, in, i, slope);
}

template <class C>
static rl_status launch_rrelu(rl_call *k, const cuda_iter &w, const rl_view *x, double low, double high) {
    if (rl_int(k, 3)) return launch_lean<C>(k, w, x, (C)low, (C)high);
    CUDA_LAUNCH((lean_evenly<C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w, x->dtype,
                rl_data(k->out[0], RL_WRITE), rl_const_data(x), (C)((low + high) / 2));
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rrelu) { /* (input, lower, upper, training) */
    const rl_view *x = rl_in(k, 0), *views[2] = {k->out[0], x};
    const double low = rl_num(k, 1), high = rl_num(k, 2);
    cuda_iter w;
    if (x->device == RL_CPU || !cuda_iter_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    return x->dtype == RL_F64 ? launch_rrelu<double>(k, w, x, low, high)
                              : launch_rrelu<float>(k, w, x, low, high);
}
