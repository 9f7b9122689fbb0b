/* Shape rules of convolutions of one to three dimensions, and of transposed ones. They leave an rl_window. */
#include "shape.h"
#include "kernel_abi/window.h"
#include <stdio.h>

/* "5 x 4 x 3" */
static const char *by_text(char text[RL_DIMS_TEXT], const int64_t *sizes, int n) {
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(text + used, RL_DIMS_TEXT - used, "%s%lld", i ? " x " : "", (long long)sizes[i]);
    return text;
}

/* the input's sizes as PyTorch sees them, always with a batch */
static const char *batched_text(char text[RL_DIMS_TEXT], const rl_view *x, int n) {
    int64_t shape[5] = {1};
    memcpy(shape + (x->ndim == n + 1), x->shape, (size_t)x->ndim * sizeof *shape);
    return rl_dims_text(text, shape, n + 2);
}

/* an int[n] argument holds one number or n */
static rl_status conv_count(const rl_call *k, const char *what, const int64_t *given, int count, int n) {
    char text[RL_DIMS_TEXT];
    if (count == 1 || count == n) return RL_OK;
    if (k->arg[4].tag == RL_STRING && strcmp(k->arg[4].u.s, "same") == 0)
        return rl_error_set(RL_RUNTIME, "%s cannot broadcast to %d dimensions", what, n);
    return rl_error_set(RL_RUNTIME,
                        "expected %s to be a single integer value or a list of %d values to match the "
                        "convolution dimensions, but got %s=%s",
                        what, n, what, rl_dims_text(text, given, count));
}
static rl_status conv_list(const rl_call *k, int arg, const char *what, int n) {
    const rl_value *s = &k->arg[arg];
    return s->tag == RL_INTS ? conv_count(k, what, s->u.ints, s->n, n) : RL_OK;
}

static rl_status conv_read(const rl_call *k, int arg, int64_t to[3], int n, int64_t missing) {
    for (int i = 0; i < 3 - n; i++) to[i] = missing;
    return rl_ints_read(k, arg, n, to + 3 - n);
}

static rl_status conv_dims(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    char text[RL_DIMS_TEXT], other[RL_DIMS_TEXT];
    if (x->ndim != n + 1 && x->ndim != n + 2)
        return rl_error_set(
            RL_RUNTIME, "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
            n + 1, n + 2, k->name, rl_dims_text(text, x->shape, x->ndim));
    if (w->ndim < 3) return rl_error_set(RL_RUNTIME, "weight should have at least three dimensions");
    if (k->arg[6].u.i <= 0) return rl_error_set(RL_RUNTIME, "non-positive groups is not supported");
    if (w->ndim == n + 2) return RL_OK;
    /* PyTorch goes by the weight, and has made n numbers of one */
    const rl_value *s = &k->arg[3];
    const int64_t same[3] = {s->u.i, s->u.i, s->u.i};
    bool list = s->tag == RL_INTS;
    if (k->arg[4].tag != RL_STRING &&
        conv_count(k, "stride", list ? s->u.ints : same, list ? s->n : n, w->ndim - 2) != RL_OK)
        return RL_FAIL;
    return rl_error_set(RL_RUNTIME,
                        "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                        "%d-dimensional input of size %s instead",
                        w->ndim, w->ndim, rl_dims_text(text, w->shape, w->ndim), n + 2,
                        rl_dims_text(other, x->shape, x->ndim));
}

static rl_status conv_dtypes(const rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *bias = rl_in(k, 2);
    if (rl_tensor_arg(k, 1)->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(rl_tensor_arg(k, 1)->dtype));
    if (bias && bias->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "Input type (%s) and bias type (%s) should be the same",
                            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(bias->dtype));
    return RL_OK;
}

/* none negative, none too large */
static rl_status conv_pads(const int64_t *pads, int n) {
    for (int i = 0; i < n; i++) {
        if (pads[i] < 0) return rl_error_set(RL_RUNTIME, "negative padding is not supported");
        if (pads[i] > INT64_MAX / 2)
            return rl_error_set(RL_RUNTIME,
                                "Given padding=%lld at dimension %d , expected padding to be at most %lld",
                                (long long)pads[i], i, (long long)(INT64_MAX / 2));
    }
    return RL_OK;
}

