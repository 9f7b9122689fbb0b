/* Derivatives of norms of vectors. */
#include "reduce.h"
#include <math.h>

/* sign(x) * |x|^power */
static V signed_power(rl_vjp *g, V x, double power) {
    return OP(mul, OP(sign, x), OP(pow, OP(abs, x), NUM(power)));
}
static V without(rl_vjp *g, V x, V zero) {
    return OP(masked_fill, x, OP(eq, zero, INT(0)), INT(0));
}
static V norm_slope(rl_vjp *g, const rl_span *s, V grad, double p) {
    V x = X(0), norm = rl_span_restored(g, s, OUT(0));
    if (p == 1) return OP(mul, OP(sign, x), grad);
    if (p == 2) return OP(mul, grad, without(g, OP(div, x, norm), norm));
    if (isinf(p)) {
        V size = OP(abs, x), hit = OP(logical_or, OP(eq, size, norm), OP(isnan, size));
        V many = OP(sum, hit, rl_span_dims(s), TRUTH(true));
        return OP(mul, OP(sign, x), OP(mul, OP(div, grad, many), hit));
    }
    if (p < 1) {
        V scaled = without(g, signed_power(g, x, p - 1), x);
        return OP(mul, OP(mul, scaled, grad), OP(pow, norm, NUM(1 - p)));
    }
    V scale = without(g, OP(div, grad, OP(pow, norm, NUM(p - 1))), norm);
    return OP(mul, p < 2 ? signed_power(g, x, p - 1) : OP(mul, x, OP(pow, OP(abs, x), NUM(p - 2))), scale);
}
FORMULA(vector_norm) {
    if (!rl_vjp_wants(g, 0)) return;
    V order = MAYBE(1);
    double p = order.tag == RL_INT || order.tag == RL_FLOAT ? rl_number(order) : 2; /* None and 'fro' */
    rl_span s = rl_span_of(g, 2, rl_vjp_int(g, 3));
    if (p != 0) rl_vjp_pass(g, 0, norm_slope(g, &s, rl_span_restored(g, &s, G), p));
}
