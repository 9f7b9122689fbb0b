/* Two operands of one dtype, element by element: what the C library has, and its kin. */
#include "loops.h"
#include <string.h>
#include <tgmath.h>

#define FLOAT_ENTRY(name) RL_EACH_FLOAT(RL_ENTRY, name)
#define EVERY_ENTRY(name) FLOAT_ENTRY(name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)
#define PAIR_KERNEL(name, entries)                                                                           \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {entries(name)};                                          \
        return rl_eltwise(k, 2, strips, -1, NULL);                                                           \
    }
#define FLOAT_PAIR(name, expr)                                                                               \
    RL_EACH_FLOAT(RL_BINARY_KEEP, name, expr)                                                                \
    PAIR_KERNEL(name, FLOAT_ENTRY)
#define EVERY_PAIR(name, float_expr, int_expr, bool_expr)                                                    \
    RL_EACH_FLOAT(RL_BINARY_KEEP, name, float_expr)                                                          \
    RL_EACH_INT(RL_BINARY_KEEP, name, int_expr)                                                              \
    RL_JUST_BOOL(RL_BINARY_KEEP, name, bool_expr)                                                            \
    PAIR_KERNEL(name, EVERY_ENTRY)

FLOAT_PAIR(hypot, hypot(a, b))
FLOAT_PAIR(atan2, atan2(a, b))
FLOAT_PAIR(copysign, copysign(a, b))
EVERY_PAIR(fmax, (a != a || a < b ? b : a), (a > b ? a : b), (a || b))
EVERY_PAIR(fmin, (a != a || a > b ? b : a), (a < b ? a : b), (a && b))
EVERY_PAIR(heaviside, (a == 0 ? b : (C)(a > 0)), (a == 0 ? b : a > 0), (a || b))

/* equal ones, both infinite perhaps, have no difference */
#define LOG_ADD(a, b)   (a == b ? a + 0.6931471805599453 : fmax(a, b) + log1p(exp(-fabs(a - b))))
#define LOG_ADD_2(a, b) (a == b ? a + 1 : fmax(a, b) + (C)1.4426950408889634 * log1p(exp2(-fabs(a - b))))
FLOAT_PAIR(logaddexp, LOG_ADD(a, b))
FLOAT_PAIR(logaddexp2, LOG_ADD_2(a, b))

FLOAT_PAIR(xlogy, (b != b ? b : a == 0 ? 0 : a * log(b)))

/* by whole powers of two it is exact where the result is, whatever that power alone would be */
static int whole_power(double b) {
    return b > 5000 ? 5000 : b < -5000 ? -5000 : (int)b;
}
FLOAT_PAIR(ldexp, (b == trunc(b) ? ldexp(a, whole_power((double)b)) : a * exp2(b)))

/* ---- the next float: one step of the bits, which count the size of either sign up ---- */
#define NEXT(D, T, U, C, LOAD, sign)                                                                         \
    static T next_##D(T a, T b) {                                                                            \
        const C from = LOAD(a), to = LOAD(b);                                                                \
        U bits;                                                                                              \
        if (from == to || to != to) return b;                                                                \
        if (from != from) return a;                                                                          \
        memcpy(&bits, from == 0 ? &b : &a, sizeof bits);                                                     \
        const U up = (from < to) == (from > 0);                                                              \
        bits = from == 0 ? (U)((bits & (sign)) | 1) : (U)(bits + 2 * up - 1);                                \
        memcpy(&a, &bits, sizeof bits);                                                                      \
        return a;                                                                                            \
    }                                                                                                        \
    RL_BINARY_STRIP(D, T, T, RL_AS_IS, RL_AS_IS, nextafter, T, RL_AS_IS, next_##D(a, b))
NEXT(F16, rl_half, uint16_t, float, rl_from_half, 0x8000u)
NEXT(F32, float, uint32_t, float, RL_AS_IS, 0x80000000u)
NEXT(F64, double, uint64_t, double, RL_AS_IS, 0x8000000000000000u)
NEXT(BF16, rl_bfloat, uint16_t, float, rl_from_bfloat, 0x8000u)
PAIR_KERNEL(nextafter, FLOAT_ENTRY)
