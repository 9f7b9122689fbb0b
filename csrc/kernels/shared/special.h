/* What the special functions stand on. They compute in double, whatever the dtype, and round once; written
 * once for kernels of the CPU and of devices, which define SPECIAL_ON_DEVICE, SPECIAL_FN and SPECIAL_TABLE
 * before.
 *
 * Where a comment says "Chebyshev coefficients of f over t", they are f's own, computed with mpmath in 40
 * digits and cut where a double ends; the ways of splitting the axis are those of S. L. Moshier, Methods and
 * Programs for Mathematical Functions (Cephes), 1989. */
#ifndef RL_KERNELS_SHARED_SPECIAL_H
#define RL_KERNELS_SHARED_SPECIAL_H
#include "kernel_abi/kernel.h"
#include <math.h>

#ifndef SPECIAL_FN
#define SPECIAL_FN    static inline
#define SPECIAL_TABLE static
#endif

#define SPECIAL_SIZE(c) (int)(sizeof(c) / sizeof *(c))

/* c[0] T0(t) + c[1] T1(t) + ...: Clenshaw's recurrence */
SPECIAL_FN double special_chebyshev(double t, const double *c, int n) {
    double last = 0, sum = 0, twice = 2 * t;
    for (int i = n - 1; i > 0; i--) {
        double next = twice * sum + (c[i] - last); /* the second term waits for nothing */
        last = sum;
        sum = next;
    }
    return t * sum - last + c[0];
}
#define CHEBYSHEV(t, c) special_chebyshev(t, c, SPECIAL_SIZE(c))

/* c[0] + c[1] z + c[2] z^2 + ...: Horner's rule */
SPECIAL_FN double special_series(double z, const double *c, int n) {
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--) sum = sum * z + c[i];
    return sum;
}
#define SERIES(z, c) special_series(z, c, SPECIAL_SIZE(c))

/* log |gamma(x)|; lgamma() would write a global */
SPECIAL_FN double special_lgamma(double x) {
#ifdef SPECIAL_ON_DEVICE
    return lgamma(x);
#else
    int sign;
    return lgamma_r(x, &sign);
#endif
}

/* sin(pi x), exact where it is 0 */
SPECIAL_FN double special_sinpi(double x) {
    double r = x - 2 * rint(x / 2);
    if (fabs(r) > 0.5) r = copysign(1.0, r) - r;
    return sin(M_PI * r);
}
#endif
