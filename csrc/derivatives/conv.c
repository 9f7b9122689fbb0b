/* Derivatives of convolutions. Each of the three operators below is linear in its two tensors, and its
 * derivatives are the others:   conv(x, w) ── conv_input(g, w), conv_weight(g, x) ── ... */
#include "vjp.h"

/* With an output padding of a stride or more (a dilation allows that) a convolution of what a transposed one
 * answered has more places than the input had: so many in each dimension. */
static bool has_more_places(rl_vjp *g, int n, int64_t more[3]) {
    int64_t stride[3], padding[3];
    const int strides = rl_value_list(X(3), stride, 3), paddings = rl_value_list(X(5), padding, 3);
    bool any = false;
    for (int d = 0; d < n; d++) {
        more[d] = strides && paddings ? padding[paddings > 1 ? d : 0] / stride[strides > 1 ? d : 0] : 0;
        any |= more[d] > 0;
    }
    return any;
}

/* x without, or with zeros for, these places */
static V without_places(rl_vjp *g, int n, V x) {
    int64_t more[3];
    if (!has_more_places(g, n, more)) return x;
    for (int d = 0; d < n; d++) {
        const int64_t dim = NDIM(x) - n + d;
        x = OP(narrow, x, INT(dim), INT(0), INT(SIZE(x, dim) - more[d]));
    }
    return x;
}
static V with_places(rl_vjp *g, int n, V x) {
    int64_t more[3], pad[6] = {0};
    if (!has_more_places(g, n, more)) return x;
    for (int d = 0; d < n; d++) pad[2 * (n - 1 - d) + 1] = more[d];
    return OP(constant_pad_nd, x, INTS(pad, 2 * n), NUM(0));
}

/* stride, padding, dilation, groups stand in arguments 3 to 6 of all three */
#define PLACE X(3), X(4), X(5), X(6)
#define CONVOLUTION(n)                                                                                       \
    VJP(conv##n##d) { /* (input, weight, bias, ...) */                                                       \
        GRAD_OF(0, OP(conv##n##d_input, G, X(1), rl_vjp_size(g, 0), PLACE));                                 \
        GRAD_OF(1, OP(conv##n##d_weight, G, X(0), rl_vjp_size(g, 1), PLACE));                                \
        GRAD_OF(2, OP(conv_bias, G, INT(n)));                                                                \
    }                                                                                                        \
    VJP(conv##n##d_input) { /* (grad_output, weight, input_size, ...) */                                     \
        GRAD_OF(0, OP(conv##n##d, G, X(1), NONE, PLACE));                                                    \
        GRAD_OF(1, OP(conv##n##d_weight, X(0), G, rl_vjp_size(g, 1), PLACE));                                \
    }                                                                                                        \
    VJP(conv##n##d_weight) { /* (grad_output, input, weight_size, ...) */                                    \
        GRAD_OF(0, OP(conv##n##d, X(1), G, NONE, PLACE));                                                    \
        GRAD_OF(1, OP(conv##n##d_input, X(0), G, rl_vjp_size(g, 1), PLACE));                                 \
    }                                                                                                        \
    VJP(conv_transpose##n##d) { /* (input, weight, bias, stride, padding, output_padding, groups,            \
                                       dilation) */                                                          \
        GRAD_OF(0, without_places(g, n, OP(conv##n##d, G, X(1), NONE, X(3), X(4), X(7), X(6))));             \
        GRAD_OF(1, OP(conv##n##d_weight, with_places(g, n, X(0)), G, rl_vjp_size(g, 1), X(3), X(4), X(7),    \
                      X(6)));                                                                                \
        GRAD_OF(2, OP(conv_bias, G, INT(n)));                                                                \
    }
CONVOLUTION(1)
CONVOLUTION(2)
CONVOLUTION(3)

VJP(conv_bias) { /* (grad_output, spatial) */
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    int64_t shape[RL_MAX_DIMS];
    for (int d = 0; d < like->ndim; d++) shape[d] = 1;
    int64_t channel = like->ndim - rl_vjp_int(g, 1) - 1;
    shape[channel] = like->shape[channel];
    rl_vjp_pass(g, 0, OP(expand, OP(reshape, G, INTS(shape, like->ndim)), rl_vjp_size(g, 0)));
}
