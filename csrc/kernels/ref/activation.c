/* Activations and their gradients, element by element. */
#include "loops.h"
#include "gradient.h"
#include <tgmath.h>

/* ---- activations ---- */
#define FLOAT_ENTRY(name)  RL_EACH_FLOAT(RL_ENTRY, name)
#define NUMBER_ENTRY(name) FLOAT_ENTRY(name) RL_EACH_INT(RL_ENTRY, name)
#define TABLE_KERNEL(name, entries)                                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {entries};                                            \
        return rl_eltwise(k, 1, loops, NULL);                                                                \
    }
RL_EACH_FLOAT(RL_UNARY_KEEP, x_relu, (a < 0 ? 0 : a))
RL_EACH_INT(RL_UNARY_KEEP, x_relu, (a < 0 ? 0 : a))
TABLE_KERNEL(relu, NUMBER_ENTRY(x_relu))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_silu, a / (1 + exp(-a)))
TABLE_KERNEL(silu, FLOAT_ENTRY(x_silu))

static const double sqrt_half = 0.70710678118654752440,
                    tanh_scale = 0.79788456080286535588; /* sqrt(2 / pi) */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_gelu, (a * (C)0.5 * (1 + erf(a * (C)sqrt_half))))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_gelu_tanh,
              ((C)0.5 * a * (1 + tanh((C)tanh_scale * (a + (C)0.044715 * a * a * a)))))
RL_KERNEL(ref_gelu) {
    static const rl_inner_loop loops[2][RL_NDTYPES] = {{FLOAT_ENTRY(x_gelu)}, {FLOAT_ENTRY(x_gelu_tanh)}};
    return rl_eltwise(k, 1, loops[k->attr[0] != 0], NULL);
}

/* ---- with numbers ---- */
/* The expressions read the row's numbers as c->d[0] and c->d[1]. */
#define NUMBERS_KERNEL(name, first, second, expr)                                                            \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_##name)};                              \
        rl_numbers numbers = {.d = {first, second}};                                                         \
        return rl_eltwise(k, 1, loops, &numbers);                                                            \
    }
#define PLAIN_KERNEL(name, expr) NUMBERS_KERNEL(name, 0, 0, expr)

/* x limited to [0, 6]; NaN stays NaN */
#define SIX(x) ((x) < 0 ? (C)0 : (x) > 6 ? (C)6 : (x))
PLAIN_KERNEL(hardswish, (a * SIX(a + 3) / 6))
PLAIN_KERNEL(hardsigmoid, (SIX(a + 3) / 6))
PLAIN_KERNEL(mish, (a * tanh(log1p(exp(a)))))
PLAIN_KERNEL(log_sigmoid, ((a < 0 ? a : a != a ? a : 0) - log1p(exp(-fabs(a)))))

NUMBERS_KERNEL(leaky_relu, rl_num(k, 1), 0, (a > 0 ? a : a * (C)c->d[0]))
NUMBERS_KERNEL(elu, rl_num(k, 1), 0, (a < 0 ? (C)c->d[0] * expm1(a) : a))
NUMBERS_KERNEL(softplus, rl_num(k, 1), rl_num(k, 2),
               (a * (C)c->d[0] > (C)c->d[1] ? a : log1p(exp(a * (C)c->d[0])) / (C)c->d[0]))
NUMBERS_KERNEL(celu, rl_num(k, 1), 1 / rl_num(k, 1), (a < 0 ? (C)c->d[0] * expm1(a * (C)c->d[1]) : a))
NUMBERS_KERNEL(softshrink, rl_num(k, 1), 0,
               (a > (C)c->d[0]    ? a - (C)c->d[0]
                : a < -(C)c->d[0] ? a + (C)c->d[0]
                                  : a * 0))
NUMBERS_KERNEL(hardshrink, rl_num(k, 1), 0, (a >= -(C)c->d[0] && a <= (C)c->d[0] ? 0 : a))

static const double selu_alpha = 1.6732632423543772848170429916717,
                    selu_scale = 1.0507009873554804934193349852946;
PLAIN_KERNEL(selu, (a < 0 ? expm1(a) * (C)(selu_alpha * selu_scale) : a * (C)selu_scale))

