/* Derivatives of lookups, padding, resizing and dropout. */
#include "autograd/autograd.h"
#include <string.h>

/* ---- embedding: (weight, indices, padding_idx, scale_grad_by_freq, sparse) ---- */
FORMULA(embedding) {
    if (!rl_back_wants(g, 0)) return;
    int64_t rows = rl_back_like(g, 0)->shape[0];
    rl_back_pass(g, 0, OP(embedding_dense_backward, G, X(1), INT(rows), X(2), X(3)));
}
FORMULA(embedding_dense_backward) { /* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) */
    V indices = X(1), grad = OP(embedding, G, indices);
    int64_t padding = rl_back_int(g, 3);
    if (padding >= 0)
        grad = OP(masked_fill, grad, OP(unsqueeze, OP(eq, indices, INT(padding)), INT(-1)), INT(0));
    TO(0, grad);
}

/* ---- padding: (input, pad, mode, value) ---- */
FORMULA(pad) {
    int64_t back[2 * RL_MAX_DIMS];
    int n = rl_value_list(X(1), back, 2 * RL_MAX_DIMS);
    bool constant = strcmp(TEXT(2), "constant") == 0;
    for (int i = 0; i < n; i++) back[i] = -back[i];
    TO(0, constant ? OP(pad, G, INTS(back, n)) : OP(pad_backward, G, rl_back_size(g, 0), X(1), X(2)));
}
FORMULA(pad_backward) { /* (grad_output, input_size, pad, mode) */
    TO(0, OP(pad, G, X(2), X(3)));
}

/* ---- resizing ---- */
FORMULA(upsample_nearest2d) { /* (input, output_size, scales) */
    TO(0, OP(upsample_nearest2d_backward, G, X(1), rl_back_size(g, 0), MAYBE(2), MAYBE(3)));
}
FORMULA(upsample_nearest2d_backward) { /* (grad_output, output_size, input_size, scales) */
    TO(0, OP(upsample_nearest2d, G, X(1), MAYBE(3), MAYBE(4)));
}
FORMULA(upsample_bilinear2d) { /* (input, output_size, align_corners, scales) */
    TO(0, OP(upsample_bilinear2d_backward, G, X(1), rl_back_size(g, 0), X(2), MAYBE(3), MAYBE(4)));
}
FORMULA(upsample_bilinear2d_backward) { /* (grad_output, output_size, input_size, align_corners, scales) */
    TO(0, OP(upsample_bilinear2d, G, X(1), X(3), MAYBE(4), MAYBE(5)));
}

/* ---- dropout: (input, p, train) ---- */
FORMULA(dropout) {
    bool dropped = rl_back_int(g, 2) && rl_back_num(g, 1) != 0;
    TO(0, dropped ? OP(mul, G, OUT(1)) : G);
}
