/* Functions of one float, as the C library has them; and the one that it lacks. */
#include "loops.h"
#include <tgmath.h>

#define MATH_KERNEL(name, expr)                                                                              \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, expr)                                                             \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                      \
        return rl_eltwise(k, 1, strips, -1, NULL);                                                           \
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
