/* Shape rules of what moves elements. */
#include "shape.h"

/* ---- joins ---- */
/* PyTorch lets a 1-D tensor without elements join anything */
static bool cat_skips(const rl_view *v) {
    return v->ndim == 1 && v->shape[0] == 0;
}

RL_SHAPE(cat) { /* attr[0]: the dimension */
    const rl_value *list = &k->arg[0];
    int64_t dim = k->arg[1].u.i, shape[RL_MAX_DIMS], total = 0;
    const rl_view *first = NULL;
    if (list->n == 0) return rl_error_set(RL_RUNTIME, "expected a non-empty list of Tensors");
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        if (v->ndim == 0)
            return rl_error_set(RL_RUNTIME, "zero-dimensional tensor (at position %d) cannot be concatenated",
                                i);
        if (!first && !cat_skips(v)) first = v;
    }
    if (!first) first = list->u.ts[0];
    if (rl_dim_wrap(&dim, first->ndim) != RL_OK) return RL_FAIL;
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        if (cat_skips(v)) continue;
        if (v->ndim != first->ndim)
            return rl_error_set(RL_RUNTIME, "Tensors must have same number of dimensions: got %d and %d",
                                first->ndim, v->ndim);
        for (int d = 0; d < v->ndim; d++)
            if (d != dim && v->shape[d] != first->shape[d])
                return rl_error_set(
                    RL_RUNTIME,
                    "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size "
                    "%lld for tensor number %d in the list.",
                    (long long)dim, (long long)first->shape[d], (long long)v->shape[d], i);
        if (__builtin_add_overflow(total, v->shape[dim], &total))
            return rl_error_set(RL_RUNTIME, "cat: the result is too large");
    }
    for (int d = 0; d < first->ndim; d++) shape[d] = first->shape[d];
    shape[dim] = total;
    k->attr[0] = dim;
    if (rl_out_dims(k, 0, shape, first->ndim) != RL_OK) return RL_FAIL;
    bool channels_last = true;
    for (int i = 0; channels_last && i < list->n; i++) channels_last = rl_looks_channels_last(list->u.ts[i]);
    if (channels_last) rl_dims_channels_last(shape, first->ndim, k->out[0]->strides);
    return RL_OK;
}

/* ---- moves ---- */
RL_SHAPE(triangle) {
    if (rl_tensor_arg(k, 0)->ndim < 2)
        return rl_error_set(RL_RUNTIME, "%s: input tensor must have at least 2 dimensions", k->name);
    return rl_out_as_input(k, 0);
}

/* n of the elements along a dimension */
static bool part_looks_channels_last(const rl_view *x, int64_t dim, int64_t n) {
    int64_t shape[5];
    if (x->ndim > 5) return false;
    rl_view part = *x;
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[dim] = n;
    part.shape = shape;
    part.numel = x->numel / x->shape[dim] * n;
    return rl_looks_channels_last(&part);
}

/* PyTorch joins the parts of a dimension after each other, as cat() does: channels last if both lie so. */
static void roll_strides(const rl_call *k, const int64_t *shifts, const int64_t *dims, int n) {
    const rl_view *from = k->arg[0].u.t;
    rl_view *out = k->out[0];
    for (int i = 0; i < n; i++, from = out) {
        const int64_t dim = dims[i] < 0 ? dims[i] + out->ndim : dims[i], size = out->shape[dim];
        const int64_t rest = shifts[i] % size, moved = rest < 0 ? rest + size : rest;
        if (part_looks_channels_last(from, dim, moved) && part_looks_channels_last(from, dim, size - moved))
            rl_dims_channels_last(out->shape, out->ndim, out->strides);
        else
            rl_dims_contiguous(out->shape, out->ndim, out->strides);
    }
}

