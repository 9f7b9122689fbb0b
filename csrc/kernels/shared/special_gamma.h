/* The gamma function's logarithm and its derivatives, and the zeta function that they are made of. */
#ifndef RL_KERNELS_SHARED_SPECIAL_GAMMA_H
#define RL_KERNELS_SHARED_SPECIAL_GAMMA_H
#include "special.h"

/* B(2k) / 2k and B(2k), B the Bernoulli numbers */
SPECIAL_TABLE const double digamma_tail[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                             1.0 / 132, -691.0 / 32760, 1.0 / 12};
SPECIAL_TABLE const double trigamma_tail[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                              5.0 / 66, -691.0 / 2730, 7.0 / 6};
/* B(2k) / (2k)! */
SPECIAL_TABLE const double zeta_tail[] = {1.0 / 12,
                                          -1.0 / 720,
                                          1.0 / 30240,
                                          -1.0 / 1209600,
                                          1.0 / 47900160,
                                          -691.0 / 1307674368000,
                                          1.0 / 74724249600,
                                          -3617.0 / 10670622842880000,
                                          43867.0 / 5109094217170944000,
                                          -174611.0 / 802857662698291200000.0,
                                          77683.0 / 14101100039391805440000.0,
                                          -236364091.0 / 1693824136731743669452800000.0};

/* Below 0 by the reflection at 1/2; up to 10 by the recurrence; beyond by Stirling's series. */
SPECIAL_FN double special_digamma(double x) {
    double more = 0;
    if (x == 0) return copysign((double)INFINITY, -x);
    if (x < 0) {
        if (x == trunc(x)) return NAN;
        more = -M_PI / tan(M_PI * (x - rint(x)));
        x = 1 - x;
    }
    for (; x < 10; x++) more -= 1 / x;
    double z = 1 / (x * x);
    return more + log(x) - 0.5 / x - z * SERIES(z, digamma_tail);
}

SPECIAL_FN double trigamma_right(double x) {
    double more = 0;
    for (; x < 12; x++) more += 1 / (x * x);
    double z = 1 / (x * x);
    return more + (1 + 0.5 / x + z * SERIES(z, trigamma_tail)) / x;
}
SPECIAL_FN double trigamma(double x) {
    if (!(x < 0.5)) return trigamma_right(x);
    double sine = special_sinpi(x) / M_PI;
    return 1 / (sine * sine) - trigamma_right(1 - x);
}

/* The sum of (q + i)^-s for q > 0: ten terms or up to 9, then Euler and Maclaurin's formula */
SPECIAL_FN double zeta_of(double s, double q) {
    double term = pow(q, -s), sum = term, at = q;
    for (int i = 0; i < 9 || at <= 9; i++) {
        at += 1;
        term = pow(at, -s);
        sum += term;
        if (term < 0x1p-53 * sum) return sum;
    }
    sum += term * at / (s - 1) - term / 2;
    double factor = 1;
    for (int i = 0; i < SPECIAL_SIZE(zeta_tail); i++) {
        factor *= s + 2 * i;
        term /= at;
        double t = factor * term * zeta_tail[i];
        sum += t;
        if (fabs(t) < 0x1p-53 * sum) break;
        factor *= s + 2 * i + 1;
        term /= at;
    }
    return sum;
}

/* Of q < 0 the terms below 0 are a finite sum, the difference of two infinite ones. */
SPECIAL_FN double zeta(double s, double q) {
    if (s <= 1) return s == 1 ? (double)INFINITY : (double)NAN;
    if (q > 0 || q != q) return zeta_of(s, q);
    if (q == floor(q)) return INFINITY;
    if (s != floor(s)) return NAN; /* a power of a negative number */
    double part = q - floor(q), below = zeta_of(s, 1 - part) - zeta_of(s, 1 - q);
    return zeta_of(s, part) + (fmod(s, 2.0) == 1 ? -below : below);
}

/* ---- of matrices of p dimensions ---- */
SPECIAL_FN double mvlgamma(double x, int64_t p) {
    double sum = 0;
    for (int64_t i = 0; i < p; i++) sum += special_lgamma(x - 0.5 * (double)i);
    return sum + 0.25 * (double)p * (double)(p - 1) * log(M_PI);
}
#endif
