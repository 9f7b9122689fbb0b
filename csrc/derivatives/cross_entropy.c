/* Derivatives of the negative log likelihood. */
#include "vjp.h"

/* (input, target, weight, reduction, ignore_index) -> (output, total_weight) */
#define NLL_LOSS(name)                                                                                       \
    VJP(name) {                                                                                              \
        GRAD_OF(0, OP(name##_backward, G, X(0), X(1), MAYBE(2), X(3), X(4), OUT(1)));                        \
    }                                                                                                        \
    VJP(name##_backward) { /* (grad_output, input, target, weight, reduction, ignore_index, ...) */          \
        GRAD_OF(0, OP_NTH(0, name##_forward, G, X(2), MAYBE(3), X(4), X(5)));                                \
    }
NLL_LOSS(nll_loss)
NLL_LOSS(nll_loss2d)