RL_EACH_FLOAT(RL_UNARY_KEEP, x_threshold, (a <= (C)c->d[0] ? (C)c->d[1] : a))
RL_EACH_INT(RL_UNARY_KEEP, x_threshold, (a <= c->i[0] ? c->i[1] : a))
RL_KERNEL(ref_threshold) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_threshold)
                                                        RL_EACH_INT(RL_ENTRY, x_threshold)};
    int dtype = rl_tensor_arg(k, 0)->dtype;
    rl_numbers numbers = {.fault = 0};
    for (int i = 0; i < 2; i++) {
        uint64_t element;
        if (rl_element_from(k, 1 + i, dtype, &element) != RL_OK) return RL_FAIL;
        if (rl_is_float(dtype))
            rl_row_doubles(dtype, (const char *)&element, 0, 1, &numbers.d[i]);
        else
            rl_row_ints(dtype, (const char *)&element, 0, 1, &numbers.i[i]);
    }
    return rl_eltwise(k, 1, loops, &numbers);
}

rl_status ref_clamp(rl_call *k); /* kernels/ref/math.c */
RL_KERNEL(ref_hardtanh) {
    if (rl_tensor_arg(k, 0)->dtype == RL_U8 && (rl_num(k, 1) < 0 || rl_num(k, 2) < 0))
        return rl_fail(k, RL_RUNTIME, "cannot do hardtanh on an unsigned type with negative limits");
    return ref_clamp(k);
}

/* ---- a second operand ---- */
#define WHERE_ABOVE (b <= (C)c->d[0] ? 0 : a)
RL_EACH_FLOAT(RL_BINARY_KEEP, x_threshold_backward, WHERE_ABOVE)
RL_EACH_INT(RL_BINARY_KEEP, x_threshold_backward, WHERE_ABOVE)
RL_KERNEL(ref_threshold_backward) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_threshold_backward)
                                                        RL_EACH_INT(RL_ENTRY, x_threshold_backward)};
    rl_numbers numbers = {.d = {rl_num(k, 2)}};
    return rl_eltwise(k, 2, loops, &numbers);
}

RL_EACH_FLOAT(RL_BINARY_KEEP, x_prelu, (a > 0 ? a : a * b))
RL_EACH_FLOAT(RL_BINARY_KEEP, x_glu, (a / (1 + exp(-b))))

/* out = strip(x, y) where y is not an argument as it stands */
static void pair_run(rl_call *k, const rl_inner_loop *loops, const rl_view *x, const rl_view *y) {
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    rl_iter_add(&w, y);
    rl_iter_each(k, &w, RL_REF_NS, loops[x->dtype], NULL);
}

RL_KERNEL(ref_prelu) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_prelu)};
    const rl_view *x = k->arg[0].u.t;
    rl_view slope = *k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    if (slope.numel != 1) { /* the weights stand along dimension 1 */
        for (int d = 0; d < x->ndim; d++) shape[d] = 1, strides[d] = 0;
        shape[1] = slope.numel;
        strides[1] = slope.strides[0];
        slope.shape = shape;
        slope.strides = strides;
        slope.ndim = x->ndim;
    }
    pair_run(k, loops, x, &slope);
    return RL_OK;
}

RL_KERNEL(ref_glu) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_glu)};
    const rl_view *out = k->out[0];
    int64_t dim = k->attr[0];
    rl_view half = *k->arg[0].u.t;
    if (out->numel == 0) return RL_OK;
    half.shape = out->shape;
    half.numel = out->numel;
    rl_view gate = half;
    gate.offset += out->shape[dim] * half.strides[dim];
    pair_run(k, loops, &half, &gate);
    return RL_OK;
}

/* ---- rrelu: in training a slope in double for each element that is not above 0, in their order ---- */
typedef struct {
    rl_generator *g;
    double lower, upper;
} slopes;

#define SLOPE_LOOP(D, T, C, LOAD, STORE, name)                                                               \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        const slopes *s = ctx;                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            C x = LOAD(*(const T *)(p[1] + i * step[1]));                                                    \
            if (x <= 0) {                                                                                    \
                double unit = (double)(rl_random64(s->g) & ((1ull << 53) - 1)) * 0x1p-53;                    \
                x *= (C)(unit * (s->upper - s->lower) + s->lower);                                           \
            }                                                                                                \
            *(T *)(p[0] + i * step[0]) = STORE(x);                                                           \
        }                                                                                                    \
    }
RL_EACH_FLOAT(SLOPE_LOOP, x_slope)

