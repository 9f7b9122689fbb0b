/* Derivatives of arithmetic: https://docs.pytorch.org/docs/2.13/torch.html#pointwise-ops
 * Products stand in PyTorch's order, so that the last bits agree. */
#include "vjp.h"
#include <math.h>

VJP(add) { /* input + alpha * other */
    GRAD_OF(0, G);
    GRAD_OF(1, rl_vjp_scaled(g, G, X(2)));
}
VJP(sub) {
    GRAD_OF(0, G);
    GRAD_OF(1, OP(neg, rl_vjp_scaled(g, G, X(2))));
}

VJP(rsub) { /* other - alpha * input */
    GRAD_OF(0, OP(neg, rl_vjp_scaled(g, G, X(2))));
    GRAD_OF(1, G);
}

VJP(mul) {
    GRAD_OF(0, OP(mul, G, X(1)));
    GRAD_OF(1, OP(mul, G, X(0)));
}
VJP(div) { /* rounded quotients are flat */
    if (GIVEN(2)) {
        GRAD_OF(0, ZEROS);
        GRAD_OF(1, ZEROS);
        return;
    }
    GRAD_OF(0, OP(div, G, X(1)));
    GRAD_OF(1, OP(mul, OP(neg, G), OP(div, OP(div, X(0), X(1)), X(1))));
}
VJP(remainder) { /* input - other * floor(input / other) */
    GRAD_OF(0, G);
    GRAD_OF(1, OP(mul, OP(neg, G), OP(div, X(0), X(1), STRING("floor"))));
}
VJP(fmod) { /* input - other * trunc(input / other) */
    GRAD_OF(0, G);
    GRAD_OF(1, OP(mul, OP(neg, G), OP(div, X(0), X(1), STRING("trunc"))));
}
VJP(hypot) {
    GRAD_OF(0, OP(mul, G, OP(div, X(0), OUT(0))));
    GRAD_OF(1, OP(mul, G, OP(div, X(1), OUT(0))));
}

VJP(logaddexp) {
    GRAD_OF(0, OP(div, G, PLUS(OP(exp, OP(sub, X(1), X(0))), 1)));
    GRAD_OF(1, OP(div, G, PLUS(OP(exp, OP(sub, X(0), X(1))), 1)));
}

VJP(logaddexp2) {
    GRAD_OF(0, OP(div, G, PLUS(OP(exp2, OP(sub, X(1), X(0))), 1)));
    GRAD_OF(1, OP(div, G, PLUS(OP(exp2, OP(sub, X(0), X(1))), 1)));
}

/* ---- angles and signs ---- */
static V inverse_square(rl_vjp *g) { /* 1 / (input^2 + other^2), 0 at the origin */
    V sum = OP(add, OP(mul, X(0), X(0)), OP(mul, X(1), X(1)));
    return OP(masked_fill, OP(reciprocal, sum), OP(eq, sum, INT(0)), INT(0));
}
VJP(atan2) {
    GRAD_OF(0, OP(mul, G, OP(mul, X(1), inverse_square(g))));
    GRAD_OF(1, OP(mul, G, OP(mul, OP(neg, X(0)), inverse_square(g))));
}
VJP(copysign) {
    GRAD_OF(0, OP(mul, G, OP(masked_fill, OP(div, OUT(0), X(0)), OP(eq, X(0), INT(0)), INT(0))));
    GRAD_OF(1, ZEROS);
}
VJP(nextafter) { /* nothing but input moves, and that only where there is a step */
    GRAD_OF(0, OP(where, OP(ne, X(0), X(1)), G, INT(0)));
    GRAD_OF(1, ZEROS);
}

/* ---- choices: ties share ---- */
static V won(rl_vjp *g, V lost, V tie) {
    return OP(masked_fill, OP(where, tie, TIMES(G, 0.5), G), lost, INT(0));
}
VJP(maximum) {
    V tie = OP(eq, X(0), X(1));
    GRAD_OF(0, won(g, OP(lt, X(0), X(1)), tie));
    GRAD_OF(1, won(g, OP(gt, X(0), X(1)), tie));
}
VJP(minimum) {
    V tie = OP(eq, X(0), X(1));
    GRAD_OF(0, won(g, OP(gt, X(0), X(1)), tie));
    GRAD_OF(1, won(g, OP(lt, X(0), X(1)), tie));
}
/* a tie is the first one's, and a number wins against NaN */
VJP(fmax) {
    V first = OP(logical_or, OP(ge, X(0), X(1)), OP(isnan, X(1)));
    GRAD_OF(0, OP(where, first, G, INT(0)));
    GRAD_OF(1, OP(where, first, INT(0), G));
}
VJP(fmin) {
    V first = OP(logical_or, OP(le, X(0), X(1)), OP(isnan, X(1)));
    GRAD_OF(0, OP(where, first, G, INT(0)));
    GRAD_OF(1, OP(where, first, INT(0), G));
}
VJP(where) {
    GRAD_OF(1, OP(where, X(0), G, INT(0)));
    GRAD_OF(2, OP(where, X(0), INT(0), G));
}

