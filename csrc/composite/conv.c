/* Convolutions by other names and in other orders. */
#include "compose.h"
#include "core/error.h"

/* ---- of the dimensions that the weight has ---- */
static V in_dims(rl_values *g, const V *a, int spatial) {
    switch (spatial) {
    case 1: return OP(conv1d, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    case 2: return OP(conv2d, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    case 3: return OP(conv3d, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    default: return RAISE(PyExc_RuntimeError, "unsupported ConvNd parameters");
    }
}
static V transposed_in_dims(rl_values *g, const V *a, V more, int spatial) {
    switch (spatial) {
    case 1: return OP(conv_transpose1d, a[0], a[1], a[2], a[3], a[4], more, a[6], a[5]);
    case 2: return OP(conv_transpose2d, a[0], a[1], a[2], a[3], a[4], more, a[6], a[5]);
    case 3: return OP(conv_transpose3d, a[0], a[1], a[2], a[3], a[4], more, a[6], a[5]);
    default: return RAISE(PyExc_RuntimeError, "unsupported ConvNd parameters");
    }
}

/* input, weight, bias, stride, padding, dilation, groups: nobody guesses here that a batch is missing */
static bool has_batch(rl_values *g, const V *a) {
    char text[RL_DIMS_TEXT], w[RL_DIMS_TEXT];
    const int dims = NDIM(a[0]), expected = NDIM(a[1]), spatial = expected - 2;
    if (dims == expected || FAILED || expected < 3) return true; /* or the operator says so */
    if (a[3].tag == RL_INTS && a[3].n != 1 && a[3].n != spatial)
        RAISE(PyExc_RuntimeError,
              "expected stride to be a single integer value or a list of %d values to match the convolution "
              "dimensions, but got stride=%s",
              spatial, rl_dims_text(text, a[3].u.ints, a[3].n));
    else
        RAISE(PyExc_RuntimeError,
              "Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of "
              "size "
              "%s instead",
              expected, expected, rl_dims_text(w, rl_value_tensor(a[1])->shape, expected), dims,
              rl_dims_text(text, rl_value_tensor(a[0])->shape, dims));
    return false;
}

static V convolution(rl_values *g, rl_op_call *b) {
    const V a[7] = {X(0), X(1), X(2), X(3), X(4), X(5), X(8)};
    if (!has_batch(g, a)) return NONE;
    return X(6).u.i ? transposed_in_dims(g, a, X(7), NDIM(X(1)) - 2) : in_dims(g, a, NDIM(X(1)) - 2);
}
COMPOSED(convolution) {
    return convolution(g, b);
}
COMPOSED(_convolution) {
    return convolution(g, b);
}
COMPOSED(_convolution_deprecated) {
    return convolution(g, b);
}

COMPOSED(_convolution_mode) {
    const V a[7] = {X(0), X(1), X(2), X(3), X(4), X(5), X(6)};
    return has_batch(g, a) ? in_dims(g, a, NDIM(X(1)) - 2) : NONE;
}

/* ---- (time, batch, channels) ---- */
static const char *tbc_error(V x, V weight, V bias) {
    if (NDIM(x) != 3) return "Input must have 3 dims: time, batch, in_channel";
    if (NDIM(weight) != 3) return "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.";
    if (NDIM(bias) != 1) return "Bias must be 1-D";
    if (SIZE(x, 2) != SIZE(weight, 1))
        return "Input dim 2 (input channels) is not == dim 1 in the weight tensor";
    if (SIZE(bias, 0) != SIZE(weight, 2))
        return "Bias size must equal dim 2 in the weight tensor (output channels).";
    return NULL;
}

/* A product for each element of the kernel: what it sees are whole rows. */
COMPOSED(conv_tbc) {
    V x = X(0), sum = X(2);
    const char *wrong = tbc_error(x, X(1), X(2));
    if (wrong) return RAISE(PyExc_RuntimeError, "%s", wrong);
    int64_t pad[6] = {0, 0, 0, 0, X(3).u.i, X(3).u.i}, width = SIZE(X(1), 0);
    if (X(3).u.i) x = OP(constant_pad_nd, x, INTS(pad, 6), NUM(0));
    const int64_t times = SIZE(x, 0) - width + 1, shape[3] = {times, SIZE(x, 1), SIZE(X(1), 2)};
    if (FAILED) return NONE;
    if (times < 0)
        return RAISE(PyExc_RuntimeError,
                     "Trying to create tensor with negative dimension %lld: [%lld, %lld, %lld]",
                     (long long)times, (long long)times, (long long)shape[1], (long long)shape[2]);
    for (int64_t i = 0; i < width && !FAILED; i++) {
        const V seen = OP(narrow, x, INT(0), INT(i), INT(times));
        sum = OP(add, OP(matmul, seen, OP(select, X(1), INT(0), INT(i))), sum);
    }
    return width ? sum : OP(clone, OP(expand, sum, INTS((int64_t *)shape, 3)));
}
