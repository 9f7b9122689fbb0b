/* Derivatives of embeddings: (weight, indices, padding_idx, scale_grad_by_freq, sparse). */
#include "formula.h"

FORMULA(embedding) {
    if (!rl_vjp_wants(g, 0)) return;
    int64_t rows = rl_vjp_like(g, 0)->shape[0];
    rl_vjp_pass(g, 0, OP(embedding_dense_backward, G, X(1), INT(rows), X(2), X(3)));
}
FORMULA(embedding_dense_backward) { /* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
    V indices = X(1), grad = OP(embedding, G, indices);
    int64_t padding = rl_vjp_int(g, 3);
    if (padding >= 0)
        grad = OP(masked_fill, grad, OP(unsqueeze, OP(eq, indices, INT(padding)), INT(-1)), INT(0));
    TO(0, grad);
}
