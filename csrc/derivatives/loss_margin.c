/* Derivatives of losses with a margin, which have no second ones. */
#include "formula.h"

/* (input, target, p, margin, weight, reduction) */
FORMULA(multi_margin_loss) {
    TO(0, OP(multi_margin_loss_backward, G, X(0), X(1), X(2), X(3), MAYBE(4), X(5)));
}

/* (input, target, reduction) */
FORMULA(multilabel_margin_loss) {
    TO(0, OP(multilabel_margin_loss_backward, G, X(0), X(1), X(2)));
}
