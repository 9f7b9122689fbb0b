/* Derivatives of bags of rows: (weight, indices, offsets, scale_grad_by_freq, mode, sparse,
 * per_sample_weights, include_last_offset, padding_idx). */
#include "vjp.h"

VJP(embedding_bag) {
    if (rl_vjp_wants(g, 0)) {
        const V rows = INT(rl_vjp_like(g, 0)->shape[0]);
        rl_vjp_pass(g, 0,
                    OP(embedding_bag_backward, G, X(1), X(2), OUT(1), OUT(2), OUT(3), rows, X(3), X(4), X(5),
                       MAYBE(6), X(8)));
    }
    GRAD_OF(6, OP(embedding_bag_weights_backward, G, X(0), X(1), X(2), OUT(1), X(4), X(8)));
}
VJP(embedding_bag_backward) {
    rl_values_raise(VALUES, PyExc_NotImplementedError,
                    "the derivative for '_embedding_bag_backward' is not implemented.");
}
