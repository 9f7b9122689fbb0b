/* Derivatives of pooling. */
#include "vjp.h"

/* The elements of x (the spatial dims of an input) that a pooling's indices name. */
static V picked(rl_vjp *g, V x, V indices, int spatial) {
    int lead = NDIM(x) - spatial;
    int64_t sizes[RL_MAX_DIMS];
    V values = OP(flatten, x, INT(lead), INT(-1));
    V where = OP(flatten, indices, INT(lead), INT(-1));
    return OP(reshape, OP(gather, values, INT(lead), where), SHAPE(indices, sizes));
}

/* kernel_size, stride, padding, dilation, ceil_mode: arguments 1 to 5 forward, 2 to 6 backward */
#define MAX_POOL(n)                                                                                          \
    VJP(max_pool##n##d) {                                                                                    \
        GRAD_OF(0, OP(max_pool##n##d_backward, G, X(0), X(1), MAYBE(2), X(3), X(4), X(5)));                  \
    }                                                                                                        \
    VJP(max_pool##n##d_backward) {                                                                           \
        if (!rl_vjp_wants(g, 0)) return;                                                                     \
        V where = OP_NTH(1, max_pool##n##d_with_indices, X(1), X(2), MAYBE(3), X(4), X(5), X(6));            \
        rl_vjp_pass(g, 0, picked(g, G, where, n));                                                           \
    }                                                                                                        \
    VJP(max_pool##n##d_with_indices) {                                                                       \
        GRAD_OF(                                                                                             \
            0, OP(max_pool##n##d_with_indices_backward, G, X(0), X(1), MAYBE(2), X(3), X(4), X(5), OUT(1))); \
    }                                                                                                        \
    VJP(max_pool##n##d_with_indices_backward) {                                                              \
        GRAD_OF(0, picked(g, G, X(7), n));                                                                   \
    }                                                                                                        \
    VJP(adaptive_max_pool##n##d) {                                                                           \
        GRAD_OF(0, OP(adaptive_max_pool##n##d_backward, G, X(0), OUT(1)));                                   \
    }                                                                                                        \
    VJP(adaptive_max_pool##n##d_backward) {                                                                  \
        GRAD_OF(0, picked(g, G, X(2), n));                                                                   \
    }
MAX_POOL(1)
MAX_POOL(2)
MAX_POOL(3)

#define PLACED_POOL(n)                                                                                       \
    VJP(max_unpool##n##d) {                                                                                  \
        GRAD_OF(0, picked(g, G, X(1), n));                                                                   \
    }                                                                                                        \
    VJP(fractional_max_pool##n##d) {                                                                         \
        GRAD_OF(0, OP(fractional_max_pool##n##d_backward, G, X(0), X(1), X(2), OUT(1)));                     \
    }                                                                                                        \
    VJP(fractional_max_pool##n##d_backward) {                                                                \
        GRAD_OF(0, picked(g, G, X(4), n));                                                                   \
    }
PLACED_POOL(2)
PLACED_POOL(3)

/* ---- means ---- */
/* kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: from argument 1 forward, 2
 * backward. avg_pool1d has no divisor: its slot is absent in both. */
#define AVG_POOL(n, forward, backward)                                                                       \
    VJP(avg_pool##n##d) {                                                                                    \
        GRAD_OF(0, OP(avg_pool##n##d_backward, G, X(0), X(1), MAYBE(2), X(3), X(4), X(5) forward));          \
    }                                                                                                        \
    VJP(avg_pool##n##d_backward) {                                                                           \
        GRAD_OF(0, OP(avg_pool##n##d, G, X(2), MAYBE(3), X(4), X(5), X(6) backward));                        \
    }                                                                                                        \
    VJP(adaptive_avg_pool##n##d) {                                                                           \
        GRAD_OF(0, OP(adaptive_avg_pool##n##d_backward, G, X(0)));                                           \
    }                                                                                                        \
    VJP(adaptive_avg_pool##n##d_backward) {                                                                  \
        if (!rl_vjp_wants(g, 0)) return;                                                                     \
        const rl_tensor_meta *like = rl_vjp_like(g, 0);                                                      \
        rl_vjp_pass(g, 0, OP(adaptive_avg_pool##n##d, G, INTS(like->shape + like->ndim - n, n)));            \
    }
#define NO_DIVISOR
#define DIVISOR(i) , MAYBE(i)
AVG_POOL(1, NO_DIVISOR, NO_DIVISOR)
AVG_POOL(2, DIVISOR(6), DIVISOR(7))
AVG_POOL(3, DIVISOR(6), DIVISOR(7))