/* what both directions ask of strides, dilations and kernels, after they were read */
static rl_status conv_numbers(const rl_call *k, int n) {
    const rl_window *a = rl_window_of(k);
    const rl_view *w = k->arg[1].u.t;
    char text[RL_DIMS_TEXT];
    for (int i = 0; i < 3; i++)
        if (a->stride[i] <= 0) return rl_error_set(RL_RUNTIME, "non-positive stride is not supported");
    for (int i = 3 - n; i < 3; i++) {
        if (a->dilation[i] <= 0)
            return rl_error_set(RL_RUNTIME, "dilation should be greater than zero, but got %s",
                                rl_dims_text(text, a->dilation + 3 - n, n));
        if (w->shape[i - (3 - n) + 2] <= 0)
            return rl_error_set(RL_RUNTIME, "kernel size should be greater than zero, but got %s",
                                by_text(text, w->shape + 2, n));
        if (a->stride[i] > INT32_MAX || a->dilation[i] > INT32_MAX)
            return rl_error_set(RL_RUNTIME, "stride or dilation is too large");
    }
    return RL_OK;
}

static rl_status conv_padding(rl_call *k, int n) {
    rl_window *a = rl_window_made(k);
    const rl_value *pad = &k->arg[4];
    const rl_view *w = k->arg[1].u.t;
    if (pad->tag != RL_STRING) {
        if (conv_read(k, 4, a->before, n, 0) != RL_OK || conv_read(k, 4, a->after, n, 0) != RL_OK)
            return RL_FAIL;
        return conv_pads(a->before + 3 - n, n);
    }
    bool same = strcmp(pad->u.s, "same") == 0;
    if (!same && strcmp(pad->u.s, "valid") != 0)
        return rl_error_set(RL_RUNTIME, "Invalid padding string: '%s'", pad->u.s);
    for (int i = 0; i < 3; i++) {
        if (same && a->stride[i] != 1)
            return rl_error_set(RL_RUNTIME, "padding='same' is not supported for strided convolutions");
        int64_t total = 0;
        if (same && i >= 3 - n &&
            __builtin_mul_overflow(a->dilation[i], w->shape[i - (3 - n) + 2] - 1, &total))
            return rl_error_set(RL_RUNTIME, "%s: sizes are too large", k->name);
        a->before[i] = total / 2;
        a->after[i] = total - total / 2;
    }
    return RL_OK;
}

static rl_status conv_channels(const rl_call *k, int n) {
    const rl_window *a = rl_window_of(k);
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    char tx[RL_DIMS_TEXT], tw[RL_DIMS_TEXT];
    long long groups = a->groups, channels = x->shape[x->ndim - n - 1];
    int64_t expected;
    if (w->shape[0] < groups)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got "
                            "weight of size %s instead",
                            groups, groups, rl_dims_text(tw, w->shape, w->ndim));
    if (w->shape[0] % groups)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but "
                            "got weight of size [%s] instead",
                            groups, groups, rl_dims_text(tw, w->shape, w->ndim));
    if (__builtin_mul_overflow(w->shape[1], a->groups, &expected) || channels != expected)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, "
                            "but got %lld channels instead",
                            groups, rl_dims_text(tw, w->shape, w->ndim), batched_text(tx, x, n),
                            (long long)expected, channels);
    if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0]))
        return rl_error_set(RL_RUNTIME,
                            "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, "
                            "but got bias of size %s instead",
                            rl_dims_text(tw, w->shape, w->ndim), (long long)w->shape[0],
                            rl_dims_text(tx, bias->shape, bias->ndim));
    return RL_OK;
}

static rl_status conv_shape(rl_call *k, int n) {
    rl_window *a = rl_window_made(k);
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    int64_t shape[5], padded[3], reach[3];
    char tp[RL_DIMS_TEXT], tr[RL_DIMS_TEXT];
    bool fits = true;
    if (conv_dims(k, n) != RL_OK || conv_list(k, 3, "stride", n) != RL_OK ||
        conv_list(k, 4, "padding", n) != RL_OK || conv_list(k, 5, "dilation", n) != RL_OK ||
        conv_read(k, 3, a->stride, n, 1) != RL_OK || conv_read(k, 5, a->dilation, n, 1) != RL_OK)
        return RL_FAIL;
    a->groups = k->arg[6].u.i;
    a->spatial = n;
    if (conv_padding(k, n) != RL_OK || conv_numbers(k, n) != RL_OK || conv_channels(k, n) != RL_OK)
        return RL_FAIL;
    int lead = x->ndim - n;
    for (int i = 0; i < n; i++) {
        int at = 3 - n + i;
        if (__builtin_add_overflow(x->shape[lead + i], a->before[at], &padded[i]) ||
            __builtin_add_overflow(padded[i], a->after[at], &padded[i]) ||
            __builtin_mul_overflow(a->dilation[at], w->shape[2 + i] - 1, &reach[i]))
            return rl_error_set(RL_RUNTIME, "%s: sizes are too large", k->name);
        fits &= padded[i] >= ++reach[i];
        shape[lead + i] = (padded[i] - reach[i]) / a->stride[at] + 1;
    }
    if (!fits)
        return rl_error_set(RL_RUNTIME,
                            "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size "
                            "can't be greater than actual input size",
                            by_text(tp, padded, n), by_text(tr, reach, n));
    if (conv_dtypes(k) != RL_OK) return RL_FAIL;
    if (lead == 2) shape[0] = x->shape[0];
    shape[lead - 1] = w->shape[0];
    return rl_out_dims(k, 0, shape, x->ndim);
}

