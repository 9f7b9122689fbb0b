/* Functions of one operand, element by element, and their gradients. */
#include "loops.h"
#include "gradient.h"
#include <tgmath.h>

/* ---- one operand, element by element ---- */
#define FLOAT_ENTRY(name)  RL_EACH_FLOAT(RL_ENTRY, name)
#define NUMBER_ENTRY(name) FLOAT_ENTRY(name) RL_EACH_INT(RL_ENTRY, name)
#define EVERY_ENTRY(name)  NUMBER_ENTRY(name) RL_JUST_BOOL(RL_ENTRY, name)
#define TABLE_KERNEL(name, entries)                                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {entries};                                            \
        return rl_eltwise(k, 1, loops, NULL);                                                                \
    }

/* ---- floats in, floats out ---- */
#define FLOAT_KERNEL(name, expr)                                                                             \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    TABLE_KERNEL(name, FLOAT_ENTRY(x_##name))
FLOAT_KERNEL(exp, exp(a))
FLOAT_KERNEL(log, log(a))
FLOAT_KERNEL(sqrt, sqrt(a))
FLOAT_KERNEL(rsqrt, 1 / sqrt(a))
FLOAT_KERNEL(sin, sin(a))
FLOAT_KERNEL(cos, cos(a))
FLOAT_KERNEL(erf, erf(a))
FLOAT_KERNEL(tanh, tanh(a))
FLOAT_KERNEL(sigmoid, 1 / (1 + exp(-a)))
FLOAT_KERNEL(reciprocal, 1 / a)

