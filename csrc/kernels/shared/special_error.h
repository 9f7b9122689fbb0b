/* The error function, scaled, and the logarithm that is made of it. */
#ifndef RL_KERNELS_SHARED_SPECIAL_ERROR_H
#define RL_KERNELS_SHARED_SPECIAL_ERROR_H
#include "special.h"

/* (1 + 2x) erfcx x: Chebyshev coefficients over t = (x - k) / (x + k), k = 3.75, as in M. M. Shepherd and
 * J. G. Laframboise, Mathematics of Computation 36 (1981) */
SPECIAL_TABLE const double erfcx_series[] = {
    1.1775789345674017,     -0.004590054580646478,   -0.08424913336651792,    0.05920993999819189,
    -0.026658668435305753,  0.009074997670705265,    -0.002413163540417608,   0.0004907758365258086,
    -6.916973302501207e-05, 4.13902798607301e-06,    7.74038306619849e-07,    -2.1886401049234397e-07,
    1.076499946567091e-08,  4.521959811218287e-09,   -7.754400208831351e-10,  -6.318088340886684e-11,
    2.86879501093067e-11,   1.9455868545777347e-13,  -9.65469674843344e-13,   3.25254814814874e-14,
    3.3478119482868056e-14, -1.864562880419313e-15,  -1.2507950530688648e-15, 7.418235256624044e-17,
    5.068148904796111e-17,  -2.2370566594359995e-18, -2.187342944303018e-18};

/* e^(x^2) erfc x */
SPECIAL_FN double erfcx_of(double x) {
    const double size = fabs(x);
    double y = CHEBYSHEV(1 - 7.5 / (size + 3.75), erfcx_series) / 2 / (size + 0.5);
    if (!(x < 0)) return y;
    double square = x * x, rest = fma(x, x, -square), power = exp(square);
    return isinf(power) ? power : 2 * (power + power * rest) - y;
}

SPECIAL_FN double log_ndtr(double x) {
    if (x < -1) return log(erfcx_of(-M_SQRT1_2 * x) / 2) - x * x / 2;
    return log1p(-erfc(M_SQRT1_2 * x) / 2);
}
#endif
