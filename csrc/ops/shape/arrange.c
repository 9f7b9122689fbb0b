/* Shape rules of what moves elements. */
#include "shape.h"

/* ---- joins ---- */
/* PyTorch lets a 1-D tensor without elements join anything */
static bool cat_skips(const rl_view *v) {
    return v->ndim == 1 && v->shape[0] == 0;
}

RL_SHAPE(cat) { /* attr[0]: the dimension */
    const rl_slot *list = &k->arg[0];
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
