/* Activations that are others with certain numbers. */
#include "compose.h"

COMPOSED(relu6) {
    return OP(hardtanh, X(0), INT(0), INT(6));
}
COMPOSED(relu6_) {
    IN_PLACE(hardtanh, X(0), INT(0), INT(6));
    return X(0);
}
