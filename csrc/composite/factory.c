/* New tensors made of operators. */
#include "compose.h"

COMPOSED(copy_number) {
    return IN_PLACE(fill_, X(0), X(1));
}

COMPOSED(fill) {
    V made = OP(clone, X(0));
    return IN_PLACE(fill_, made, X(1));
}