RL_SHAPE(roll) {
    const rl_view *x = k->arg[0].u.t;
    rl_ints places = rl_ints_of(k, 2);
    int shifts = rl_ints_of(k, 1).n, dims = places.n;
    if (shifts == 0) return rl_error_set(RL_RUNTIME, "`shifts` required");
    if (shifts != dims && !(dims == 0 && shifts == 1))
        return rl_error_set(RL_RUNTIME, "shifts and dimensions must align. shifts: %d, dims:%d", shifts,
                            dims);
    for (int i = 0; i < shifts; i++)
        if (rl_ints_of(k, 1).at[i] == INT64_MIN)
            return rl_error_set(RL_RUNTIME, "roll: a shift by -2^63 has no way back");
    for (int i = 0; i < dims; i++) {
        int64_t dim = places.at[i];
        if (x->ndim == 0)
            return rl_error_set(RL_INDEX, "Dimension specified as %lld but tensor has no dimensions",
                                (long long)dim);
        if (x->numel && rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    }
    if (rl_out_as_input(k, 0) != RL_OK) return RL_FAIL;
    if (x->numel) roll_strides(k, rl_ints_of(k, 1).at, places.at, dims);
    return RL_OK;
}

RL_SHAPE(flip) { /* attr[0]: mask of the dimensions */
    const rl_view *x = k->arg[0].u.t;
    rl_ints dims = rl_ints_of(k, 1);
    uint64_t mask = 0;
    for (int i = 0; i < dims.n; i++) {
        int64_t dim = dims.at[i];
        if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
        if (mask >> dim & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)dim);
        mask |= 1ull << dim;
    }
    k->attr[0] = (int64_t)mask;
    return rl_out_like_input(k, 0);
}

/* sizes times repeats; the lesser of both lists is filled with ones from the left */
static rl_status repeated(rl_call *k, const int64_t *repeats, int n) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS];
    int all = n > x->ndim ? n : x->ndim;
    for (int d = 0; d < all; d++) {
        int at = d - (all - x->ndim), by = d - (all - n);
        int64_t size = at < 0 ? 1 : x->shape[at], times = by < 0 ? 1 : repeats[by];
        if (__builtin_mul_overflow(size, times, &shape[d]))
            return rl_error_set(RL_RUNTIME, "%s: the result is too large", k->name);
    }
    return rl_out_dims(k, 0, shape, all);
}

RL_SHAPE(repeat) {
    rl_ints times = rl_ints_of(k, 1);
    if (times.n < rl_tensor_arg(k, 0)->ndim)
        return rl_error_set(RL_RUNTIME, "Number of dimensions of repeat dims can not be smaller than number "
                                        "of dimensions of tensor");
    return repeated(k, times.at, times.n);
}

RL_SHAPE(tile) {
    rl_ints times = rl_ints_of(k, 1);
    return repeated(k, times.at, times.n);
}

RL_SHAPE(diag) {
    const rl_view *x = k->arg[0].u.t;
    int64_t offset = k->arg[1].u.i, shape[2];
    if (x->ndim != 1 && x->ndim != 2)
        return rl_error_set(RL_RUNTIME, "diag(): Supports 1D or 2D tensors. Got %dD", x->ndim);
    if (x->ndim == 2) {
        shape[0] = rl_diagonal_length(x->shape[0], x->shape[1], offset);
        return rl_out_dims(k, 0, shape, 1);
    }
    if (offset == INT64_MIN || __builtin_add_overflow(offset < 0 ? -offset : offset, x->shape[0], &shape[0]))
        return rl_error_set(RL_RUNTIME, "diag(): the result is too large");
    shape[1] = shape[0];
    return rl_out_dims(k, 0, shape, 2);
}

