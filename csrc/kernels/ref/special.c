/* Special functions: error function, Bessel, gamma, polynomials. */
#include "kernels/shared/special.h"
#include "loops.h"
#include "kernels/shared/special_error.h"
#include "kernels/shared/special_bessel.h"
#include "kernels/shared/special_gamma.h"
#include "kernels/shared/special_igamma.h"
#include "kernels/shared/special_polynomial.h"

/* How the portable special functions walk over tensors: kernels/shared/special.h has the functions. */
/* rl_eltwise for what takes an element some nanoseconds: by as many threads as that is worth */
static rl_status rl_special_each(rl_call *k, int n_in, const rl_inner_loop *loops, double ns,
                                 rl_numbers *numbers);

#define SPECIAL_KERNEL(name, operands, ns, numbers)                                                          \
    RL_KERNEL(ref_##name) {                                                                                  \
        static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_##name)};                  \
        return rl_special_each(k, operands, loops, ns, numbers);                                             \
    }
#define SPECIAL_UNARY(name, ns, f)                                                                           \
    RL_EACH_FLOAT(RL_UNARY_KEEP, x_##name, (C)f((double)a))                                                  \
    SPECIAL_KERNEL(name, 1, ns, NULL)
#define SPECIAL_BINARY(name, ns, f)                                                                          \
    RL_EACH_FLOAT(RL_BINARY_KEEP, x_##name, (C)f((double)a, (double)b))                                      \
    SPECIAL_KERNEL(name, 2, ns, NULL)

/* The error function's kin, and what is made of logarithms: https://docs.pytorch.org/docs/2.13/special.html
 */
static rl_status rl_special_each(rl_call *k, int n_in, const rl_inner_loop *loops, double ns,
                                 rl_numbers *numbers) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    rl_iter w;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_iter_add(&w, k->arg[i].u.t);
    rl_iter_each(k, &w, ns, loops[dtype], numbers);
    return RL_OK;
}

/* ---- the error function ---- */
static double ndtr(double x) {
    return erfc(-M_SQRT1_2 * x) / 2;
}

/* (2 pi)^(1/2) (p - 1/2) to the inverse's value, by its square: the Taylor series */
static const double ndtri_near[] = {1, 1.0 / 6, 7.0 / 120, 127.0 / 5040};

/* A guess good to 5e-4 (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.2.23), then
 * Halley's steps, each of which triples the digits. Near 1/2 all goes by the distance from there. */
static double ndtri(double p, int steps) {
    const double away = p - 0.5, q = away < 0 ? p : 1 - p, slope = M_2_SQRTPI * M_SQRT1_2 / 2;
    const bool near = q > 0.25;
    if (!(q > 0)) return q == 0 ? copysign((double)INFINITY, away) : (double)NAN;
    double x, t = near ? fabs(away) / slope : sqrt(-2 * log(q));
    if (near)
        x = t * SERIES(t * t, ndtri_near);
    else
        x = t -
            (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < steps; i++) {
        double miss = near ? fabs(away) - erf(M_SQRT1_2 * x) / 2 : erfc(M_SQRT1_2 * x) / 2 - q;
        double step = miss / (exp(-x * x / 2) * slope);
        x += step / (1 - x * step / 2);
    }
    return copysign(x, away);
}

/* ---- logarithms ---- */
static double entr(double x) {
    if (x > 0) return -x * log(x);
    return x == 0 ? 0 : x < 0 ? -(double)INFINITY : x;
}
static double xlog1py(double x, double y) {
    return y != y ? y : x == 0 ? 0 : x * log1p(y);
}
/* log(z / (1 - z)); 2z - 1 is exact near its zero */
static double logit(double z) {
    return fabs(z - 0.5) < 0.25 ? log1p((2 * z - 1) / (1 - z)) : log(z / (1 - z));
}

/* ---- sines ---- */
static double sinc(double x) {
    return x == 0 ? 1 : special_sinpi(x) / (M_PI * x);
}
static double spherical_bessel_j0(double x) {
    return x == 0 ? 1 : isinf(x) ? 0 : sin(x) / x;
}

SPECIAL_UNARY(special_erfcx, 50, erfcx_of)
SPECIAL_UNARY(special_ndtr, 20, ndtr)
SPECIAL_UNARY(special_log_ndtr, 50, log_ndtr)
RL_EACH_FLOAT(RL_UNARY_KEEP, x_special_ndtri, (C)ndtri((double)a, sizeof(C) == sizeof(double) ? 2 : 1))
SPECIAL_KERNEL(special_ndtri, 1, 60, NULL)
SPECIAL_UNARY(special_entr, 10, entr)
SPECIAL_BINARY(special_xlog1py, 15, xlog1py)
SPECIAL_UNARY(sinc, 20, sinc)
SPECIAL_UNARY(special_spherical_bessel_j0, 20, spherical_bessel_j0)

/* c->d: what z is limited to; NaN passes */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_logit, (C)logit(a<(C)c->d[0] ? (C)c->d[0] : a>(C) c->d[1] ? (C)c->d[1] : a))
RL_KERNEL(ref_logit) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_logit)};
    const double eps = k->arg[1].tag == RL_NONE ? -INFINITY : rl_num(k, 1);
    rl_numbers numbers = {.d = {eps, 1 - eps}};
    return rl_special_each(k, 1, loops, 15, &numbers);
}

