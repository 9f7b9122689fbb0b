/* Special functions, in double whatever the dtype. */
#include "special.cuh"
#include "kernels/shared/special_error.h"
#include "kernels/shared/special_gamma.h"
#include "kernels/shared/special_igamma.h"
#include "kernels/shared/special_bessel.h"
#include "kernels/shared/special_polynomial.h"

/* log(z / (1 - z)); 2z - 1 is exact near its zero */
static __device__ double logit(double z) {
    return fabs(z - 0.5) < 0.25 ? log1p((2 * z - 1) / (1 - z)) : log(z / (1 - z));
}
/* sin(pi x) / (pi x), exact where it is 0 */
static __device__ double sinc(double x) {
    const double pi = 3.14159265358979323846;
    double r = x - 2 * rint(x / 2);
    if (fabs(r) > 0.5) r = copysign(1.0, r) - r;
    return x == 0 ? 1 : sin(pi * r) / (pi * x);
}
static __device__ double entropy(double x) {
    if (x > 0) return -x * log(x);
    return x == 0 ? 0 : x < 0 ? -(double)INFINITY : x;
}
static __device__ double spherical_j0(double x) {
    return x == 0 ? 1 : fabs(x) == (double)INFINITY ? 0 : sin(x) / x;
}

/* ---- the error function's kin ---- */
static __device__ double normal_below(double x) {
    return erfc(-0.70710678118654752440 * x) / 2;
}
/* A guess good to 5e-4 (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.2.23), then
 * Halley's steps, each of which triples the digits. Near 1/2 all goes by the distance from there. */
