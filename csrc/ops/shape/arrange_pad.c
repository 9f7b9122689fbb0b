/* Shape rules of padding and its gradient. */
#include "shape.h"

/* a part of x lies as x does; what is added to, and what repeats elements, in one of two orders */
static void pad_strides(rl_view *out, const rl_view *x, const rl_slot *pad, bool repeats) {
    bool grows = repeats;
    for (int i = 0; i < pad->n; i++) grows |= pad->u.ints[i] > 0;
    if (rl_looks_channels_last(x)) rl_dims_channels_last(out->shape, out->ndim, out->strides);
    if (grows) return;
    rl_view part = *x;
    part.shape = out->shape;
    rl_strides_as(out, &part);
}

enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* numbers, mode and value by themselves; attr[0]: the mode */
static rl_status pad_read(rl_call *k) {
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const rl_view *x = k->arg[0].u.t;
    int mode = 0, n = k->arg[1].n;
    if (k->arg[1].tag != RL_INTS)
        return rl_error_set(RL_TYPE, "pad(): argument 'pad' (position 2) must be tuple of ints, not int");
    while (mode < 4 && strcmp(modes[mode], k->arg[2].u.s) != 0) mode++;
    if (mode == 4) return rl_error_set(RL_NOTIMPL, "Unrecognised padding mode %s", k->arg[2].u.s);
    if (n % 2) return rl_error_set(RL_RUNTIME, "Padding length must be divisible by 2");
    if (n / 2 > x->ndim)
        return rl_error_set(RL_RUNTIME,
                            "Padding length should be less than or equal to two times the input dimension "
                            "but got padding length %d and input of dimension %d",
                            n, x->ndim);
    if (mode && k->arg[3].tag != RL_NONE)
        return rl_error_set(RL_RUNTIME, "Padding mode \"%s\" doesn't take in value argument", modes[mode]);
    if (mode && !(n / 2 >= 1 && n / 2 <= 3 && (x->ndim == n / 2 + 1 || x->ndim == n / 2 + 2)))
        return rl_error_set(RL_NOTIMPL,
                            "Padding size %d is not supported for %dD input tensor.\n"
                            "Supported combinations for non-constant padding:\n"
                            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                            n, x->ndim);
    k->attr[0] = mode;
    return RL_OK;
}

/* What repeats elements has dtypes of its own, and needs something in every dim but the batch. */
static rl_status pad_repeats(const rl_call *k, int spatial) {
    const rl_view *x = k->arg[0].u.t;
    char text[RL_DIMS_TEXT];
    if (x->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL, "\"%s_pad%dd\" not implemented for 'Bool'",
                            k->attr[0] == PAD_REFLECT ? "reflection" : "replication", spatial);
    for (int d = x->ndim - spatial - 1; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                "non-zero dimensions for input, but got: %s",
                spatial + 1, spatial + 2, rl_dims_text(text, x->shape, x->ndim));
    return RL_OK;
}

/* one dim, `back` from the last one */
static rl_status pad_dim_fits(const rl_call *k, int back, int64_t size, int64_t left, int64_t right) {
    const rl_view *x = k->arg[0].u.t;
    const int mode = (int)k->attr[0];
    const int64_t cropped = size + (left < 0 ? left : 0) + (right < 0 ? right : 0);
    char text[RL_DIMS_TEXT];
    if (mode == PAD_CONSTANT && cropped < 0)
        return rl_error_set(RL_RUNTIME, "narrow(): length must be non-negative.");
    if (mode == PAD_REFLECT && (left >= size || right >= size))
        return rl_error_set(RL_RUNTIME,
                            "Argument #%d: Padding size should be less than the corresponding input "
                            "dimension, but got: padding (%lld, %lld) at dimension %d of input %s",
                            4 + 2 * back, (long long)left, (long long)right, x->ndim - 1 - back,
                            rl_dims_text(text, x->shape, x->ndim));
    if (mode != PAD_CIRCULAR) return RL_OK;
    if (left > size || right > size)
        return rl_error_set(RL_RUNTIME, "Padding value causes wrapping around more than once.");
    if (size + left + right < 0)
        return rl_error_set(RL_RUNTIME, "Negative padding value is resulting in an empty dimension");
    if (cropped < 0 || left > cropped || right > cropped)
        return rl_error_set(
            RL_RUNTIME, "unsupported operation: some elements of the input tensor and the written-to tensor "
                        "refer to a single memory location. Please clone() the tensor before performing the "
                        "operation.");
    return RL_OK;
}