/* The checks, window and output dims of a convolution in n dimensions whose other arguments k has. */
static rl_status conv_expected(rl_call *k, const rl_view *x, const rl_view *w, int n, rl_view *out) {
    static const char *const names[] = {"", "conv1d", "conv2d", "conv3d"};
    rl_call forward = *k;
    forward.name = names[n];
    forward.arg[0] = (rl_value){.tag = RL_TENSOR, .u.t = (rl_view *)x};
    forward.arg[1] = (rl_value){.tag = RL_TENSOR, .u.t = (rl_view *)w};
    forward.arg[2] = (rl_value){.tag = RL_NONE};
    forward.out[0] = out;
    if (conv_shape(&forward, n) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return RL_OK;
}

RL_SHAPE(conv1d) {
    return conv_shape(k, 1);
}
RL_SHAPE(conv2d) {
    return conv_shape(k, 2);
}
RL_SHAPE(conv3d) {
    return conv_shape(k, 3);
}

/* ---- transposed ---- */
static rl_status transposed_channels(const rl_call *k, int n) {
    const rl_window *a = rl_window_of(k);
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    char tx[RL_DIMS_TEXT], tw[RL_DIMS_TEXT];
    long long channels = x->shape[x->ndim - n - 1], groups = a->groups;
    int64_t outputs;
    if (channels != w->shape[0])
        return rl_error_set(RL_RUNTIME,
                            "Given transposed=1, weight of size %s, expected input%s to have %lld channels, "
                            "but got %lld channels instead",
                            rl_dims_text(tw, w->shape, w->ndim), batched_text(tx, x, n),
                            (long long)w->shape[0], channels);
    if (channels % groups)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but "
                            "got weight of size [%s] instead",
                            groups, groups, rl_dims_text(tw, w->shape, w->ndim));
    if (__builtin_mul_overflow(w->shape[1], a->groups, &outputs))
        return rl_error_set(RL_RUNTIME, "%s: sizes are too large", k->name);
    if (bias && (bias->ndim != 1 || bias->shape[0] != outputs))
        return rl_error_set(RL_RUNTIME,
                            "Given transposed=1, weight of size %s, expected bias to be 1-dimensional with "
                            "%lld elements, but got bias of size %s instead",
                            rl_dims_text(tw, w->shape, w->ndim), (long long)outputs,
                            rl_dims_text(tx, bias->shape, bias->ndim));
    return RL_OK;
}