static __device__ double normal_quantile(double p) {
    const double root_half = 0.70710678118654752440, slope = 0.39894228040143267794, away = p - 0.5;
    const double q = away < 0 ? p : 1 - p;
    const bool near = q > 0.25;
    if (!(q > 0)) return q == 0 ? copysign((double)INFINITY, away) : (double)NAN;
    const double t = near ? fabs(away) / slope : sqrt(-2 * log(q)), z = t * t;
    double x = t * (1 + z * (1.0 / 6 + z * (7.0 / 120 + z * (127.0 / 5040))));
    if (!near)
        x = t -
            (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    CUDA_ROLLED
    for (int i = 0; i < 2; i++) {
        const double miss = near ? fabs(away) - erf(root_half * x) / 2 : erfc(root_half * x) / 2 - q;
        const double step = miss / (exp(-x * x / 2) * slope);
        x += step / (1 - x * step / 2);
    }
    return copysign(x, away);
}

enum { LOGIT, SINC, ENTR, NDTR, NDTRI, SPHERICAL_J0, ERFCX, LOG_NDTR };

template <class C> struct special : cuda_job<C> {
    enum { INPUTS = 1, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[1][V], C (&y)[V]) const {
        const C low = this->n[0], high = this->n[1];
        switch (this->op) {
            CUDA_CASE_1(LOGIT, (C)logit((double)(a < low ? low : a > high ? high : a)))
            CUDA_CASE_OF(SINC, (C)sinc(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(ENTR, (C)entropy(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(NDTR, (C)normal_below(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(NDTRI, (C)normal_quantile(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(SPHERICAL_J0, (C)spherical_j0(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(ERFCX, (C)erfcx_of(z), const double z = (double)x[0][j])
            CUDA_CASE_OF(LOG_NDTR, (C)log_ndtr(z), const double z = (double)x[0][j])
        }
    }
};

#define FUNCTION(name, op)                                                                                   \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<special>(k, op);                                                             \
    }
FUNCTION(sinc, SINC)
FUNCTION(special_entr, ENTR)
FUNCTION(special_ndtr, NDTR)
FUNCTION(special_ndtri, NDTRI)
FUNCTION(special_spherical_bessel_j0, SPHERICAL_J0)
FUNCTION(special_erfcx, ERFCX)
FUNCTION(special_log_ndtr, LOG_NDTR)

/* limited to [eps, 1 - eps]; NaN passes */
CUDA_KERNEL(cuda_logit) {
    const double eps = k->arg[1].tag == RL_NONE ? -(double)INFINITY : rl_num(k, 1);
    return cuda_elementwise<special>(k, LOGIT, {{eps, 1 - eps}, {}});
}

template <class C> struct special_pairs : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const C a = x[0][j], b = x[1][j];
            y[j] = b != b ? b : a == 0 ? (C)0 : a * log1p(b);
        }
    }
};
CUDA_KERNEL(cuda_special_xlog1py) {
    return cuda_elementwise<special_pairs>(k, 0);
}

/* ==== the gamma function and its kin, and the incomplete ones: kernels/shared/special_gamma.h and
 * kernels/shared/special_igamma.h ==== */
enum { LGAMMA, DIGAMMA, TRIGAMMA, POLYGAMMA, MVLGAMMA, ZETA, IGAMMA, IGAMMAC };

static __device__ double polygamma(double n, double x) {
    return (fmod(n, 2.0) == 1 ? 1 : -1) * tgamma(n + 1) * zeta(n + 1, x);
}

/* n[0]: the order, or the dimensions */
/* clang-format off */
#define gammas_OPERATORS                                                                                     \
    SPECIAL_CASE_1(LGAMMA, special_lgamma) SPECIAL_CASE_1(DIGAMMA, special_digamma)                          \
    SPECIAL_CASE_1(TRIGAMMA, trigamma)                                                                       \
    CUDA_CASE_OF(POLYGAMMA, (C)polygamma((double)this->n[0], z), const double z = (double)x[0][j])           \
    CUDA_CASE_OF(MVLGAMMA, (C)mvlgamma(z, (int64_t)this->n[0]), const double z = (double)x[0][j])
SPECIAL_FAMILY(gammas, 1)

#define LEAST (sizeof(C) == sizeof(double) ? 0x1p-53 : 0x1p-30)
#define gamma_pairs_OPERATORS                                                                                \
    SPECIAL_CASE_2(ZETA, zeta)                                                                               \
    CUDA_CASE_OF(IGAMMA, (C)igamma_lower(a, z, LEAST), const double a = (double)x[0][j], z = (double)x[1][j])\
    CUDA_CASE_OF(IGAMMAC, (C)igamma_upper(a, z, LEAST), const double a = (double)x[0][j], z = (double)x[1][j])
SPECIAL_FAMILY(gamma_pairs, 2)
/* clang-format on */

SPECIAL_KERNEL(lgamma, gammas, LGAMMA)
SPECIAL_KERNEL(digamma, gammas, DIGAMMA)
SPECIAL_KERNEL(special_zeta, gamma_pairs, ZETA)
SPECIAL_KERNEL(igamma, gamma_pairs, IGAMMA)
SPECIAL_KERNEL(igammac, gamma_pairs, IGAMMAC)
CUDA_KERNEL(cuda_mvlgamma) { /* (input, p) */
    return cuda_elementwise<gammas>(k, MVLGAMMA, {{rl_num(k, 1)}, {}});
}
CUDA_KERNEL(cuda_polygamma) { /* (n, input), or the other way round */
    const int at = k->arg[0].tag != RL_TENSOR;
    const int64_t n = rl_int(k, !at);
    const rl_view *views[2] = {k->out[0], rl_in(k, at)};
    return cuda_elementwise<gammas>(k, views,
                                    n == 0   ? DIGAMMA
                                    : n == 1 ? TRIGAMMA
                                             : POLYGAMMA,
                                    {{(double)n}, {}});
}

/* ==== Bessel and Airy functions: kernels/shared/special_bessel.h ==== */
enum { I0, I0E, I1, I1E, K0, K1, K0E, K1E, J0, J1, Y0, Y1, AIRY };

/* clang-format off */
#define bessel_OPERATORS                                                                                     \
    SPECIAL_CASE_1(I0, special_i0) SPECIAL_CASE_1(I0E, i0e) SPECIAL_CASE_1(I1, special_i1)                   \
    SPECIAL_CASE_1(I1E, i1e) SPECIAL_CASE_1(K0, k0) SPECIAL_CASE_1(K1, k1) SPECIAL_CASE_1(K0E, scaled_k0)    \
    SPECIAL_CASE_1(K1E, scaled_k1) SPECIAL_CASE_1(AIRY, airy_ai)
SPECIAL_FAMILY(bessel, 1)
/* the C library's, each of which is long */
#define bessel_jy_OPERATORS                                                                                  \
    SPECIAL_CASE_1(J0, bessel_j0) SPECIAL_CASE_1(J1, bessel_j1) SPECIAL_CASE_1(Y0, bessel_y0)                \
    SPECIAL_CASE_1(Y1, bessel_y1)
SPECIAL_FAMILY(bessel_jy, 1)
/* clang-format on */

SPECIAL_KERNEL(i0, bessel, I0)
SPECIAL_KERNEL(special_i0e, bessel, I0E)
SPECIAL_KERNEL(special_i1, bessel, I1)
SPECIAL_KERNEL(special_i1e, bessel, I1E)
SPECIAL_KERNEL(special_modified_bessel_k0, bessel, K0)
SPECIAL_KERNEL(special_modified_bessel_k1, bessel, K1)
SPECIAL_KERNEL(special_scaled_modified_bessel_k0, bessel, K0E)
SPECIAL_KERNEL(special_scaled_modified_bessel_k1, bessel, K1E)
SPECIAL_KERNEL(special_bessel_j0, bessel_jy, J0)
SPECIAL_KERNEL(special_bessel_j1, bessel_jy, J1)
SPECIAL_KERNEL(special_bessel_y0, bessel_jy, Y0)
SPECIAL_KERNEL(special_bessel_y1, bessel_jy, Y1)
SPECIAL_KERNEL(special_airy_ai, bessel, AIRY)

/* ==== orthogonal polynomials: kernels/shared/special_polynomial.h ==== */
/* Chebyshev's kinds, KIND_T and on, come first; then those, shifted */
enum { SHIFTED = KIND_W + 1, HERMITE_H = 2 * SHIFTED, HERMITE_HE, LAGUERRE, LEGENDRE };

/* of the element x and the degree n; `most` is the largest number of the dtype */
static __device__ double polynomial_of(int op, double x, double n, double most) {
    switch (op) {
    case HERMITE_H: return hermite(x, n, 2, most);
    case HERMITE_HE: return hermite(x, n, 1, most);
    case LAGUERRE: return laguerre(x, n);
    case LEGENDRE: return legendre(x, n);
    default: return chebyshev(op < SHIFTED ? x : 2 * x - 1, n, op % SHIFTED);
    }
}

template <class C> struct polynomials : cuda_job<C> {
    enum { INPUTS = 2, VECTOR = 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[2][V], C (&y)[V]) const {
        const double most = sizeof(C) == sizeof(double) ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
        CUDA_UNROLL
        for (int j = 0; j < V; j++) {
            const double z = (double)x[0][j];
            y[j] = (C)in_range(polynomial_of(this->op, z, (double)x[1][j], most), z, most);
        }
    }
};

SPECIAL_KERNEL(special_chebyshev_polynomial_t, polynomials, KIND_T)
SPECIAL_KERNEL(special_chebyshev_polynomial_u, polynomials, KIND_U)
SPECIAL_KERNEL(special_chebyshev_polynomial_v, polynomials, KIND_V)
SPECIAL_KERNEL(special_chebyshev_polynomial_w, polynomials, KIND_W)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_t, polynomials, SHIFTED + KIND_T)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_u, polynomials, SHIFTED + KIND_U)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_v, polynomials, SHIFTED + KIND_V)
SPECIAL_KERNEL(special_shifted_chebyshev_polynomial_w, polynomials, SHIFTED + KIND_W)
SPECIAL_KERNEL(special_hermite_polynomial_h, polynomials, HERMITE_H)
SPECIAL_KERNEL(special_hermite_polynomial_he, polynomials, HERMITE_HE)
SPECIAL_KERNEL(special_laguerre_polynomial_l, polynomials, LAGUERRE)
SPECIAL_KERNEL(special_legendre_polynomial_p, polynomials, LEGENDRE)
