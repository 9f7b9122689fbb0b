/* Derivatives of special functions: https://docs.pytorch.org/docs/2.13/special.html */
#include "vjp.h"
#include <math.h>

static V not_implemented(rl_vjp *g, const char *what) {
    return rl_values_raise(VALUES, PyExc_NotImplementedError, "the derivative for '%s' is not implemented.",
                           what);
}

/* ---- the gamma function ---- */
VJP(lgamma) {
    GRAD_OF(0, OP(mul, G, OP(digamma, X(0))));
}
VJP(digamma) {
    GRAD_OF(0, OP(mul, G, OP(polygamma, INT(1), X(0))));
}
static V next_polygamma(rl_vjp *g, int n, int x) {
    return OP(mul, G, OP(polygamma, INT(rl_vjp_int(g, n) + 1), X(x)));
}
VJP(polygamma) {
    GRAD_OF(1, next_polygamma(g, 0, 1));
}
VJP(polygamma_method) {
    GRAD_OF(0, next_polygamma(g, 1, 0));
}
/* the sum of digamma(x - i / 2) for i < p */
static V mvlgamma_slope(rl_vjp *g, V x, int64_t p) {
    V dtype = DTYPE(rl_vjp_like(g, 0)->dtype);
    V shifts = OP(arange_start, NUM(0.5 - 0.5 * (double)p), NUM(0.5), NUM(0.5), dtype);
    return OP(sum, OP(digamma, OP(add, OP(unsqueeze, x, INT(-1)), shifts)), INT(-1));
}
VJP(mvlgamma) {
    GRAD_OF(0, OP(mul, G, mvlgamma_slope(g, X(0), rl_vjp_int(g, 1))));
}

/* x^(a - 1) e^-x / gamma(a) */
static V gamma_density(rl_vjp *g, V a, V x) {
    V power = OP(mul, PLUS(a, -1), OP(log, x));
    return OP(exp, OP(sub, OP(sub, power, x), OP(lgamma, a)));
}
VJP(igamma) {
    GRAD_OF(0, not_implemented(g, "igamma: input"));
    GRAD_OF(1, OP(mul, G, gamma_density(g, X(0), X(1))));
}
VJP(igammac) {
    GRAD_OF(0, not_implemented(g, "igammac: input"));
    GRAD_OF(1, OP(mul, OP(neg, G), gamma_density(g, X(0), X(1))));
}

/* ---- Bessel functions ---- */
VJP(i0) {
    GRAD_OF(0, OP(mul, G, OP(special_i1, X(0))));
}
VJP(i0e) {
    GRAD_OF(0, OP(mul, G, OP(sub, OP(special_i1e, X(0)), OP(mul, OP(sign, X(0)), OUT(0)))));
}
/* slope(x, y / x), or its limit 1/2 where x is next to nothing */
static V away_from_0(rl_vjp *g, V (*slope)(rl_vjp *g, V x, V part)) {
    const double eps = rl_vjp_like(g, 0)->dtype == RL_F64 ? 0x1p-52 : 0x1p-23;
    V x = X(0), far = OP(gt, OP(abs, x), NUM(eps)), safe = OP(where, far, x, NUM(eps));
    V half = OP(full_like, x, NUM(0.5));
    return OP(mul, G, OP(where, far, slope(g, safe, OP(reciprocal, safe)), half));
}
static V i1_slope(rl_vjp *g, V x, V part) {
    return OP(sub, OP(i0, x), OP(mul, OUT(0), part));
}
static V i1e_slope(rl_vjp *g, V x, V part) {
    return OP(sub, OP(special_i0e, x), OP(mul, OUT(0), OP(add, OP(sign, x), part)));
}
VJP(i1) {
    GRAD_OF(0, away_from_0(g, i1_slope));
}
VJP(i1e) {
    GRAD_OF(0, away_from_0(g, i1e_slope));
}

/* ---- the error function ---- */
VJP(erfcx) {
    GRAD_OF(0, OP(mul, PLUS(OP(mul, TIMES(X(0), 2), OUT(0)), -M_2_SQRTPI), G));
}
VJP(ndtr) {
    GRAD_OF(0, OP(mul, G, TIMES(OP(exp, TIMES(OP(mul, X(0), X(0)), -0.5)), M_2_SQRTPI * M_SQRT1_2 / 2)));
}
VJP(log_ndtr) {
    V half_square = TIMES(OP(mul, X(0), X(0)), 0.5);
    GRAD_OF(0, OP(mul, G, TIMES(OP(exp, OP(neg, OP(add, OUT(0), half_square))), M_2_SQRTPI * M_SQRT1_2 / 2)));
}
VJP(ndtri) {
    GRAD_OF(0, OP(mul, G, TIMES(OP(exp, TIMES(OP(mul, OUT(0), OUT(0)), 0.5)), 2 * M_SQRT2 / M_2_SQRTPI)));
}

/* ---- logarithms ---- */
VJP(entr) {
    GRAD_OF(0, OP(mul, G, PLUS(OP(neg, OP(log, X(0))), -1)));
}
/* 1 / (z - z^2) from eps to 1 - eps; beyond that flat, or without eps NaN */
static V logit_slope(rl_vjp *g, V x) {
    const double eps = GIVEN(1) ? rl_vjp_num(g, 1) : 0;
    V within = OP(logical_and, OP(ge, x, NUM(eps)), OP(le, x, NUM(1 - eps)));
    V slope = OP(div, G, OP(mul, x, PLUS(OP(neg, x), 1)));
    return OP(where, within, slope, OP(full_like, slope, NUM(GIVEN(1) ? 0 : (double)NAN)));
}
VJP(logit) {
    GRAD_OF(0, logit_slope(g, X(0)));
}
/* log1p(y), but 0 where x is 0 and y has no logarithm */
static V xlog1py_slope(rl_vjp *g, V x, V y) {
    if (y.tag == RL_TENSOR) {
        V still = OP(logical_and, OP(eq, x, INT(0)), OP(le, y, INT(-1)));
        return OP(mul, G, OP(where, still, INT(0), OP(log1p, y)));
    }
    const double slope = log1p(rl_number(y));
    V whole = TIMES(G, slope);
    return rl_number(y) <= -1 ? OP(masked_fill, whole, OP(eq, x, INT(0)), INT(0)) : whole;
}
VJP(xlog1py) {
    GRAD_OF(0, xlog1py_slope(g, X(0), X(1)));
    GRAD_OF(1, OP(mul, G, OP(div, X(0), PLUS(X(1), 1))));
}

/* ---- others ---- */
static V sinc_slope(rl_vjp *g, V x) {
    V turn = TIMES(x, M_PI), square = OP(mul, turn, x);
    V slope = OP(div, OP(sub, OP(mul, turn, OP(cos, turn)), OP(sin, turn)), square);
    return OP(masked_fill, OP(mul, G, slope), OP(eq, square, INT(0)), INT(0));
}
VJP(sinc) {
    GRAD_OF(0, sinc_slope(g, X(0)));
}
static V zeta_slope(rl_vjp *g, V s, V q) {
    if (s.tag == RL_TENSOR) return OP(mul, OP(mul, G, OP(neg, s)), OP(special_zeta, PLUS(s, 1), q));
    return TIMES(OP(mul, G, OP(special_zeta, NUM(rl_number(s) + 1), q)), -rl_number(s));
}
VJP(zeta) {
    GRAD_OF(0, not_implemented(g, "zeta"));
    GRAD_OF(1, zeta_slope(g, X(0), X(1)));
}
