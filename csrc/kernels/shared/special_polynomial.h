/* Orthogonal polynomials of degree n: https://dlmf.nist.gov/18. Small degrees go by their recurrences; large
 * ones of Chebyshev's polynomials by angles, inside of [-1, 1] or outside. A result that overflows is NaN, as
 * PyTorch's recurrences end in one. */
#ifndef RL_KERNELS_SHARED_SPECIAL_POLYNOMIAL_H
#define RL_KERNELS_SHARED_SPECIAL_POLYNOMIAL_H
#include "special_bessel.h"

/* as a float is converted on x86: what is no int64 becomes its lowest, and there is nothing below degree 0 */
SPECIAL_FN int64_t degree_of(double n) {
    return n > -0x1p63 && n < 0x1p63 ? (int64_t)n : -1;
}
SPECIAL_FN double in_range(double y, double x, double most) {
    return fabs(y) > most && !isinf(x) ? (double)NAN : y;
}

/* p(k) = 2 x p(k - 1) - p(k - 2) from p(0) = 1 and p(1) */
SPECIAL_FN double chebyshev_recurrence(double x, double first, int64_t n) {
    double last = 1, p = first;
    for (int64_t k = 2; k <= n; k++) {
        double next = 2 * x * p - last;
        last = p;
        p = next;
    }
    return p;
}

enum { KIND_T, KIND_U, KIND_V, KIND_W };
/* Of x = cos u: with m = n + w, cos(m u) / cos(w u) of the kinds T and V, sin(m u) / sin(w u) of U and W.
 * Below -1 V and W are each other's mirror images. */
SPECIAL_FN double chebyshev(double x, double degree, int kind) {
    const double step[] = {0, 1, 0.5, 0.5};
    const int64_t n = degree_of(degree);
    const double first[] = {x, 2 * x, 2 * x - 1, 2 * x + 1}, size = fabs(x);
    const double w = step[kind], m = (double)n + w, odd = n % 2 && x < 0 ? -1 : 1;
    if (n < 0) return 0;
    if (n == 0 || x != x) return n ? x : 1;
    if (size == 1) return kind == KIND_U || kind == (x > 0 ? KIND_W : KIND_V) ? odd * m / w : odd;
    if (n <= 8) return chebyshev_recurrence(x, first[kind], n);
    if (size < 1) {
        const double u = acos(x);
        return kind == KIND_T || kind == KIND_V ? cos(m * u) / cos(w * u) : sin(m * u) / sin(w * u);
    }
    if (isinf(x)) return NAN;
    const double u = acosh(size), power = odd * exp((m - w) * u);
    if (kind == KIND_T || kind == (x > 0 ? KIND_V : KIND_W))
        return power * (1 + exp(-2 * m * u)) / (1 + exp(-2 * w * u));
    return power * expm1(-2 * m * u) / expm1(-2 * w * u);
}

/* physicists' (c = 2) and probabilists' (c = 1): p(k + 1) = c (x p(k) - k p(k - 1)). What follows a number
 * that is no float is none, either. */
SPECIAL_FN double hermite(double x, double degree, double c, double most) {
    const int64_t n = degree_of(degree);
    double last = 0, p = 1;
    if (n < 0) return 0;
    for (int64_t k = 0; k < n && (fabs(p) <= most || (isinf(x) && p == p)); k++) {
        double next = c * (x * p - (double)k * last);
        last = p;
        p = next;
    }
    return p;
}

/* Beyond this degree, by the limits of L(x) and P(x) as n grows: nobody waits for the recurrences. */
enum { POLYNOMIAL_FAR = 1 << 24 };

SPECIAL_FN double laguerre(double x, double degree) {
    const int64_t n = degree_of(degree);
    if (n < 0) return 0;
    if (n == 0 || x == 0) return 1;
    if (n > POLYNOMIAL_FAR) {
        const double z = sqrt(fabs(x) * (4 * (double)n + 2));
        return exp(x / 2) * (x < 0 ? special_i0(z) : j0(z));
    }
    double last = 1, p = 1 - x;
    for (int64_t k = 1; k < n && p == p; k++) {
        double next = (((double)(2 * k + 1) - x) * p - (double)k * last) / (double)(k + 1);
        last = p;
        p = next;
    }
    return p;
}

SPECIAL_FN double legendre(double x, double degree) {
    const int64_t n = degree_of(degree);
    if (n < 0) return 0;
    if (n == 0 || fabs(x) == 1) return n % 2 && x < 0 ? -1 : 1;
    if (n > POLYNOMIAL_FAR) {
        const double u = acos(fabs(x));
        return (n % 2 && x < 0 ? -1 : 1) * sqrt(u / sin(u)) * j0(((double)n + 0.5) * u);
    }
    double last = 1, p = x;
    for (int64_t k = 1; k < n && p == p; k++) {
        double next = ((double)(2 * k + 1) * x * p - (double)k * last) / (double)(k + 1);
        last = p;
        p = next;
    }
    return p;
}
#endif
