/* PyTorch's other names of padding. */
#include "compose.h"
#include <string.h>
#include "core/error.h"

COMPOSED(constant_pad_nd) {
    if (X(1).n % 2)
        return RAISE(PyExc_RuntimeError, "Length of pad must be even but instead it equals %d", X(1).n);
    return OP(pad, X(0), X(1), WORD("constant"), NUM(rl_number(X(2))));
}

/* padding of the last `spatial` dims, one number for all sides or two for each dim */
static V padded(rl_values *g, rl_bound *b, int spatial, const char *mode) {
    const V x = X(0);
    int64_t sides[6];
    char sizes[RL_DIMS_TEXT];
    for (int i = 0; i < 2 * spatial && X(1).tag == RL_INT; i++) sides[i] = X(1).u.i;
    const V padding = X(1).tag == RL_INT ? INTS(sides, 2 * spatial) : X(1);
    if (padding.n != 2 * spatial && mode[2] == 'f')
        return RAISE(PyExc_RuntimeError, "padding size is expected to be %d, but got: %d", 2 * spatial,
                     padding.n);
    if (padding.n != 2 * spatial)
        return RAISE(PyExc_RuntimeError, "padding size is expected to be %d", 2 * spatial);
    if (NDIM(x) != spatial + 1 && NDIM(x) != spatial + 2)
        return RAISE(PyExc_RuntimeError,
                     "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                     "non-zero dimensions for input, but got: %s",
                     spatial + 1, spatial + 2, rl_dims_text(sizes, rl_value_tensor(x)->shape, NDIM(x)));
    return OP(pad, x, padding, WORD(mode));
}

#define PADDED(spatial)                                                                                      \
    COMPOSED(reflection_pad##spatial##d) {                                                                   \
        return padded(g, b, spatial, "reflect");                                                             \
    }                                                                                                        \
    COMPOSED(replication_pad##spatial##d) {                                                                  \
        return padded(g, b, spatial, "replicate");                                                           \
    }
PADDED(1)
PADDED(2)
PADDED(3)

COMPOSED(_pad_circular) {
    const int n = X(1).n, rest = NDIM(X(0)) - n / 2;
    if (n % 2 || (rest != 1 && rest != 2)) {
        const int most = 2 * (NDIM(X(0)) - 1);
        return RAISE(
            PyExc_RuntimeError,
            "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be equivalent to "
            "padding of length %d or %d respectively but got %d",
            most, most - 2, n);
    }
    return OP(pad, X(0), X(1), WORD("circular"));
}

COMPOSED(_pad_enum) {
    static const char *const modes[] = {"reflect", "replicate", "circular", "constant"};
    const int64_t mode = X(2).u.i;
    if (X(1).n % 2) return RAISE(PyExc_RuntimeError, "Padding length must be divisible by 2");
    if (mode < 0 || mode > 3)
        return RAISE(PyExc_NotImplementedError,
                     "Padding size %d is not supported for %dD input tensor.\n"
                     "Supported combinations for non-constant padding:\n"
                     "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                     "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                     "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                     X(1).n, NDIM(X(0)));
    return OP(pad, X(0), X(1), WORD(modes[mode]), X(3));
}

COMPOSED(pad_sequence) { /* (sequences, batch_first, padding_value, padding_side) */
    const V list = X(0);
    const bool batch_first = X(1).u.i, left = strcmp(X(3).u.s, "left") == 0;
    int64_t shape[RL_MAX_DIMS + 1], longest = 0;
    if (list.n == 0) return RAISE(PyExc_RuntimeError, "received an empty list of sequences");
    if (!left && strcmp(X(3).u.s, "right") != 0)
        return RAISE(PyExc_RuntimeError, "Expected padding_side to be one of left or right, but got %s.",
                     X(3).u.s);
    if (NDIM(NTH(list, 0)) == 0) return RAISE(PyExc_RuntimeError, "ArrayRef: invalid slice, N = 1; size = 0");
    for (int i = 0; i < list.n; i++)
        if (SIZE(NTH(list, i), 0) > longest) longest = SIZE(NTH(list, i), 0);
    SHAPE(NTH(list, 0), shape + 1);
    shape[!batch_first] = list.n, shape[batch_first] = longest;
    const rl_view *first = list.u.ts[0];
    const V out =
        OP(full, INTS(shape, first->ndim + 1), X(2), DTYPE(first->dtype), NONE, DEVICE_OF(NTH(list, 0)));
    for (int i = 0; i < list.n && !FAILED; i++) {
        const V each = NTH(list, i), length = INT(SIZE(each, 0));
        V place = OP(select, out, INT(!batch_first), INT(i));
        place = OP(narrow, place, INT(0), INT(left ? longest - SIZE(each, 0) : 0), length);
        IN_PLACE(copy_, place, each);
    }
    return out;
}
