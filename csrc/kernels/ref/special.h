/* What the special functions stand on. They compute in double, whatever the dtype, and round once.
 *
 * Where a comment says "Chebyshev coefficients of f over t", they are f's own, computed with mpmath in 40
 * digits and cut where a double ends; the ways of splitting the axis are those of S. L. Moshier, Methods and
 * Programs for Mathematical Functions (Cephes), 1989. */
#ifndef RL_KERNELS_REF_SPECIAL_H
#define RL_KERNELS_REF_SPECIAL_H
#include "loops.h"
#include <math.h>

#define SPECIAL_SIZE(c) (int)(sizeof(c) / sizeof *(c))

/* c[0] T0(t) + c[1] T1(t) + ...: Clenshaw's recurrence */
static inline double special_chebyshev(double t, const double *c, int n) {
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
static inline double special_series(double z, const double *c, int n) {
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--) sum = sum * z + c[i];
    return sum;
}
#define SERIES(z, c) special_series(z, c, SPECIAL_SIZE(c))

/* log |gamma(x)|; lgamma() would write a global */
static inline double special_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* sin(pi x), exact where it is 0 */
static inline double special_sinpi(double x) {
    double r = x - 2 * rint(x / 2);
    if (fabs(r) > 0.5) r = copysign(1, r) - r;
    return sin(M_PI * r);
}

double rl_special_i0(double x);      /* kernels/ref/special_bessel.c */
double rl_special_digamma(double x); /* kernels/ref/special_gamma.c */

/* rl_eltwise for what takes an element some nanoseconds: by as many threads as that is worth */
rl_status rl_special_each(rl_call *k, int n_in, const rl_strip *strips, double ns, rl_numbers *numbers);

#define SPECIAL_KERNEL(name, operands, ns, numbers)                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                      \
        return rl_special_each(k, operands, strips, ns, numbers);                                            \
    }
#define SPECIAL_UNARY(name, ns, f)                                                                           \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, (C)f((double)a))                                                  \
    SPECIAL_KERNEL(name, 1, ns, NULL)
#define SPECIAL_BINARY(name, ns, f)                                                                          \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, (C)f((double)a, (double)b))                                      \
    SPECIAL_KERNEL(name, 2, ns, NULL)
#endif
