/* Edges of numbers. */
#include "compose.h"

COMPOSED(constant_pad_nd) {
    if (X(1).n % 2)
        return RAISE(PyExc_RuntimeError, "Length of pad must be even but instead it equals %d", X(1).n);
    return OP(pad, X(0), X(1), WORD("constant"), NUM(rl_number(X(2))));
}

/* of `dims` dimensions, each of which takes two numbers; one number stands for all */
static V padded(rl_values *g, rl_bound *b, int dims, const char *mode) {
    int64_t pads[6];
    for (int i = 0; i < 2 * dims; i++) pads[i] = X(1).tag == RL_INT ? X(1).u.i : 0;
    if (X(1).tag == RL_INT) return OP(pad, X(0), INTS(pads, 2 * dims), WORD(mode));
    if (X(1).n == 2 * dims) return OP(pad, X(0), X(1), WORD(mode));
    return RAISE(PyExc_RuntimeError, "padding size is expected to be %d, but got: %d", 2 * dims, X(1).n);
}
#define PADDED(name, mode)                                                                                   \
    COMPOSED(name##_pad1d) {                                                                                 \
        return padded(g, b, 1, mode);                                                                        \
    }                                                                                                        \
    COMPOSED(name##_pad2d) {                                                                                 \
        return padded(g, b, 2, mode);                                                                        \
    }                                                                                                        \
    COMPOSED(name##_pad3d) {                                                                                 \
        return padded(g, b, 3, mode);                                                                        \
    }
PADDED(reflection, "reflect")
PADDED(replication, "replicate")

COMPOSED(_pad_circular) {
    return OP(pad, X(0), X(1), WORD("circular"));
}