/* ---- numbers in, numbers out ---- */
#define NUMBER_KERNEL(name, float_expr, int_expr)                                                            \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, float_expr)                                                       \
    RL_EACH_INT(RL_UNARY_KEEP, x_##name, int_expr)                                                           \
    TABLE_KERNEL(name, NUMBER_ENTRY(x_##name))
NUMBER_KERNEL(neg, -a, RL_WRAP(0, -, a))
NUMBER_KERNEL(abs, fabs(a), (a < 0 ? RL_WRAP(0, -, a) : a))
NUMBER_KERNEL(floor, floor(a), a)
NUMBER_KERNEL(ceil, ceil(a), a)
NUMBER_KERNEL(round, rint(a), a)
NUMBER_KERNEL(trunc, trunc(a), a)

RL_EACH_FLOAT(RL_UNARY_KEEP, x_sign, (C)((a > 0) - (a < 0)))
RL_EACH_INT(RL_UNARY_KEEP, x_sign, ((a > 0) - (a < 0)))
RL_JUST_BOOL(RL_UNARY_KEEP, x_sign, a)
TABLE_KERNEL(sign, EVERY_ENTRY(x_sign))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_square, a *a)
RL_EACH_INT(RL_UNARY_KEEP, x_square, RL_WRAP(a, *, a))
RL_JUST_BOOL(RL_UNARY_KEEP, x_square, a)
TABLE_KERNEL(square, EVERY_ENTRY(x_square))

/* ---- anything in, bool out ---- */
#define QUESTION(name, float_expr, int_expr)                                                                 \
    RL_EACH_FLOAT(RL_UNARY_BOOL, x_##name, float_expr)                                                       \
    RL_EACH_INT(RL_UNARY_BOOL, x_##name, int_expr)                                                           \
    RL_JUST_BOOL(RL_UNARY_BOOL, x_##name, int_expr)                                                          \
    TABLE_KERNEL(name, EVERY_ENTRY(x_##name))
QUESTION(isnan, (a != a), (a != a))
QUESTION(isinf, (fabs(a) == (C)INFINITY), 0 * a)
QUESTION(isfinite, (a - a == 0), (a == a))

QUESTION(isposinf, (a == (C)INFINITY), 0 * a)
QUESTION(isneginf, (a == -(C)INFINITY), 0 * a)
QUESTION(isreal, (a == a || a != a), (a == a))
QUESTION(signbit, (copysign((C)1, a) < 0), (a < 0))

/* ---- functions of one float, as the C library has them; and the one that it lacks ---- */
#define MATH_KERNEL(name, expr)                                                                              \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                  \
        return rl_eltwise(k, 1, loops, NULL);                                                                \
    }
MATH_KERNEL(log1p, log1p(a))
MATH_KERNEL(expm1, expm1(a))
MATH_KERNEL(log2, log2(a))
MATH_KERNEL(log10, log10(a))
MATH_KERNEL(exp2, exp2(a))
MATH_KERNEL(tan, tan(a))
MATH_KERNEL(asin, asin(a))
MATH_KERNEL(acos, acos(a))
MATH_KERNEL(atan, atan(a))
MATH_KERNEL(sinh, sinh(a))
MATH_KERNEL(cosh, cosh(a))
MATH_KERNEL(asinh, asinh(a))
MATH_KERNEL(acosh, acosh(a))
MATH_KERNEL(atanh, atanh(a))
MATH_KERNEL(erfc, erfc(a))
MATH_KERNEL(frac, (a - trunc(a)))

/* A guess good to 2e-3 (Winitzki, 2008), then Halley's steps, each of which triples the digits. Near 1 the
 * steps go through erfc(), where erf() has no digits left. */
static double erf_inverse(double y) {
    const double size = fabs(y), a = 0.147, two_over_pi = 0.63661977236758134308;
    if (!(size < 1)) return size == 1 ? copysign((double)INFINITY, y) : (double)NAN;
    if (size == 0) return y;
    double l = log1p(-size * size), h = two_over_pi / a + l / 2, x = sqrt(sqrt(h * h - l / a) - h);
    for (int i = 0; i < 3; i++) {
        double miss = size < 0.5 ? erf(x) - size : (1 - size) - erfc(x);
        double slope = 1.12837916709551257390 * exp(-x * x);
        x -= miss / (slope + x * miss);
    }
    return copysign(x, y);
}
MATH_KERNEL(erfinv, (C)erf_inverse((double)a))

/* ---- functions of one operand that read numbers from the call, or answer twice ---- */
FLOAT_KERNEL(angle, (a != a ? a : a < 0 ? (C)3.14159265358979323846 : 0))
FLOAT_KERNEL(deg2rad, a *(C)0.017453292519943295769)
FLOAT_KERNEL(rad2deg, a *(C)57.295779513082320877)

/* ---- digits: halves round each step, as PyTorch's do ---- */
#define SCALED(D, T, C, LOAD, STORE, name)                                                                   \
    RL_UNARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE,                                                      \
                  (rint(LOAD(STORE(a * LOAD(STORE((C)c->d[0]))))) / LOAD(STORE((C)c->d[0]))))
#define DIVIDED(D, T, C, LOAD, STORE, name)                                                                  \
    RL_UNARY_LOOP(D, T, C, LOAD, STORE, name, T, STORE,                                                      \
                  (rint(LOAD(STORE(a / LOAD(STORE((C)c->d[0]))))) * LOAD(STORE((C)c->d[0]))))
RL_EACH_FLOAT(SCALED, behind)
RL_EACH_FLOAT(DIVIDED, before)

RL_KERNEL(ref_round_decimals) {
    static const rl_inner_loop behind[RL_NDTYPES] = {FLOAT_ENTRY(behind)},
                               before[RL_NDTYPES] = {FLOAT_ENTRY(before)};
    const int64_t decimals = rl_int(k, 1);
    rl_numbers numbers = {.d = {pow(10.0, fabs((double)decimals))}};
    return rl_eltwise(k, 1, decimals < 0 ? before : behind, &numbers);
}

/* ---- what becomes of NaN, inf and -inf ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, finite,
              (C)(a != a              ? c->d[0]
                  : a == (C)INFINITY  ? c->d[1]
                  : a == -(C)INFINITY ? c->d[2]
                                      : (double)a))
RL_EACH_INT(RL_UNARY_KEEP, finite, a)
RL_JUST_BOOL(RL_UNARY_KEEP, finite, a)

RL_KERNEL(ref_nan_to_num) {
    static const rl_inner_loop loops[RL_NDTYPES] = {EVERY_ENTRY(finite)};
    const double most = rl_largest(rl_tensor_arg(k, 0)->dtype), instead[] = {0, most, -most};
    rl_numbers numbers = {.fault = 0};
    for (int i = 0; i < 3; i++) numbers.d[i] = k->arg[1 + i].tag == RL_NONE ? instead[i] : rl_num(k, 1 + i);
    return rl_eltwise(k, 1, loops, &numbers);
}

/* ---- mantissa and exponent: operands mantissa, exponent, input ---- */
#define PARTS(D, T, C, LOAD, STORE, name)                                                                    \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C a = LOAD(*(const T *)(p[2] + i * step[2]));                                              \
            int exponent = 0;                                                                                \
            const C mantissa = isfinite(a) ? frexp(a, &exponent) : a;                                        \
            *(T *)(p[0] + i * step[0]) = STORE(mantissa);                                                    \
            *(int32_t *)(p[1] + i * step[1]) = exponent;                                                     \
        }                                                                                                    \
    }
RL_EACH_FLOAT(PARTS, parts)

RL_KERNEL(ref_frexp) {
    static const rl_inner_loop loops[RL_NDTYPES] = {FLOAT_ENTRY(parts)};
    rl_iter w;
    rl_data(k->out[1], RL_WRITE);
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, k->out[1]);
    rl_iter_add(&w, k->arg[0].u.t);
    rl_iter_each(k, &w, RL_REF_NS, loops[rl_tensor_arg(k, 0)->dtype], NULL);
    return RL_OK;
}

/* Gradients of functions of one operand: a is that of the result, b what the forward operator saw (or
 * answered). */
PLAIN_BACK(sigmoid_backward, (a * (1 - b) * b))
PLAIN_BACK(tanh_backward, (a * (1 - b * b)))