static rl_status transposed_places(const rl_call *k, int n, int64_t *places) {
    const rl_window *a = rl_window_of(k);
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    char have[RL_DIMS_TEXT], made[RL_DIMS_TEXT];
    bool fits = true;
    for (int i = 0; i < n; i++) {
        int at = 3 - n + i;
        int64_t size = x->shape[x->ndim - n + i], extra = a->after[at], grown, reach;
        if (extra >= a->stride[at] && extra >= a->dilation[at])
            return rl_error_set(RL_RUNTIME,
                                "output padding must be smaller than either stride or dilation, but got "
                                "output_padding: %lld stride: %lld dilation: %lld",
                                (long long)extra, (long long)a->stride[at], (long long)a->dilation[at]);
        if (size == 0)
            return rl_error_set(
                RL_RUNTIME, "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                rl_dims_text(have, x->shape, x->ndim));
        if (__builtin_mul_overflow(size - 1, a->stride[at], &grown) || grown > INT64_MAX / 4 ||
            __builtin_mul_overflow(a->dilation[at], w->shape[2 + i] - 1, &reach) || reach > INT64_MAX / 4 ||
            a->before[at] > INT64_MAX / 8)
            return rl_error_set(RL_RUNTIME, "%s: sizes are too large", k->name);
        places[i] = grown - 2 * a->before[at] + reach + extra + 1;
        fits &= places[i] >= 1;
    }
    if (fits) return RL_OK;
    return rl_error_set(
        RL_RUNTIME,
        "Given input size per channel: (%s). Calculated output size per channel: (%s). Output size is too "
        "small",
        by_text(have, x->shape + x->ndim - n, n), by_text(made, places, n));
}

static rl_status transposed_shape(rl_call *k, int n) {
    rl_window *a = rl_window_made(k);
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    int64_t shape[5];
    if (conv_dims(k, n) != RL_OK || conv_list(k, 3, "stride", n) != RL_OK ||
        conv_list(k, 4, "padding", n) != RL_OK || conv_list(k, 7, "dilation", n) != RL_OK ||
        conv_list(k, 5, "output_padding", n) != RL_OK || conv_read(k, 3, a->stride, n, 1) != RL_OK ||
        conv_read(k, 4, a->before, n, 0) != RL_OK || conv_read(k, 5, a->after, n, 0) != RL_OK ||
        conv_read(k, 7, a->dilation, n, 1) != RL_OK)
        return RL_FAIL;
    a->groups = k->arg[6].u.i;
    a->spatial = n;
    if (conv_pads(a->before + 3 - n, n) != RL_OK) return RL_FAIL;
    for (int i = 0; i < 3; i++) {
        if (a->after[i] < 0) return rl_error_set(RL_RUNTIME, "negative output_padding is not supported");
    }
    int lead = x->ndim - n;
    if (conv_numbers(k, n) != RL_OK || transposed_channels(k, n) != RL_OK ||
        transposed_places(k, n, shape + lead) != RL_OK || conv_dtypes(k) != RL_OK)
        return RL_FAIL;
    if (lead == 2) shape[0] = x->shape[0];
    shape[lead - 1] = w->shape[1] * a->groups;
    return rl_out_dims(k, 0, shape, x->ndim);
}

RL_SHAPE(conv_transpose1d) {
    return transposed_shape(k, 1);
}
RL_SHAPE(conv_transpose2d) {
    return transposed_shape(k, 2);
}
RL_SHAPE(conv_transpose3d) {
    return transposed_shape(k, 3);
}

/* ---- gradients of convolutions ----
 * They leave what the forward's rule leaves. */
static rl_status conv_back(rl_call *k, const rl_view *x, const rl_view *w, const rl_view *answer, int n) {
    rl_view expected = {.dtype = x->dtype};
    if (conv_expected(k, x, w, n, &expected) != RL_OK) return RL_FAIL;
    if (!rl_dims_same(&expected, k->arg[0].u.t)) return rl_gradient_differs(k, &expected);
    return rl_out_dims(k, 0, answer->shape, answer->ndim);
}

static rl_status conv_input(rl_call *k, int n) {
    rl_view x;
    if (rl_sizes_read(k, 2, &x) != RL_OK) return RL_FAIL;
    return conv_back(k, &x, k->arg[1].u.t, &x, n);
}
static rl_status conv_weight(rl_call *k, int n) {
    rl_view w;
    if (rl_sizes_read(k, 2, &w) != RL_OK) return RL_FAIL;
    return conv_back(k, k->arg[1].u.t, &w, &w, n);
}

RL_SHAPE(conv1d_input) {
    return conv_input(k, 1);
}
RL_SHAPE(conv2d_input) {
    return conv_input(k, 2);
}
RL_SHAPE(conv3d_input) {
    return conv_input(k, 3);
}
RL_SHAPE(conv1d_weight) {
    return conv_weight(k, 1);
}
RL_SHAPE(conv2d_weight) {
    return conv_weight(k, 2);
}
RL_SHAPE(conv3d_weight) {
    return conv_weight(k, 3);
}

RL_SHAPE(conv_bias) {
    const rl_view *grad = k->arg[0].u.t;
    int64_t n = k->arg[1].u.i;
    if (n < 1 || n > 3 || (grad->ndim != n + 1 && grad->ndim != n + 2))
        return rl_error_set(RL_RUNTIME, "conv_bias: expected a gradient of %lld or %lld dimensions, got %d",
                            (long long)n + 1, (long long)n + 2, grad->ndim);
    rl_window_made(k)->spatial = n;
    return rl_out_dims(k, 0, grad->shape + grad->ndim - n - 1, 1);
}
