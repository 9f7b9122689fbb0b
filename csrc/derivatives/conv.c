/* Derivatives of convolutions. Each of the three operators below is linear in its two tensors, and its
 * derivatives are the others:   conv(x, w) ── conv_input(g, w), conv_weight(g, x) ── ... */
#include "formula.h"

/* stride, padding, dilation, groups stand in arguments 3 to 6 of all three */
#define PLACE X(3), X(4), X(5), X(6)
#define CONVOLUTION(n)                                                                                       \
    FORMULA(conv##n##d) { /* (input, weight, bias, ...) */                                                   \
        TO(0, OP(conv##n##d_input, G, X(1), rl_vjp_size(g, 0), PLACE));                                      \
        TO(1, OP(conv##n##d_weight, G, X(0), rl_vjp_size(g, 1), PLACE));                                     \
        TO(2, OP(conv_bias, G, INT(n)));                                                                     \
    }                                                                                                        \
    FORMULA(conv##n##d_input) { /* (grad_output, weight, input_size, ...) */                                 \
        TO(0, OP(conv##n##d, G, X(1), NONE, PLACE));                                                         \
        TO(1, OP(conv##n##d_weight, X(0), G, rl_vjp_size(g, 1), PLACE));                                     \
    }                                                                                                        \
    FORMULA(conv##n##d_weight) { /* (grad_output, input, weight_size, ...) */                                \
        TO(0, OP(conv##n##d, X(1), G, NONE, PLACE));                                                         \
        TO(1, OP(conv##n##d_input, X(0), G, rl_vjp_size(g, 1), PLACE));                                      \
    }                                                                                                        \
    FORMULA(conv_transpose##n##d) { /* (input, weight, bias, stride, padding, output_padding, groups,        \
                                       dilation) */                                                          \
        TO(0, OP(conv##n##d, G, X(1), NONE, X(3), X(4), X(7), X(6)));                                        \
        TO(1, OP(conv##n##d_weight, X(0), G, rl_vjp_size(g, 1), X(3), X(4), X(7), X(6)));                    \
        TO(2, OP(conv_bias, G, INT(n)));                                                                     \
    }
CONVOLUTION(1)
CONVOLUTION(2)
CONVOLUTION(3)

FORMULA(conv_bias) { /* (grad_output, spatial) */
    if (!rl_vjp_wants(g, 0)) return;
    const rl_meta *like = rl_vjp_like(g, 0);
    int64_t shape[RL_MAX_DIMS];
    for (int d = 0; d < like->ndim; d++) shape[d] = 1;
    int64_t channel = like->ndim - rl_vjp_int(g, 1) - 1;
    shape[channel] = like->shape[channel];
    rl_vjp_pass(g, 0, OP(expand, OP(reshape, G, INTS(shape, like->ndim)), rl_vjp_size(g, 0)));
}
