/* Derivatives of functions of one operand, with products in PyTorch's order. */
#include "formula.h"
#include <math.h>

static V square(rl_vjp *g, V x) {
    return OP(mul, x, x);
}

/* ---- exponentials and logarithms ---- */
FORMULA(exp) {
    TO(0, OP(mul, G, OUT(0)));
}
FORMULA(exp2) {
    TO(0, TIMES(OP(mul, G, OUT(0)), M_LN2));
}
FORMULA(expm1) {
    TO(0, OP(mul, G, PLUS(OUT(0), 1)));
}
FORMULA(log) {
    TO(0, OP(div, G, X(0)));
}
FORMULA(log1p) {
    TO(0, OP(div, G, PLUS(X(0), 1)));
}
FORMULA(log2) {
    TO(0, OP(div, G, TIMES(X(0), M_LN2)));
}
FORMULA(log10) {
    TO(0, OP(div, G, TIMES(X(0), M_LN10)));
}

/* ---- circular ---- */
FORMULA(sin) {
    TO(0, OP(mul, G, OP(cos, X(0))));
}
FORMULA(cos) {
    TO(0, OP(mul, G, OP(neg, OP(sin, X(0)))));
}
FORMULA(tan) {
    TO(0, OP(mul, G, PLUS(square(g, OUT(0)), 1)));
}
/* 1 / sqrt(1 - x^2) */
static V arc(rl_vjp *g) {
    return OP(rsqrt, PLUS(OP(mul, OP(neg, X(0)), X(0)), 1));
}
FORMULA(asin) {
    TO(0, OP(mul, G, arc(g)));
}
FORMULA(acos) {
    TO(0, OP(mul, G, OP(neg, arc(g))));
}
FORMULA(atan) {
    TO(0, OP(div, G, PLUS(square(g, X(0)), 1)));
}

/* ---- hyperbolic ---- */
FORMULA(sinh) {
    TO(0, OP(mul, G, OP(cosh, X(0))));
}
FORMULA(cosh) {
    TO(0, OP(mul, G, OP(sinh, X(0))));
}
FORMULA(asinh) {
    TO(0, OP(mul, G, OP(rsqrt, PLUS(square(g, X(0)), 1))));
}
FORMULA(acosh) {
    TO(0, OP(mul, G, OP(rsqrt, PLUS(square(g, X(0)), -1))));
}
FORMULA(atanh) {
    TO(0, OP(div, G, PLUS(OP(neg, square(g, X(0))), 1)));
}

/* ---- the error function ---- */
static V bell(rl_vjp *g, double height) {
    return OP(mul, TIMES(OP(exp, OP(neg, square(g, X(0)))), height), G);
}
FORMULA(erf) {
    TO(0, bell(g, M_2_SQRTPI));
}
FORMULA(erfc) {
    TO(0, bell(g, -M_2_SQRTPI));
}
FORMULA(erfinv) {
    TO(0, OP(mul, TIMES(OP(exp, square(g, OP(erfinv, X(0)))), 1 / M_2_SQRTPI), G));
}

/* ---- powers ---- */
FORMULA(square) {
    TO(0, OP(mul, G, TIMES(X(0), 2)));
}
FORMULA(sqrt) {
    TO(0, OP(div, G, TIMES(OUT(0), 2)));
}
FORMULA(rsqrt) {
    TO(0, OP(mul, TIMES(G, -0.5), OP(pow, OUT(0), INT(3))));
}
FORMULA(reciprocal) {
    TO(0, OP(mul, OP(neg, G), OP(mul, OUT(0), OUT(0))));
}

/* ---- pieces of straight lines ---- */
FORMULA(neg) {
    TO(0, OP(neg, G));
}
FORMULA(abs) {
    TO(0, OP(mul, G, OP(sign, X(0))));
}
FORMULA(flat) { /* steps, and what is rounded */
    TO(0, ZEROS);
}
FORMULA(nan_to_num) {
    TO(0, OP(mul, G, OP(isfinite, X(0))));
}
FORMULA(deg2rad) {
    TO(0, OP(deg2rad, G));
}
FORMULA(rad2deg) {
    TO(0, OP(rad2deg, G));
}
FORMULA(frexp) { /* mantissa = input / 2 ** exponent */
    TO(0, OP(div, G, OP(exp2, OUT(1))));
}

/* ---- by the result ---- */
FORMULA(sigmoid) {
    TO(0, OP(sigmoid_backward, G, OUT(0)));
}
FORMULA(tanh) {
    TO(0, OP(tanh_backward, G, OUT(0)));
}
FORMULA(sigmoid_backward) {
    TO(0, rl_vjp_again(g));
    TO(1, OP(mul, rl_vjp_both(g), PLUS(TIMES(X(1), -2), 1)));
}
FORMULA(tanh_backward) {
    TO(0, rl_vjp_again(g));
    TO(1, OP(mul, rl_vjp_both(g), TIMES(X(1), -2)));
}
