/* Derivatives of softmax. */
#include "vjp.h"

VJP(softmax) {
    GRAD_OF(0, OP(softmax_backward, G, OUT(0), X(1)));
}
VJP(log_softmax) {
    GRAD_OF(0, OP(log_softmax_backward, G, OUT(0), X(1)));
}
static V dim_sum(rl_vjp *g, V x) {
    return OP(sum, x, X(2), BOOLEAN(true));
}
VJP(softmax_backward) { /* (grad - sum(grad * y)) * y */
    V grad = X(0), y = X(1), dot = dim_sum(g, OP(mul, y, G));
    GRAD_OF(0, OP(softmax_backward, G, y, X(2)));
    if (!rl_vjp_wants(g, 1)) return;
    V direct = OP(sub, OP(mul, grad, G), OP(mul, dim_sum(g, OP(mul, y, grad)), G));
    rl_vjp_pass(g, 1, OP(sub, direct, OP(mul, grad, dot)));
}
VJP(log_softmax_backward) { /* grad - exp(y) * sum(grad) */
    V size = OP(exp, X(1));
    GRAD_OF(0, OP(sub, G, dim_sum(g, OP(mul, G, size))));
    GRAD_OF(1, OP(mul, OP(mul, OP(neg, dim_sum(g, X(0))), size), G));
}
