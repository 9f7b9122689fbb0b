/* One operand, element by element. */
#include "loops.h"
#include <tgmath.h>

#define FLOAT_ENTRY(name)  RL_EACH_FLOAT(RL_ENTRY, name)
#define NUMBER_ENTRY(name) FLOAT_ENTRY(name) RL_EACH_INT(RL_ENTRY, name)
#define EVERY_ENTRY(name)  NUMBER_ENTRY(name) RL_JUST_BOOL(RL_ENTRY, name)
#define TABLE_KERNEL(name, entries, result)                                                                  \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {entries};                                                \
        return rl_eltwise(k, 1, strips, result, NULL);                                                       \
    }

/* ---- floats in, floats out ---- */
#define FLOAT_KERNEL(name, expr)                                                                             \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    TABLE_KERNEL(name, FLOAT_ENTRY(x_##name), -1)
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
    TABLE_KERNEL(name, NUMBER_ENTRY(x_##name), -1)
NUMBER_KERNEL(neg, -a, RL_WRAP(0, -, a))
NUMBER_KERNEL(abs, fabs(a), (a < 0 ? RL_WRAP(0, -, a) : a))
NUMBER_KERNEL(floor, floor(a), a)
NUMBER_KERNEL(ceil, ceil(a), a)
NUMBER_KERNEL(round, rint(a), a)
NUMBER_KERNEL(trunc, trunc(a), a)

RL_EACH_FLOAT(RL_UNARY_KEEP, x_sign, (C)((a > 0) - (a < 0)))
RL_EACH_INT(RL_UNARY_KEEP, x_sign, ((a > 0) - (a < 0)))
RL_JUST_BOOL(RL_UNARY_KEEP, x_sign, a)
TABLE_KERNEL(sign, EVERY_ENTRY(x_sign), -1)
RL_EACH_FLOAT(RL_UNARY_KEEP, x_square, a *a)
RL_EACH_INT(RL_UNARY_KEEP, x_square, RL_WRAP(a, *, a))
RL_JUST_BOOL(RL_UNARY_KEEP, x_square, a)
TABLE_KERNEL(square, EVERY_ENTRY(x_square), -1)

/* ---- anything in, bool out ---- */
#define QUESTION(name, float_expr, int_expr)                                                                 \
    RL_EACH_FLOAT(RL_UNARY_BOOL, x_##name, float_expr)                                                       \
    RL_EACH_INT(RL_UNARY_BOOL, x_##name, int_expr)                                                           \
    RL_JUST_BOOL(RL_UNARY_BOOL, x_##name, int_expr)                                                          \
    TABLE_KERNEL(name, EVERY_ENTRY(x_##name), RL_BOOL)
QUESTION(isnan, (a != a), (a != a))
QUESTION(isinf, (fabs(a) == (C)INFINITY), 0 * a)
QUESTION(isfinite, (a - a == 0), (a == a))

QUESTION(isposinf, (a == (C)INFINITY), 0 * a)
QUESTION(isneginf, (a == -(C)INFINITY), 0 * a)
QUESTION(isreal, (a == a || a != a), (a == a))
QUESTION(signbit, (copysign((C)1, a) < 0), (a < 0))