/* ---- bessel and Airy functions: kernels/shared/special_bessel.h ---- */
SPECIAL_UNARY(i0, 40, special_i0)
SPECIAL_UNARY(special_i0e, 40, i0e)
SPECIAL_UNARY(special_i1, 40, special_i1)
SPECIAL_UNARY(special_i1e, 40, i1e)
SPECIAL_UNARY(special_modified_bessel_k0, 70, k0)
SPECIAL_UNARY(special_modified_bessel_k1, 70, k1)
SPECIAL_UNARY(special_scaled_modified_bessel_k0, 70, scaled_k0)
SPECIAL_UNARY(special_scaled_modified_bessel_k1, 70, scaled_k1)
SPECIAL_UNARY(special_bessel_j0, 60, bessel_j0)
SPECIAL_UNARY(special_bessel_j1, 60, bessel_j1)
SPECIAL_UNARY(special_bessel_y0, 100, bessel_y0)
SPECIAL_UNARY(special_bessel_y1, 100, bessel_y1)
SPECIAL_UNARY(special_airy_ai, 80, airy_ai)

/* ---- the gamma function's kin: kernels/shared/special_gamma.h ---- */
SPECIAL_UNARY(lgamma, 25, special_lgamma)
SPECIAL_UNARY(digamma, 40, special_digamma)
SPECIAL_BINARY(special_zeta, 300, zeta)

/* ---- derivatives of digamma: n stands in c->i[0], n! with its sign in c->d[0] ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_trigamma, (C)trigamma((double)a))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_polygamma, (C)(c->d[0] * zeta((double)c->i[0] + 1, (double)a)))

/* polygamma(n, x), and x.polygamma(n): the tensor stands first while it is computed */
RL_KERNEL(ref_polygamma) {
    static const rl_inner_loop loops[3][RL_NDTYPES] = {{RL_EACH_FLOAT(RL_ENTRY, x_digamma)},
                                                       {RL_EACH_FLOAT(RL_ENTRY, x_trigamma)},
                                                       {RL_EACH_FLOAT(RL_ENTRY, x_polygamma)}};
    const bool turned = k->arg[0].tag != RL_TENSOR;
    const int64_t n = rl_int(k, !turned);
    const rl_value first = k->arg[0];
    rl_numbers numbers = {.d = {(n % 2 ? 1 : -1) * tgamma((double)n + 1)}, .i = {n}};
    if (turned) k->arg[0] = k->arg[1];
    rl_status status = rl_special_each(k, 1, loops[n < 2 ? n : 2], n < 2 ? 40 : 300, &numbers);
    k->arg[0] = first;
    return status;
}

/* ---- log of the gamma function of matrices: p in c->i[0] ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_mvlgamma, (C)mvlgamma((double)a, c->i[0]))
RL_KERNEL(ref_mvlgamma) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_mvlgamma)};
    rl_numbers numbers = {.i = {rl_int(k, 1)}};
    return rl_special_each(k, 1, loops, 25 * (double)numbers.i[0], &numbers);
}

/* ---- the incomplete gamma functions: kernels/shared/special_igamma.h ---- */
#define LEAST (sizeof(C) == sizeof(double) ? 0x1p-53 : 0x1p-30)
RL_EACH_FLOAT(RL_BINARY_KEEP, x_igamma, (C)igamma_lower((double)a, (double)b, LEAST))
SPECIAL_KERNEL(igamma, 2, 150, NULL)
RL_EACH_FLOAT(RL_BINARY_KEEP, x_igammac, (C)igamma_upper((double)a, (double)b, LEAST))
SPECIAL_KERNEL(igammac, 2, 150, NULL)

/* ---- orthogonal polynomials: kernels/shared/special_polynomial.h ---- */
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
