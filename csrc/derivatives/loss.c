/* Derivatives of losses. */
#include "formula.h"

enum { MEAN = 1, SUM = 2 }; /* reduction */

/* (input, target, reduction) */
FORMULA(mse_loss) {
    if (!rl_vjp_wants(g, 0) && !rl_vjp_wants(g, 1)) return;
    V grad = OP(mse_loss_backward, G, X(0), X(1), X(2));
    TO(0, grad);
    TO(1, OP(neg, grad));
}

/* (grad_output, input, target, reduction): 2 (input - target) grad_output, over n for the mean */
FORMULA(mse_loss_backward) {
    int64_t reduction = rl_vjp_int(g, 3);
    const rl_meta *like = &g->node->meta[0];
    double factor = reduction == MEAN ? 2.0 / (double)rl_dims_numel(like->shape, like->ndim) : 2.0;
    V scaled = OP(mul, G, NUM(factor));
    if (rl_vjp_wants(g, 0)) {
        V slope = OP(mul, scaled, OP(sub, X(1), X(2)));
        rl_vjp_pass(g, 0, reduction ? OP(sum, slope) : slope);
    }
    if (!rl_vjp_wants(g, 1) && !rl_vjp_wants(g, 2)) return;
    V curve = OP(mul, scaled, X(0));
    TO(1, curve);
    TO(2, OP(neg, curve));
}
