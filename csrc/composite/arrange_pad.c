/* Edges of numbers. */
#include "compose.h"

COMPOSED(constant_pad_nd) {
    if (X(1).n % 2)
        return RAISE(PyExc_RuntimeError, "Length of pad must be even but instead it equals %d", X(1).n);
    return OP(pad, X(0), X(1), WORD("constant"), NUM(rl_number(X(2))));
}
