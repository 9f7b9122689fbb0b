/* Derivatives of sliding blocks: each is the way back of the other. */
#include "vjp.h"

VJP(im2col) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    rl_vjp_pass(g, 0, OP(col2im, G, INTS(like->shape + like->ndim - 2, 2), X(1), X(2), X(3), X(4)));
}

VJP(col2im) {
    GRAD_OF(0, OP(im2col, G, X(2), X(3), X(4), X(5)));
}