/* ---- pixels ---- */
static rl_status pixels_begin(rl_call *k, const char *factor) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim < 3)
        return rl_error_set(RL_RUNTIME,
                            "%s expects input to have at least 3 dimensions, but got input with %d "
                            "dimension(s)",
                            k->name, x->ndim);
    if (k->arg[1].u.i <= 0)
        return rl_error_set(RL_RUNTIME, "%s expects a positive %s, but got %lld", k->name, factor,
                            (long long)k->arg[1].u.i);
    if (x->ndim + 2 > RL_MAX_DIMS)
        return rl_error_set(RL_RUNTIME, "%s takes at most %d dimensions", k->name, RL_MAX_DIMS - 2);
    return RL_OK;
}

RL_SHAPE(pixel_shuffle) {
    const rl_view *x = k->arg[0].u.t;
    int64_t r = k->arg[1].u.i, shape[RL_MAX_DIMS], square;
    int n = x->ndim;
    if (pixels_begin(k, "upscale_factor") != RL_OK) return RL_FAIL;
    if (__builtin_mul_overflow(r, r, &square))
        return rl_error_set(RL_VALUE,
                            "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=%lld",
                            (long long)r);
    if (x->shape[n - 3] % square)
        return rl_error_set(RL_RUNTIME,
                            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                            "square of upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                            (long long)x->shape[n - 3], (long long)square);
    for (int d = 0; d < n; d++) shape[d] = x->shape[d];
    shape[n - 3] /= square;
    if (__builtin_mul_overflow(shape[n - 2], r, &shape[n - 2]) ||
        __builtin_mul_overflow(shape[n - 1], r, &shape[n - 1]))
        return rl_error_set(RL_RUNTIME, "pixel_shuffle: the result is too large");
    return rl_out_dims(k, 0, shape, n);
}

RL_SHAPE(pixel_unshuffle) {
    const rl_view *x = k->arg[0].u.t;
    int64_t r = k->arg[1].u.i, shape[RL_MAX_DIMS];
    int n = x->ndim;
    if (pixels_begin(k, "downscale_factor") != RL_OK) return RL_FAIL;
    for (int d = n - 2; d < n; d++)
        if (x->shape[d] % r)
            return rl_error_set(RL_RUNTIME,
                                "pixel_unshuffle expects %s to be divisible by downscale_factor, but "
                                "input.size(%d)=%lld is not divisible by %lld",
                                d == n - 2 ? "height" : "width", d - n, (long long)x->shape[d], (long long)r);
    if (x->numel == 0) return rl_out_as_input(k, 0); /* as PyTorch answers */
    for (int d = 0; d < n; d++) shape[d] = x->shape[d];
    if (__builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]) ||
        __builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]))
        return rl_error_set(RL_RUNTIME, "pixel_unshuffle: the result is too large");
    shape[n - 2] /= r;
    shape[n - 1] /= r;
    return rl_out_dims(k, 0, shape, n);
}

RL_SHAPE(channel_shuffle) {
    const rl_view *x = k->arg[0].u.t;
    long long groups = (long long)k->arg[1].u.i;
    char text[RL_DIMS_TEXT];
    if (x->ndim <= 2)
        return rl_error_set(RL_RUNTIME,
                            "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                            rl_dims_text(text, x->shape, x->ndim));
    if (groups <= 0)
        return rl_error_set(RL_RUNTIME,
                            "Number of groups to divide channels in must be positive. Value of groups:%lld",
                            groups);
    if (x->shape[1] % groups)
        return rl_error_set(
            RL_RUNTIME, "Number of channels must be divisible by groups. Got %lld channels and %lld groups.",
            (long long)x->shape[1], groups);
    return rl_out_as_input(k, 0);
}

/* ---- padding and its gradient ---- */
/* a part of x lies as x does; what is added to, and what repeats elements, in one of two orders */
static void pad_strides(rl_view *out, const rl_view *x, const rl_value *pad, bool repeats) {
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
    const rl_value *pad = &k->arg[1];
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
    forward.arg[0] = (rl_value){.tag = RL_TENSOR, .u.t = &x};
    forward.arg[3] = (rl_value){.tag = RL_NONE};
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
