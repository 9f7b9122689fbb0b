/* Shape rules of lookups, order, running sums and of what moves elements. */
#include "shape.h"

static rl_status as_input(rl_call *k, int out) {
    return rl_out_dims(k, out, k->arg[0].u.t->shape, k->arg[0].u.t->ndim);
}

/* ---- lookups ---- */
RL_SHAPE(embedding) {
    const rl_view *weight = k->arg[0].u.t, *index = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS];
    if (weight->ndim != 2) return rl_error_set(RL_RUNTIME, "'weight' must be 2-D");
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #1 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding)",
                            rl_dtype_title(index->dtype));
    if (index->ndim == RL_MAX_DIMS)
        return rl_error_set(RL_RUNTIME, "embedding: indices with %d dimensions", RL_MAX_DIMS);
    for (int d = 0; d < index->ndim; d++) shape[d] = index->shape[d];
    shape[index->ndim] = weight->shape[1];
    return rl_out_dims(k, 0, shape, index->ndim + 1);
}

RL_SHAPE(gather) { /* attr[0]: the dimension */
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t;
    int64_t dim = k->arg[1].u.i;
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "gather(): Expected dtype int32/int64 for index");
    int x_dims = x->ndim ? x->ndim : 1, index_dims = index->ndim ? index->ndim : 1;
    if (index->numel && x_dims != index_dims)
        return rl_error_set(RL_RUNTIME,
                            "Index tensor must have the same number of dimensions as input tensor");
    for (int d = 0; index->numel && d < x->ndim && d < index->ndim; d++)
        if (d != dim && index->shape[d] > x->shape[d])
            return rl_error_set(RL_RUNTIME,
                                "Size does not match at dimension %d expected index %s to be no larger than "
                                "self %s apart from dimension %lld",
                                d, rl_dims_text(have, index->shape, index->ndim),
                                rl_dims_text(want, x->shape, x->ndim), (long long)dim);
    k->attr[0] = dim;
    return rl_out_dims(k, 0, index->shape, index->ndim);
}

RL_SHAPE(triangle) {
    if (k->arg[0].u.t->ndim < 2)
        return rl_error_set(RL_RUNTIME, "%s: input tensor must have at least 2 dimensions", k->name);
    return as_input(k, 0);
}

/* ---- along one dimension, which is left in attr[0] ---- */
static rl_status one_dim(rl_call *k, int arg) {
    k->attr[0] = k->arg[arg].u.i;
    return rl_dim_wrap(&k->attr[0], k->arg[0].u.t->ndim);
}

RL_SHAPE(scan) {
    if (k->arg[0].u.t->dtype == RL_BOOL) /* only when dtype= asks for it */
        return rl_error_set(RL_NOTIMPL, "\"%s_out_cpu\" not implemented for 'Bool'", k->name);
    if (one_dim(k, 1) != RL_OK) return RL_FAIL;
    return as_input(k, 0);
}

static rl_status sorted(rl_call *k, int dim_arg) { /* attr[1]: descending */
    if (one_dim(k, dim_arg) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[dim_arg + 1].u.i;
    if (k->n_out == 1) return as_input(k, 0);
    k->out[1]->dtype = RL_I64;
    return as_input(k, 0) == RL_OK ? as_input(k, 1) : RL_FAIL;
}

RL_SHAPE(sort) {
    return sorted(k, 1);
}
RL_SHAPE(sort_stable) {
    return sorted(k, 2);
}

RL_SHAPE(topk) { /* attr[1]: largest */
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS], n = k->arg[1].u.i;
    if (x->dtype == RL_BOOL) return rl_error_set(RL_RUNTIME, "topk does not support bool dtypes on CPU");
    if (one_dim(k, 2) != RL_OK) return RL_FAIL;
    if (n < 0 || n > (x->ndim ? x->shape[k->attr[0]] : 1))
        return rl_error_set(RL_RUNTIME, "selected index k out of range");
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    if (x->ndim) shape[k->attr[0]] = n;
    k->attr[1] = k->arg[3].u.i;
    k->out[1]->dtype = RL_I64;
    if (rl_out_dims(k, 0, shape, x->ndim) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 1, shape, x->ndim);
}

/* ---- moves ---- */
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
    return as_input(k, 0);
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
    return as_input(k, 0);
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
    if (times.n < k->arg[0].u.t->ndim)
        return rl_error_set(RL_RUNTIME, "Number of dimensions of repeat dims can not be smaller than number "
                                        "of dimensions of tensor");
    return repeated(k, times.at, times.n);
}

RL_SHAPE(tile) {
    rl_ints times = rl_ints_of(k, 1);
    return repeated(k, times.at, times.n);
}

/* ---- diagonals ---- */
static int64_t diagonal_length(int64_t rows, int64_t cols, int64_t offset) {
    /* offsets beyond the matrix have nothing; this order cannot overflow */
    int64_t n = offset >= 0 ? (offset < cols ? cols - offset : 0) : (offset > -rows ? rows + offset : 0);
    int64_t other = offset >= 0 ? rows : cols;
    return n < other ? n : other;
}

RL_SHAPE(diagonal) {
    const rl_view *x = k->arg[0].u.t;
    rl_view *v = k->out[0];
    int64_t offset = k->arg[1].u.i, one = k->arg[2].u.i, two = k->arg[3].u.i;
    if (rl_dim_wrap(&one, x->ndim) != RL_OK || rl_dim_wrap(&two, x->ndim) != RL_OK) return RL_FAIL;
    if (one == two)
        return rl_error_set(RL_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld",
                            (long long)k->arg[2].u.i, (long long)k->arg[3].u.i);
    if (rl_view_dims(v, x->ndim - 1) != RL_OK) return RL_FAIL;
    int n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d == one || d == two) continue;
        v->shape[n] = x->shape[d];
        v->strides[n++] = x->strides[d];
    }
    v->shape[n] = diagonal_length(x->shape[one], x->shape[two], offset);
    if (__builtin_add_overflow(x->strides[one], x->strides[two], &v->strides[n]))
        return rl_error_set(RL_RUNTIME, "Stride calculation overflowed");
    v->offset = x->offset;
    if (v->shape[n] &&
        rl_view_move(v, offset >= 0 ? offset : -offset, x->strides[offset >= 0 ? two : one]) != RL_OK)
        return RL_FAIL;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    if (v->numel < 0) return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    return RL_OK;
}

RL_SHAPE(diag) {
    const rl_view *x = k->arg[0].u.t;
    int64_t offset = k->arg[1].u.i, shape[2];
    if (x->ndim != 1 && x->ndim != 2)
        return rl_error_set(RL_RUNTIME, "diag(): Supports 1D or 2D tensors. Got %dD", x->ndim);
    if (x->ndim == 2) {
        shape[0] = diagonal_length(x->shape[0], x->shape[1], offset);
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
    if (x->numel == 0) return as_input(k, 0); /* as PyTorch answers */
    for (int d = 0; d < n; d++) shape[d] = x->shape[d];
    if (__builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]) ||
        __builtin_mul_overflow(shape[n - 3], r, &shape[n - 3]))
        return rl_error_set(RL_RUNTIME, "pixel_unshuffle: the result is too large");
    shape[n - 2] /= r;
    shape[n - 1] /= r;
    return rl_out_dims(k, 0, shape, n);
}
