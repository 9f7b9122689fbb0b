/* New tensors made of operators. */
#include "compose.h"

COMPOSED(fill) {
    V made = OP(clone, X(0));
    return IN_PLACE(fill_, made, X(1));
}
