/* Orthogonal polynomials of degree n: https://dlmf.nist.gov/18. Small degrees go by their recurrences; large
 * ones of Chebyshev's polynomials by angles, inside of [-1, 1] or outside. A result that overflows is NaN, as
 * PyTorch's recurrences end in one. */
#include "special.h"

/* as a float is converted on x86: what is no int64 becomes its lowest, and there is nothing below degree 0 */
static int64_t degree_of(double n) {
    return n > -0x1p63 && n < 0x1p63 ? (int64_t)n : -1;
}
static double in_range(double y, double x, double most) {
    return fabs(y) > most && !isinf(x) ? (double)NAN : y;
}

/* p(k) = 2 x p(k - 1) - p(k - 2) from p(0) = 1 and p(1) */
static double chebyshev_recurrence(double x, double first, int64_t n) {
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
static double chebyshev(double x, double degree, int kind) {
    static const double step[] = {0, 1, 0.5, 0.5};
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
static double hermite(double x, double degree, double c, double most) {
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
static const int64_t FAR = 1 << 24;

static double laguerre(double x, double degree) {
    const int64_t n = degree_of(degree);
    if (n < 0) return 0;
    if (n == 0 || x == 0) return 1;
    if (n > FAR) {
        const double z = sqrt(fabs(x) * (4 * (double)n + 2));
        return exp(x / 2) * (x < 0 ? rl_special_i0(z) : j0(z));
    }
    double last = 1, p = 1 - x;
    for (int64_t k = 1; k < n && p == p; k++) {
        double next = (((double)(2 * k + 1) - x) * p - (double)k * last) / (double)(k + 1);
        last = p;
        p = next;
    }
    return p;
}

static double legendre(double x, double degree) {
    const int64_t n = degree_of(degree);
    if (n < 0) return 0;
    if (n == 0 || fabs(x) == 1) return n % 2 && x < 0 ? -1 : 1;
    if (n > FAR) {
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

#define MOST (sizeof(C) == sizeof(double) ? 0x1.fffffffffffffp1023 : 0x1.fffffep127)
#define POLYNOMIAL(name, value)                                                                              \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, (C)in_range(value, (double)a, MOST))                             \
    SPECIAL_KERNEL(name, 2, 50, NULL)
#define SHIFTED(x) (2 * (double)(x) - 1)
POLYNOMIAL(special_chebyshev_polynomial_t, chebyshev((double)a, (double)b, KIND_T))
POLYNOMIAL(special_chebyshev_polynomial_u, chebyshev((double)a, (double)b, KIND_U))
POLYNOMIAL(special_chebyshev_polynomial_v, chebyshev((double)a, (double)b, KIND_V))
POLYNOMIAL(special_chebyshev_polynomial_w, chebyshev((double)a, (double)b, KIND_W))
POLYNOMIAL(special_shifted_chebyshev_polynomial_t, chebyshev(SHIFTED(a), (double)b, KIND_T))
POLYNOMIAL(special_shifted_chebyshev_polynomial_u, chebyshev(SHIFTED(a), (double)b, KIND_U))
POLYNOMIAL(special_shifted_chebyshev_polynomial_v, chebyshev(SHIFTED(a), (double)b, KIND_V))
POLYNOMIAL(special_shifted_chebyshev_polynomial_w, chebyshev(SHIFTED(a), (double)b, KIND_W))
POLYNOMIAL(special_hermite_polynomial_h, hermite((double)a, (double)b, 2, MOST))
POLYNOMIAL(special_hermite_polynomial_he, hermite((double)a, (double)b, 1, MOST))
POLYNOMIAL(special_laguerre_polynomial_l, laguerre((double)a, (double)b))
POLYNOMIAL(special_legendre_polynomial_p, legendre((double)a, (double)b))
