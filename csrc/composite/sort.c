/* Elements in order. */
#include "compose.h"

COMPOSED(msort) {
    return OP(sort, X(0), INT(0), TRUTH(false));
}
