/* What formulas of several families share. */
#include "vjp.h"

VJP(same) {
    GRAD_OF(0, G);
}

V rl_vjp_again(rl_vjp *g) {
    V args[RL_MAX_ARGS] = {G};
    for (int i = 1; i < g->node->n_arg; i++) args[i] = MAYBE(i);
    return rl_values_op(VALUES, (int)(g->node->op - rl_operators), args, g->node->n_arg, 0);
}
V rl_vjp_shared(rl_vjp *g) {
    V x = X(0), result = OUT(0), hit = OP(eq, x, result);
    if (FAILED) return NONE;
    V either = OP(logical_or, hit, OP(logical_and, OP(isnan, x), OP(isnan, result)));
    return OP(where, either, OP(div, G, OP(sum, either)), INT(0));
}
V rl_vjp_both(rl_vjp *g) {
    return OP(mul, G, X(0));
}