/* Through memory: GCC 12 loses a pair of casts to float and back when it makes a vector of them. */
static double as_float(double x) {
    float element;
    rl_row_put_double(RL_F32, (char *)&element, x);
    return element;
}

RL_EACH_FLOAT(RL_UNARY_KEEP, x_leak, (a > 0 ? a : a * (C)c->d[0]))

RL_KERNEL(ref_rrelu) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(x_leak)};
    const rl_view *x = k->arg[0].u.t;
    static const rl_inner_loop drawn[RL_NDTYPES] = {FLOAT_ENTRY(x_slope)};
    slopes s = {.lower = rl_num(k, 1), .upper = rl_num(k, 2)};
    if (!k->arg[3].u.i) {
        rl_numbers numbers = {.d = {(s.lower + s.upper) / 2}};
        return rl_eltwise(k, 1, loops, &numbers);
    }
    if (k->arg[4].tag != RL_RNG)
        return rl_fail(k, RL_RUNTIME, "a random operator was called without a generator");
    s.g = k->arg[4].u.g;
    if (x->dtype != RL_F64) {
        s.lower = as_float(s.lower);
        s.upper = as_float(s.upper);
    }
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, w.numel, drawn[x->dtype], &s); /* a generator is a sequence: never in parallel */
    return RL_OK;
}

/* Gradients of activations: a is that of the result, b what the forward operator saw (or answered). */
/* ---- pieces of straight lines ---- */
BACK_KERNEL(leaky_relu_backward, rl_num(k, 2), 0, 0, (b > 0 ? a : a * D(0)))
BACK_KERNEL(hardtanh_backward, rl_num(k, 2), rl_num(k, 3), 0, (b > D(0) && b < D(1) ? a : 0))
BACK_KERNEL(shrink_backward, rl_num(k, 2), 0, 0, (b < -D(0) || b > D(0) ? a : 0))
PLAIN_BACK(hardsigmoid_backward, (b > -3 && b < 3 ? a * (C)(1.0f / 6) : 0))
PLAIN_BACK(hardswish_backward, (b <= -3 ? 0 : b >= 3 ? a : a * (b / 3 + (C)0.5)))

/* ---- smooth ones ---- */
#define LOGISTIC(x) (1 / (1 + exp(-(x))))
/* numbers: alpha * scale * input_scale, input_scale, scale */
BACK_KERNEL(elu_backward, rl_num(k, 2) * rl_num(k, 3), rl_num(k, 4), rl_num(k, 3),
            (b > 0 ? a * D(2) : a * D(1) * D(0) * exp(b * D(1))))
/* beta, threshold; finite where e^(beta x) is not */
BACK_KERNEL(softplus_backward, rl_num(k, 2), rl_num(k, 3), 0, (b * D(0) > D(1) ? a : a * LOGISTIC(b * D(0))))
PLAIN_BACK(silu_backward, ({
               const C s = LOGISTIC(b);
               a * s * (1 + b * (1 - s));
           }))
PLAIN_BACK(mish_backward, ({
               const C t = tanh(log1p(exp(b)));
               a *(t + b * LOGISTIC(b) * (1 - t * t));
           }))
PLAIN_BACK(log_sigmoid_backward, ({
               const C z = exp(-fabs(b)), part = z / (1 + z);
               a *(b < 0 ? 1 - part : part);
           }))

static const double half_bell = 0.39894228040143267794; /* 1 / sqrt(2 pi) */
RL_EACH_FLOAT(RL_BINARY_KEEP, back_gelu,
              (a * ((C)0.5 * (1 + erf(b * (C)sqrt_half)) + b * (exp(b * b * (C)-0.5) * (C)half_bell))))
RL_EACH_FLOAT(RL_BINARY_KEEP, back_gelu_tanh, ({
                  const C t = tanh((C)tanh_scale * (b + (C)0.044715 * (b * b * b)));
                  const C inner = (C)tanh_scale * (1 + 3 * (C)0.044715 * (b * b));
                  a *((C)0.5 * (1 + t) + (C)0.5 * b * (1 - t * t) * inner);
              }))
RL_KERNEL(ref_gelu_backward) {
    static const rl_inner_loop loops[2][RL_NDTYPES] = {{RL_EACH_FLOAT(RL_ENTRY, back_gelu)},
                                                       {RL_EACH_FLOAT(RL_ENTRY, back_gelu_tanh)}};
    return rl_eltwise(k, 2, loops[k->attr[0] != 0], NULL);
}