/* ---- powers ---- */
/* n * x^(n - 1) for a number n; flat where n is 0, even at x = 0 */
static V power_slope(rl_vjp *g, V x, double n) {
    return n == 2 ? TIMES(x, 2) : TIMES(OP(pow, x, NUM(n - 1)), n);
}

/* by the exponent: result * log(x), 0 where x is 0 and the exponent is not negative */
static V power_log(rl_vjp *g, V x, V n) {
    if (x.tag != RL_TENSOR) {
        V slope = OP(mul, OUT(0), NUM(log(rl_number(x))));
        return rl_number(x) == 0 ? OP(where, OP(ge, n, INT(0)), INT(0), slope) : slope;
    }
    V still = OP(logical_and, OP(eq, x, INT(0)), OP(ge, n, INT(0)));
    return OP(where, still, INT(0), OP(mul, OUT(0), OP(log, x)));
}
VJP(pow) {
    V n = X(1);
    if (n.tag != RL_TENSOR) {
        double d = rl_number(n);
        GRAD_OF(0, d == 0 ? ZEROS : OP(mul, G, power_slope(g, X(0), d)));
        return;
    }
    if (rl_vjp_wants(g, 0)) {
        V slope = OP(mul, n, OP(pow, X(0), OP(sub, n, INT(1))));
        rl_vjp_pass(g, 0, OP(where, OP(eq, n, INT(0)), INT(0), OP(mul, G, slope)));
    }
    GRAD_OF(1, OP(mul, G, power_log(g, X(0), n)));
}

VJP(ldexp) { /* input * 2 ** other */
    GRAD_OF(0, OP(mul, G, OP(exp2, X(1))));
    GRAD_OF(1, TIMES(OP(mul, G, OUT(0)), M_LN2));
}
/* flat where input is 0 and log(other) is not positive infinity's kin */
VJP(xlogy) {
    if (rl_vjp_wants(g, 0)) {
        V n = X(1), zero = OP(eq, X(0), INT(0)), slope = OP(xlogy, G, n);
        bool number = n.tag != RL_TENSOR;
        if (!number) zero = OP(logical_and, zero, OP(le, n, INT(0)));
        rl_vjp_pass(g, 0, number && rl_number(n) > 0 ? slope : OP(masked_fill, slope, zero, INT(0)));
    }
    GRAD_OF(1, OP(div, OP(mul, G, X(0)), X(1)));
}

/* ---- sums of products ---- */
VJP(lerp) { /* input + weight * (end - input) */
    if (rl_vjp_wants(g, 0)) {
        V weight = X(2);
        bool number = weight.tag != RL_TENSOR;
        V left = number ? NUM(1 - rl_number(weight)) : OP(add, OP(neg, weight), NUM(1));
        rl_vjp_pass(g, 0, OP(mul, G, left));
    }
    GRAD_OF(1, OP(mul, G, X(2)));
    GRAD_OF(2, OP(mul, G, OP(sub, X(1), X(0))));
}
VJP(addcmul) { /* input + value * tensor1 * tensor2 */
    GRAD_OF(0, G);
    GRAD_OF(1, OP(mul, G, rl_vjp_scaled(g, X(2), X(3))));
    GRAD_OF(2, OP(mul, G, rl_vjp_scaled(g, X(1), X(3))));
}
VJP(addcdiv) { /* input + value * tensor1 / tensor2 */
    GRAD_OF(0, G);
    GRAD_OF(1, OP(mul, G, OP(mul, OP(reciprocal, X(2)), X(3))));
    GRAD_OF(2, OP(mul, OP(neg, G), OP(div, rl_vjp_scaled(g, X(1), X(3)), OP(mul, X(2), X(2)))));
}
