/* What formulas of several families share. */
#include "common.h"

FORMULA(same) {
    TO(0, G);
}

V rl_back_again(rl_back *g) {
    V args[RL_MAX_ARGS] = {G};
    for (int i = 1; i < g->node->n_arg; i++) args[i] = MAYBE(i);
    return rl_back_op(g, (int)(g->node->row - rl_rows), args, g->node->n_arg);
}
V rl_back_both(rl_back *g) {
    return OP(mul, G, X(0));
}
