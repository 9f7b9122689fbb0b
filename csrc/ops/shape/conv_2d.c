/* The shape rule of conv2d. It leaves in attr[]:
 *   0,1 pad before (h, w)   2,3 pad after   4,5 stride   6,7 dilation   8 groups */
#include "shape.h"

/* one window dimension: how many places it takes, or -1 */
static int64_t window_places(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t stride,
                             int64_t dilation) {
    int64_t reach, padded;
    if (__builtin_mul_overflow(dilation, kernel - 1, &reach) ||
        __builtin_add_overflow(size, before, &padded) || __builtin_add_overflow(padded, after, &padded))
        return -1;
    return padded - reach - 1 < 0 ? -1 : (padded - reach - 1) / stride + 1;
}

static rl_status conv_padding(rl_call *k, const rl_view *w) {
    const rl_slot *pad = &k->arg[4];
    if (pad->tag != RL_TEXT) {
        if (rl_ints_read(k, 4, 2, k->attr) != RL_OK) return RL_FAIL;
        memcpy(k->attr + 2, k->attr, 2 * sizeof *k->attr);
        return rl_conv_pads(k->attr, 2);
    }
    bool same = strcmp(pad->u.s, "same") == 0;
    if (!same && strcmp(pad->u.s, "valid") != 0)
        return rl_error_set(RL_RUNTIME, "Invalid padding string: '%s'", pad->u.s);
    for (int i = 0; i < 2; i++) {
        if (same && k->attr[4 + i] != 1)
            return rl_error_set(RL_RUNTIME, "padding='same' is not supported for strided convolutions");
        int64_t total = 0;
        if (same && __builtin_mul_overflow(k->attr[6 + i], w->shape[2 + i] - 1, &total))
            return rl_error_set(RL_RUNTIME, "conv2d: sizes are too large");
        k->attr[i] = total / 2;
        k->attr[2 + i] = total - total / 2;
    }
    return RL_OK;
}

/* the int[2] arguments hold one or two numbers */
static rl_status pair_length(rl_call *k, int arg, const char *what) {
    const rl_slot *s = &k->arg[arg];
    if (s->tag != RL_INTS || s->n == 1 || s->n == 2) return RL_OK;
    char text[RL_DIMS_TEXT];
    if (k->arg[4].tag == RL_TEXT && strcmp(k->arg[4].u.s, "same") == 0)
        return rl_error_set(RL_RUNTIME, "%s cannot broadcast to 2 dimensions", what);
    return rl_error_set(RL_RUNTIME,
                        "expected %s to be a single integer value or a list of 2 values to match the "
                        "convolution dimensions, but got %s=%s",
                        what, what, rl_dims_text(text, s->u.ints, s->n));
}

RL_SHAPE(conv2d) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    int64_t groups = k->arg[6].u.i, shape[4];
    char tx[RL_DIMS_TEXT], tw[RL_DIMS_TEXT];
    if ((x->ndim != 3 && x->ndim != 4))
        return rl_error_set(
            RL_RUNTIME, "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: %s",
            rl_dims_text(tx, x->shape, x->ndim));
    if (w->ndim != 4)
        return rl_error_set(
            RL_RUNTIME,
            "weight should have at least three dimensions, and %dD was given to a 2-D convolution", w->ndim);
    if (groups <= 0) return rl_error_set(RL_RUNTIME, "non-positive groups is not supported");
    if (pair_length(k, 3, "stride") != RL_OK || pair_length(k, 4, "padding") != RL_OK ||
        pair_length(k, 5, "dilation") != RL_OK || rl_ints_read(k, 3, 2, k->attr + 4) != RL_OK ||
        rl_ints_read(k, 5, 2, k->attr + 6) != RL_OK)
        return RL_FAIL;
    for (int i = 0; i < 2; i++) {
        if (k->attr[4 + i] <= 0) return rl_error_set(RL_RUNTIME, "non-positive stride is not supported");
        if (k->attr[6 + i] <= 0)
            return rl_error_set(RL_RUNTIME, "dilation should be greater than zero, but got %s",
                                rl_dims_text(tx, k->attr + 6, 2));
        if (w->shape[2 + i] <= 0)
            return rl_error_set(RL_RUNTIME, "weight should have a kernel of at least one element, but has %s",
                                rl_dims_text(tw, w->shape, 4));
    }
    k->attr[8] = groups;
    if (conv_padding(k, w) != RL_OK) return RL_FAIL;
    int64_t channels = x->shape[x->ndim - 3];
    rl_dims_text(tw, w->shape, 4);
    if (w->shape[0] < groups || w->shape[0] % groups)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got "
                            "weight of size %s instead",
                            (long long)groups, (long long)groups, tw);
    int64_t expected;
    if (__builtin_mul_overflow(w->shape[1], groups, &expected) || channels != expected)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, "
                            "but got %lld channels instead",
                            (long long)groups, tw, rl_dims_text(tx, x->shape, x->ndim), (long long)expected,
                            (long long)channels);
    if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0]))
        return rl_error_set(RL_RUNTIME,
                            "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, "
                            "but got bias of size %s instead",
                            tw, (long long)w->shape[0], rl_dims_text(tx, bias->shape, bias->ndim));
    int n = x->ndim;
    if (n == 4) shape[0] = x->shape[0];
    shape[n - 3] = w->shape[0];
    for (int i = 0; i < 2; i++) {
        shape[n - 2 + i] = window_places(x->shape[n - 2 + i], k->attr[i], k->attr[2 + i], w->shape[2 + i],
                                         k->attr[4 + i], k->attr[6 + i]);
        if (shape[n - 2 + i] < 1) {
            long long padded[2], reach[2];
            for (int j = 0; j < 2; j++) {
                if (__builtin_add_overflow(x->shape[n - 2 + j], k->attr[j], &padded[j]) ||
                    __builtin_add_overflow(padded[j], k->attr[2 + j], &padded[j]) ||
                    __builtin_mul_overflow(k->attr[6 + j], w->shape[2 + j] - 1, &reach[j]) ||
                    __builtin_add_overflow(reach[j], 1, &reach[j]))
                    return rl_error_set(RL_RUNTIME, "conv2d: sizes are too large");
            }
            return rl_error_set(
                RL_RUNTIME,
                "Calculated padded input size per channel: (%lld x %lld). Kernel size: (%lld x %lld). "
                "Kernel size can't be greater than actual input size",
                padded[0], padded[1], reach[0], reach[1]);
        }
    }
    return rl_out_dims(k, 0, shape, n);
}