/* the output's sizes as a whole */
static rl_status pad_sizes_fit(const rl_call *k, int spatial, const int64_t *shape) {
    const rl_view *x = k->arg[0].u.t;
    const int last = x->ndim - 1;
    char text[RL_DIMS_TEXT];
    if (spatial == 1 && shape[last] < 1)
        return rl_error_set(RL_RUNTIME, "input (W: %lld) is too small. Calculated output W: %lld",
                            (long long)x->shape[last], (long long)shape[last]);
    for (int d = x->ndim - spatial; d < x->ndim; d++)
        if (shape[d] < 0)
            return rl_error_set(RL_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)shape[d], rl_dims_text(text, shape, x->ndim));
    return RL_OK;
}

RL_SHAPE(pad) { /* attr[0]: the mode */
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *pad = &k->arg[1];
    int64_t shape[RL_MAX_DIMS];
    if (pad_read(k) != RL_OK) return RL_FAIL;
    const int spatial = pad->n / 2;
    const bool repeats = k->attr[0] == PAD_REFLECT || k->attr[0] == PAD_REPLICATE;
    if (repeats && pad_repeats(k, spatial) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    for (int back = 0; back < spatial; back++) {
        const int64_t left = pad->u.ints[2 * back], right = pad->u.ints[2 * back + 1];
        int64_t *to = &shape[x->ndim - 1 - back], size = *to;
        if (pad_dim_fits(k, back, size, left, right) != RL_OK) return RL_FAIL;
        if (__builtin_add_overflow(size, left, to) || __builtin_add_overflow(*to, right, to))
            return rl_error_set(
                RL_RUNTIME,
                "The input size %lld, plus negative padding %lld and %lld resulted in a negative output "
                "size, which is invalid. Check dimension %d of your input.",
                (long long)size, (long long)left, (long long)right, x->ndim - 1 - back);
    }
    if (repeats && pad_sizes_fit(k, spatial, shape) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, 0, shape, x->ndim) != RL_OK) return RL_FAIL;
    if (x->strides && k->attr[0] != PAD_CIRCULAR) pad_strides(k->out[0], x, pad, repeats);
    return RL_OK;
}

RL_SHAPE(pad_backward) { /* (grad_output, input_size, pad, mode, channels_last); attr[0]: the mode */
    rl_view x, expected;
    rl_call forward = rl_call_forward(k, "pad", &expected);
    if (rl_sizes_read(k, 1, &x) != RL_OK) return RL_FAIL;
    x.dtype = rl_tensor_arg(k, 0)->dtype;
    forward.arg[0] = (rl_slot){.tag = RL_TENSOR, .u.t = &x};
    forward.arg[3] = (rl_slot){.tag = RL_NONE};
    if (shape_pad(&forward) != RL_OK) return RL_FAIL;
    if (forward.attr[0] == PAD_CONSTANT)
        return rl_error_set(RL_RUNTIME, "pad_backward: the gradient of constant padding is padding by the "
                                        "negative numbers");
    if (!rl_dims_same(&expected, k->arg[0].u.t)) return rl_gradient_differs(k, &expected);
    k->attr[0] = forward.attr[0];
    if (rl_out_dims(k, 0, x.shape, x.ndim) != RL_OK) return RL_FAIL;
    if (k->arg[4].u.i && x.ndim >= 4) rl_dims_channels_last(x.shape, x.ndim, k->out[0]->strides);
    return RL_OK;
}
