/* Derivatives of functions of one operand, with products in PyTorch's order. */
#include "vjp.h"
#include <math.h>

static V square(rl_vjp *g, V x) {
    return OP(mul, x, x);
}

/* ---- exponentials and logarithms ---- */
VJP(exp) {
    GRAD_OF(0, OP(mul, G, OUT(0)));
}
VJP(exp2) {
    GRAD_OF(0, TIMES(OP(mul, G, OUT(0)), M_LN2));
}
VJP(expm1) {
    GRAD_OF(0, OP(mul, G, PLUS(OUT(0), 1)));
}
VJP(log) {
    GRAD_OF(0, OP(div, G, X(0)));
}
VJP(log1p) {
    GRAD_OF(0, OP(div, G, PLUS(X(0), 1)));
}
VJP(log2) {
    GRAD_OF(0, OP(div, G, TIMES(X(0), M_LN2)));
}
VJP(log10) {
    GRAD_OF(0, OP(div, G, TIMES(X(0), M_LN10)));
}

/* ---- circular ---- */
VJP(sin) {
    GRAD_OF(0, OP(mul, G, OP(cos, X(0))));
}
VJP(cos) {
    GRAD_OF(0, OP(mul, G, OP(neg, OP(sin, X(0)))));
}
VJP(tan) {
    GRAD_OF(0, OP(mul, G, PLUS(square(g, OUT(0)), 1)));
}
/* 1 / sqrt(1 - x^2) */
static V arc(rl_vjp *g) {
    return OP(rsqrt, PLUS(OP(mul, OP(neg, X(0)), X(0)), 1));
}
VJP(asin) {
    GRAD_OF(0, OP(mul, G, arc(g)));
}
VJP(acos) {
    GRAD_OF(0, OP(mul, G, OP(neg, arc(g))));
}
VJP(atan) {
    GRAD_OF(0, OP(div, G, PLUS(square(g, X(0)), 1)));
}

/* ---- hyperbolic ---- */
VJP(sinh) {
    GRAD_OF(0, OP(mul, G, OP(cosh, X(0))));
}
VJP(cosh) {
    GRAD_OF(0, OP(mul, G, OP(sinh, X(0))));
}
VJP(asinh) {
    GRAD_OF(0, OP(mul, G, OP(rsqrt, PLUS(square(g, X(0)), 1))));
}
VJP(acosh) {
    GRAD_OF(0, OP(mul, G, OP(rsqrt, PLUS(square(g, X(0)), -1))));
}
VJP(atanh) {
    GRAD_OF(0, OP(div, G, PLUS(OP(neg, square(g, X(0))), 1)));
}

/* ---- the error function ---- */
static V bell(rl_vjp *g, double height) {
    return OP(mul, TIMES(OP(exp, OP(neg, square(g, X(0)))), height), G);
}
VJP(erf) {
    GRAD_OF(0, bell(g, M_2_SQRTPI));
}
VJP(erfc) {
    GRAD_OF(0, bell(g, -M_2_SQRTPI));
}
VJP(erfinv) {
    GRAD_OF(0, OP(mul, TIMES(OP(exp, square(g, OP(erfinv, X(0)))), 1 / M_2_SQRTPI), G));
}

/* ---- powers ---- */
VJP(square) {
    GRAD_OF(0, OP(mul, G, TIMES(X(0), 2)));
}
VJP(sqrt) {
    GRAD_OF(0, OP(div, G, TIMES(OUT(0), 2)));
}
VJP(rsqrt) {
    GRAD_OF(0, OP(mul, TIMES(G, -0.5), OP(pow, OUT(0), INT(3))));
}
VJP(reciprocal) {
    GRAD_OF(0, OP(mul, OP(neg, G), OP(mul, OUT(0), OUT(0))));
}

/* ---- pieces of straight lines ---- */
VJP(neg) {
    GRAD_OF(0, OP(neg, G));
}
VJP(abs) {
    GRAD_OF(0, OP(mul, G, OP(sign, X(0))));
}
VJP(flat) { /* steps, and what is rounded */
    GRAD_OF(0, ZEROS);
}
VJP(nan_to_num) {
    GRAD_OF(0, OP(mul, G, OP(isfinite, X(0))));
}
VJP(deg2rad) {
    GRAD_OF(0, OP(deg2rad, G));
}
VJP(rad2deg) {
    GRAD_OF(0, OP(rad2deg, G));
}
VJP(frexp) { /* mantissa = input / 2 ** exponent */
    GRAD_OF(0, OP(div, G, OP(exp2, OUT(1))));
}

/* ---- by the result ---- */
VJP(sigmoid) {
    GRAD_OF(0, OP(sigmoid_backward, G, OUT(0)));
}
VJP(tanh) {
    GRAD_OF(0, OP(tanh_backward, G, OUT(0)));
}
VJP(sigmoid_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    GRAD_OF(1, OP(mul, rl_vjp_both(g), PLUS(TIMES(X(1), -2), 1)));
}
VJP(tanh_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    GRAD_OF(1, OP(mul, rl_vjp_both(g), TIMES(X(1), -2)));
}
