/* Shape rules of padding and its gradient. */
#include "contract/window.h"
#include "shape.h"

/* a part of x lies as x does; what is added to lies in one of two orders */
static void pad_strides(rl_view *out, const rl_view *x, const rl_slot *pad) {
    bool grows = false;
    for (int i = 0; i < pad->n; i++) grows |= pad->u.ints[i] > 0;
    if (rl_looks_channels_last(x)) rl_dims_channels_last(out->shape, out->ndim, out->strides);
    if (grows) return;
    rl_view part = *x;
    part.shape = out->shape;
    rl_strides_as(out, &part);
}

RL_SHAPE(pad) { /* attr[0]: 0 constant, 1 reflect, 2 replicate, 3 circular */
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *pad = &k->arg[1];
    int64_t shape[RL_MAX_DIMS];
    char text[RL_DIMS_TEXT];
    int mode = 0, n = pad->n;
    if (pad->tag != RL_INTS)
        return rl_error_set(RL_TYPE, "pad(): argument 'pad' (position 2) must be tuple of ints, not int");
    while (mode < 4 && strcmp(modes[mode], k->arg[2].u.s) != 0) mode++;
    if (mode == 4) return rl_error_set(RL_NOTIMPL, "Unrecognised padding mode %s", k->arg[2].u.s);
    if (n % 2) return rl_error_set(RL_RUNTIME, "Padding length must be divisible by 2");
    if (n / 2 > x->ndim)
        return rl_error_set(RL_RUNTIME,
                            "Padding length should be less than or equal to two times the input dimension "
                            "but got padding length %d and input of dimension %d",
                            n, x->ndim);
    if (mode && !(n / 2 >= 1 && n / 2 <= 3 && (x->ndim == n / 2 + 1 || x->ndim == n / 2 + 2)))
        return rl_error_set(RL_NOTIMPL,
                            "Padding size %d is not supported for %dD input tensor.\n"
                            "Supported combinations for non-constant padding:\n"
                            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                            n, x->ndim);
    if (mode && k->arg[3].tag != RL_NONE)
        return rl_error_set(RL_RUNTIME, "Padding mode \"%s\" doesn't take in value argument", modes[mode]);
    k->attr[0] = mode;
    for (int d = x->ndim - 1; d >= 0; d--) {
        int at = 2 * (x->ndim - 1 - d);
        int64_t left = at < n ? pad->u.ints[at] : 0, right = at < n ? pad->u.ints[at + 1] : 0,
                size = x->shape[d];
        if (__builtin_add_overflow(size, left, &shape[d]) ||
            __builtin_add_overflow(shape[d], right, &shape[d]))
            return rl_error_set(RL_RUNTIME, "padding is too large");
        if (mode == 1 && at < n && (left >= size || right >= size))
            return rl_error_set(RL_RUNTIME,
                                "Argument #4: Padding size should be less than the corresponding input "
                                "dimension, but got: padding (%lld, %lld) at dimension %d of input %s",
                                (long long)left, (long long)right, d, rl_dims_text(text, x->shape, x->ndim));
        if (mode == 3 && at < n && (left > size || right > size))
            return rl_error_set(RL_RUNTIME, "Padding value causes wrapping around more than once.");
        const bool batch = d == 0 && x->ndim == n / 2 + 2;
        if (mode && size == 0 && (at < n || (mode != 3 && !batch))) /* nothing is there to repeat */
            return rl_error_set(
                RL_RUNTIME,
                "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                "non-zero dimensions for input, but got: %s",
                n / 2 + 1, n / 2 + 2, rl_dims_text(text, x->shape, x->ndim));
        if (mode && (left < 0 || right < 0))
            return rl_error_set(RL_RUNTIME, "negative padding is only supported in constant mode");
        if (shape[d] < 0 || (mode && at < n && shape[d] < 1))
            return rl_error_set(
                RL_RUNTIME,
                "The input size %lld, plus negative padding %lld and %lld, resulted in a negative output "
                "size, which is invalid. Check dimension %d of your input.",
                (long long)size, (long long)left, (long long)right, d);
    }
    if (rl_out_dims(k, 0, shape, x->ndim) != RL_OK) return RL_FAIL;
    if (x->strides && mode != 3) pad_strides(k->out[0], x, pad);
    return RL_OK;
}

RL_SHAPE(pad_backward) { /* args 1 to 3: input size, pad, mode; attr[0]: the mode */
    rl_view x, expected;
    rl_call forward = rl_call_forward(k, "pad", &expected);
    if (rl_sizes_read(k, 1, &x) != RL_OK) return RL_FAIL;
    forward.arg[0] = (rl_slot){.tag = RL_TENSOR, .u.t = &x};
    forward.arg[3] = (rl_slot){.tag = RL_NONE};
    if (shape_pad(&forward) != RL_OK) return RL_FAIL;
    if (forward.attr[0] == 0)
        return rl_error_set(RL_RUNTIME, "pad_backward: the gradient of constant padding is padding by the "
                                        "negative numbers");
    if (!rl_dims_same(&expected, k->arg[0].u.t)) return rl_gradient_differs(k, &expected);
    k->attr[0] = forward.attr[0];
    rl_window_made(k)->spatial = k->arg[2].n / 2;
    return rl_out_dims(k, 0, x.shape, x.ndim);
}
