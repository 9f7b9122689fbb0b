/* The derivative of connectionist temporal classification. */
#include "vjp.h"

VJP(ctc_loss) {
    /* (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) */
    GRAD_OF(0, OP(_ctc_loss_backward, G, X(0), X(1), X(2), X(3), OUT(0), OUT(1), X(4), X(5)));
}
