/* Rules of views: they write dims, strides and offset of out[0], which shares argument 0's storage. */
#include "shape.h"
#include <stdio.h>

/* out[0] starts as a copy of the input's view with room for ndim dims */
static rl_status view_begin(rl_call *k, int ndim) {
    rl_view *v = k->out[0];
    if (rl_view_dims(v, ndim) != RL_OK) return RL_FAIL;
    v->offset = rl_tensor_arg(k, 0)->offset;
    return RL_OK;
}

static rl_status view_end(rl_call *k) {
    rl_view *v = k->out[0];
    v->numel = rl_dims_numel(v->shape, v->ndim);
    if (v->numel < 0) return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    return RL_OK;
}

/* the offset moves by `count` strides; without elements a stride may be anything */
static rl_status view_move(rl_view *v, int64_t count, int64_t stride) {
    int64_t by;
    if (__builtin_mul_overflow(count, stride, &by) || __builtin_add_overflow(v->offset, by, &v->offset))
        return rl_error_set(RL_RUNTIME, "storage offset calculation overflowed");
    return RL_OK;
}

static void view_same(rl_view *v, int to, const rl_view *x, int from) {
    v->shape[to] = x->shape[from];
    v->strides[to] = x->strides[from];
}

/* Strides under which x reads as `shape`, or RL_UNSUPPORTED: runs of x's dims that are contiguous among
 * themselves can be cut anew, others not. */
rl_status rl_view_restride(const rl_view *x, const int64_t *shape, int ndim, int64_t *strides) {
    int view_d = ndim - 1;
    if (x->numel == 0) {
        if (ndim == x->ndim && (!ndim || memcmp(shape, x->shape, (size_t)ndim * sizeof *shape) == 0))
            memcpy(strides, x->strides, (size_t)ndim * sizeof *strides);
        else if (!rl_dims_contiguous(shape, ndim, strides))
            return rl_error_set(RL_RUNTIME, "Stride calculation overflowed");
        return RL_OK;
    }
    if (x->ndim == 0) {
        for (int i = 0; i < ndim; i++) strides[i] = 1;
        return RL_OK;
    }
    int64_t base = x->strides[x->ndim - 1], run = 1, taken = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        run *= x->shape[d];
        bool ends = d == 0 || (x->shape[d - 1] != 1 && x->strides[d - 1] != run * base);
        if (!ends) continue;
        while (view_d >= 0 && (taken < run || shape[view_d] == 1)) {
            strides[view_d] = taken * base;
            taken *= shape[view_d--];
        }
        if (taken != run) return RL_UNSUPPORTED;
        if (d > 0) {
            base = x->strides[d - 1];
            run = taken = 1;
        }
    }
    return view_d < 0 ? RL_OK : RL_UNSUPPORTED;
}

rl_status rl_view_size(const rl_view *x, const rl_value *s, int64_t *shape) {
    int unknown = -1;
    bool huge = false, none = false;
    int64_t known = 1;
    char text[RL_DIMS_TEXT];
    const int64_t *dims = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    int n = s->tag == RL_INTS ? s->n : 1;
    for (int i = 0; i < n; i++) {
        shape[i] = dims[i];
        if (dims[i] == -1) {
            if (unknown >= 0) return rl_error_set(RL_RUNTIME, "only one dimension can be inferred");
            unknown = i;
        } else if (dims[i] < 0) {
            return rl_error_set(RL_RUNTIME, "invalid shape dimension %lld at index %d of shape %s",
                                (long long)dims[i], i, rl_dims_text(text, dims, n));
        } else {
            none |= dims[i] == 0;
            huge |= __builtin_mul_overflow(known, dims[i], &known);
        }
    }
    if (none) known = 0;
    if (huge && !none)
        return rl_error_set(RL_RUNTIME, "shape '%s' is invalid for input of size %lld",
                            rl_dims_text(text, dims, n), (long long)x->numel);
    if (unknown >= 0 && known == 0)
        return rl_error_set(
            RL_RUNTIME,
            "cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size "
            "-1 can be any value and is ambiguous",
            rl_dims_text(text, dims, n));
    if (unknown >= 0 ? x->numel % known : x->numel != known)
        return rl_error_set(RL_RUNTIME, "shape '%s' is invalid for input of size %lld",
                            rl_dims_text(text, dims, n), (long long)x->numel);
    if (unknown >= 0) shape[unknown] = x->numel / known;
    return RL_OK;
}

RL_SHAPE(alias) {
    const rl_view *x = k->arg[0].u.t;
    if (view_begin(k, x->ndim) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) view_same(k->out[0], d, x, d);
    return view_end(k);
}

RL_SHAPE(view) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *s = &k->arg[1];
    int n = s->tag == RL_INTS ? s->n : 1;
    if (view_begin(k, n) != RL_OK || rl_view_size(x, s, k->out[0]->shape) != RL_OK) return RL_FAIL;
    k->out[0]->numel = x->numel;
    if (x->numel == 0 && view_end(k) != RL_OK) return RL_FAIL;
    rl_status laid = rl_view_restride(x, k->out[0]->shape, n, k->out[0]->strides);
    if (laid == RL_FAIL) return RL_FAIL;
    if (laid != RL_OK)
        return rl_error_set(
            RL_RUNTIME,
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead.");
    return RL_OK;
}

RL_SHAPE(permute) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *s = &k->arg[1];
    uint64_t seen = 0;
    int n = s->tag == RL_INTS ? s->n : 1;
    if (n != x->ndim)
        return rl_error_set(
            RL_RUNTIME,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
            "the desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = %d",
            x->ndim, n);
    if (view_begin(k, n) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++) {
        int64_t d = rl_ints_of(k, 1).at[i];
        if (rl_dim_wrap(&d, n) != RL_OK) return RL_FAIL;
        if (seen >> d & 1) return rl_error_set(RL_RUNTIME, "permute(): duplicate dims are not allowed.");
        seen |= 1ull << d;
        view_same(k->out[0], i, x, (int)d);
    }
    return view_end(k);
}

RL_SHAPE(transpose) {
    const rl_view *x = k->arg[0].u.t;
    int64_t a = k->arg[1].u.i, b = k->arg[2].u.i;
    if (rl_dim_wrap(&a, x->ndim) != RL_OK || rl_dim_wrap(&b, x->ndim) != RL_OK) return RL_FAIL;
    if (view_begin(k, x->ndim) != RL_OK) return RL_FAIL;
    for (int i = 0; i < x->ndim; i++) view_same(k->out[0], i, x, i == a ? (int)b : i == b ? (int)a : i);
    return view_end(k);
}

RL_SHAPE(t) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim > 2)
        return rl_error_set(RL_RUNTIME, "t() expects a tensor with <= 2 dimensions, but self is %dD",
                            x->ndim);
    if (view_begin(k, x->ndim) != RL_OK) return RL_FAIL;
    for (int i = 0; i < x->ndim; i++) view_same(k->out[0], i, x, x->ndim - 1 - i);
    return view_end(k);
}

static rl_status squeeze_mask(rl_call *k, uint64_t mask) {
    const rl_view *x = k->arg[0].u.t;
    int n = 0;
    if (view_begin(k, x->ndim) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++)
        if (!(mask >> d & 1) || x->shape[d] != 1) view_same(k->out[0], n++, x, d);
    k->out[0]->ndim = (uint8_t)n;
    return view_end(k);
}

RL_SHAPE(squeeze) {
    return squeeze_mask(k, ~0ull);
}

RL_SHAPE(squeeze_dim) {
    const rl_value *s = &k->arg[1];
    uint64_t mask = 0;
    int n = s->tag == RL_INTS ? s->n : 1;
    for (int i = 0; i < n; i++) {
        int64_t d = s->tag == RL_INTS ? s->u.ints[i] : s->u.i;
        if (rl_dim_wrap(&d, rl_tensor_arg(k, 0)->ndim) != RL_OK) return RL_FAIL;
        if (mask >> d & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)d);
        mask |= 1ull << d;
    }
    return squeeze_mask(k, mask);
}

RL_SHAPE(unsqueeze) {
    const rl_view *x = k->arg[0].u.t;
    int64_t at = k->arg[1].u.i;
    if (rl_dim_wrap(&at, x->ndim + 1) != RL_OK || view_begin(k, x->ndim + 1) != RL_OK) return RL_FAIL;
    rl_view *v = k->out[0];
    for (int d = 0; d < x->ndim; d++) view_same(v, d < at ? d : d + 1, x, d);
    v->shape[at] = 1;
    v->strides[at] = at < x->ndim ? rl_stride_scaled(x->strides[at], x->shape[at]) : 1;
    return view_end(k);
}

RL_SHAPE(expand) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *s = &k->arg[1];
    int n = s->tag == RL_INTS ? s->n : 1;
    char want[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    const int64_t *wanted = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    if (n < x->ndim)
        return rl_error_set(
            RL_RUNTIME,
            "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or equal "
            "to the number of dimensions in the tensor (%d)",
            rl_dtype_title(x->dtype), rl_dims_text(have, x->shape, x->ndim), rl_dims_text(want, wanted, n), n,
            x->ndim);
    if (view_begin(k, n) != RL_OK) return RL_FAIL;
    rl_view *v = k->out[0];
    for (int i = 0; i < n; i++) {
        int from = i - (n - x->ndim);
        int64_t size = s->tag == RL_INTS ? s->u.ints[i] : s->u.i;
        if (size == -1 && from < 0)
            return rl_error_set(
                RL_RUNTIME,
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension %d",
                i);
        if (size == -1) size = x->shape[from];
        if (size < 0)
            return rl_error_set(RL_RUNTIME, "expand: the requested size %lld is invalid", (long long)size);
        v->shape[i] = size;
        v->strides[i] = from < 0 || (x->shape[from] == 1 && size != 1) ? 0 : x->strides[from];
        if (from >= 0 && x->shape[from] != size && x->shape[from] != 1)
            return rl_error_set(
                RL_RUNTIME,
                "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                (long long)size, (long long)x->shape[from], i, rl_dims_text(want, wanted, n),
                rl_dims_text(have, x->shape, x->ndim));
    }
    return view_end(k);
}

RL_SHAPE(select) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i, index = k->arg[2].u.i;
    char text[RL_DIMS_TEXT];
    if (x->ndim == 0) return rl_error_set(RL_INDEX, "select() cannot be applied to a 0-dim tensor.");
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    int64_t size = x->shape[dim];
    if (index < -size || index >= size)
        return rl_error_set(RL_INDEX,
                            "select(): index %lld out of range for tensor of size %s at dimension %lld",
                            (long long)index, rl_dims_text(text, x->shape, x->ndim), (long long)dim);
    if (index < 0) index += size;
    if (view_begin(k, x->ndim - 1) != RL_OK) return RL_FAIL;
    for (int d = 0, n = 0; d < x->ndim; d++)
        if (d != dim) view_same(k->out[0], n++, x, d);
    if (view_move(k->out[0], index, x->strides[dim]) != RL_OK) return RL_FAIL;
    return view_end(k);
}

static rl_status view_range(rl_call *k, int64_t dim, int64_t start, int64_t length, int64_t step) {
    const rl_view *x = k->arg[0].u.t;
    if (view_begin(k, x->ndim) != RL_OK) return RL_FAIL;
    rl_view *v = k->out[0];
    for (int d = 0; d < x->ndim; d++) view_same(v, d, x, d);
    if (view_move(v, start, x->strides[dim]) != RL_OK) return RL_FAIL;
    v->shape[dim] = length;
    v->strides[dim] = rl_stride_scaled(x->strides[dim], step);
    return view_end(k);
}

RL_SHAPE(narrow) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i, start = k->arg[2].u.i, length = k->arg[3].u.i;
    if (x->ndim == 0) return rl_error_set(RL_RUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    int64_t size = x->shape[dim];
    if (length < 0) return rl_error_set(RL_RUNTIME, "narrow(): length must be non-negative.");
    if (start < -size || start > size)
        return rl_error_set(RL_INDEX,
                            "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                            (long long)-size, (long long)size, (long long)start);
    if (start < 0) start += size;
    if (length > size - start)
        return rl_error_set(RL_RUNTIME, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
                            (long long)start, (long long)length, (long long)size);
    return view_range(k, dim, start, length, 1);
}

static int64_t clip(int64_t i, int64_t size) {
    if (i < 0) i += size;
    return i < 0 ? 0 : i > size ? size : i;
}

RL_SHAPE(slice) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i, step = k->arg[4].u.i;
    if (x->ndim == 0) return rl_error_set(RL_INDEX, "slice() cannot be applied to a 0-dim tensor.");
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (step <= 0) return rl_error_set(RL_VALUE, "step must be greater than zero");
    int64_t size = x->shape[dim], start = k->arg[2].tag == RL_NONE ? 0 : clip(k->arg[2].u.i, size);
    int64_t end = k->arg[3].tag == RL_NONE ? size : clip(k->arg[3].u.i, size);
    int64_t span = end > start ? end - start : 0;
    return view_range(k, dim, start, span ? (span - 1) / step + 1 : 0, step);
}

/* As PyTorch, a view without elements may begin anywhere, as long as its place can be said in bytes. */
static rl_status strided_bounds(const int64_t *shape, const int64_t *strides, int ndim, int64_t offset,
                                int dtype, size_t nbytes) {
    bool empty = false;
    for (int i = 0; i < ndim; i++) empty |= shape[i] == 0;
    if (empty && offset > 0 && offset <= INT64_MAX / 16) offset = 0;
    return rl_view_check_bounds(shape, strides, ndim, offset, dtype, nbytes);
}

RL_SHAPE(as_strided) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *size = &k->arg[1], *stride = &k->arg[2];
    for (int i = 1; i < 3; i++)
        if (k->arg[i].tag != RL_INTS)
            return rl_error_set(RL_TYPE,
                                "as_strided(): argument '%s' (position %d) must be tuple of ints, not int",
                                i == 1 ? "size" : "stride", i + 1);
    int n = size->n;
    if (n != stride->n) return rl_error_set(RL_RUNTIME, "mismatch in length of strides and shape");
    if (view_begin(k, n) != RL_OK) return RL_FAIL;
    rl_view *v = k->out[0];
    for (int i = 0; i < n; i++) {
        v->shape[i] = size->u.ints[i];
        v->strides[i] = stride->u.ints[i];
    }
    if (k->arg[3].tag != RL_NONE) v->offset = k->arg[3].u.i;
    if (strided_bounds(v->shape, v->strides, n, v->offset, x->dtype, x->storage->nbytes) != RL_OK)
        return RL_FAIL;
    return view_end(k);
}

RL_SHAPE(as_strided_back) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *whole = &k->arg[1], *size = &k->arg[2], *stride = &k->arg[3];
    if (whole->tag != RL_INTS || size->tag != RL_INTS || stride->tag != RL_INTS || size->n != stride->n ||
        size->n != x->ndim || (x->ndim && memcmp(size->u.ints, x->shape, x->ndim * sizeof *x->shape) != 0))
        return rl_error_set(RL_RUNTIME, "_as_strided_backward: input must have the shape size");
    if (rl_out_dims(k, 0, whole->u.ints, whole->n) != RL_OK) return RL_FAIL;
    size_t bytes = (size_t)k->out[0]->numel * (size_t)rl_itemsize(x->dtype);
    return strided_bounds(size->u.ints, stride->u.ints, size->n, k->arg[4].u.i, x->dtype, bytes);
}

/* ---- diagonals ---- */
int64_t rl_diagonal_length(int64_t rows, int64_t cols, int64_t offset) {
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
    v->shape[n] = rl_diagonal_length(x->shape[one], x->shape[two], offset);
    if (__builtin_add_overflow(x->strides[one], x->strides[two], &v->strides[n]))
        return rl_error_set(RL_RUNTIME, "Stride calculation overflowed");
    v->offset = x->offset;
    if (v->shape[n] &&
        view_move(v, offset >= 0 ? offset : -offset, x->strides[offset >= 0 ? two : one]) != RL_OK)
        return RL_FAIL;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    if (v->numel < 0) return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    return RL_OK;
}

/* ---- view(dtype) ----
 * the same bytes, counted in other elements. */
/* what view(dtype) asks of sizes, strides and the offset where elements get another size */
static rl_status bytes_refused(const rl_view *x, int dtype, const char *what, int64_t ratio, int64_t got) {
    return rl_error_set(
        RL_RUNTIME,
        "self.%s must be divisible by %lld to view %s as %s (different element sizes), but got %lld", what,
        (long long)ratio, rl_dtype_title(x->dtype), rl_dtype_title(dtype), (long long)got);
}

/* ratio 0: elements become smaller */
static rl_status bytes_check(const rl_view *x, int dtype, int64_t ratio) {
    const char *from = rl_dtype_title(x->dtype), *to = rl_dtype_title(dtype);
    int last = x->ndim - 1;
    char text[32];
    if (last < 0)
        return rl_error_set(RL_RUNTIME, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                            from, to);
    if (ratio && x->shape[last] % ratio) return bytes_refused(x, dtype, "size(-1)", ratio, x->shape[last]);
    if (ratio && x->offset % ratio) return bytes_refused(x, dtype, "storage_offset()", ratio, x->offset);
    if (x->strides[last] != 1)
        return rl_error_set(
            RL_RUNTIME, "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
            from, to, (long long)x->strides[last]);
    for (int i = 0; ratio && i < last; i++)
        if (x->strides[i] % ratio) {
            snprintf(text, sizeof text, "stride(%d)", i);
            return bytes_refused(x, dtype, text, ratio, x->strides[i]);
        }
    return RL_OK;
}

RL_SHAPE(view_dtype) {
    const rl_view *x = k->arg[0].u.t;
    rl_view *v = k->out[0];
    int dtype = (int)k->arg[1].u.i, last = x->ndim - 1;
    int64_t had = rl_itemsize(x->dtype), wanted = rl_itemsize(dtype), grow = had / wanted,
            shrink = wanted / had;
    if (had != wanted && bytes_check(x, dtype, shrink) != RL_OK) return RL_FAIL;
    if (rl_view_dims(v, x->ndim) != RL_OK) return RL_FAIL;
    v->offset = x->offset;
    v->dtype = (uint8_t)dtype;
    for (int i = 0; i <= last; i++) {
        v->shape[i] = x->shape[i];
        v->strides[i] = x->strides[i];
        if (i < last || had == wanted)
            v->strides[i] = grow ? rl_stride_scaled(x->strides[i], grow) : x->strides[i] / shrink;
    }
    if (grow > 1 && (__builtin_mul_overflow(v->offset, grow, &v->offset) ||
                     __builtin_mul_overflow(v->shape[last], grow, &v->shape[last])))
        return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    if (shrink > 1) v->offset /= shrink, v->shape[last] /= shrink;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    return v->numel < 0 ? rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow") : RL_OK;
}

/* ---- sliding slices ---- */
/* (.., n, ..) becomes (.., (n - size) / step + 1, .., size); a number counts as a vector of one */
RL_SHAPE(unfold) {
    const rl_view *x = k->arg[0].u.t;
    rl_view *v = k->out[0];
    int64_t dim = k->arg[1].u.i, size = k->arg[2].u.i, step = k->arg[3].u.i;
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    int64_t whole = x->ndim ? x->shape[dim] : 1, stride = x->ndim ? x->strides[dim] : 1;
    if (size < 0) return rl_error_set(RL_RUNTIME, "size is %lld but must be >= 0", (long long)size);
    if (size > whole)
        return rl_error_set(RL_RUNTIME, "maximum size for tensor at dimension %lld is %lld but size is %lld",
                            (long long)dim, (long long)whole, (long long)size);
    if (step <= 0) return rl_error_set(RL_RUNTIME, "step is %lld but must be > 0", (long long)step);
    if (rl_view_dims(v, x->ndim + 1) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) {
        v->shape[d] = d == dim ? (whole - size) / step + 1 : x->shape[d];
        v->strides[d] = d == dim ? rl_stride_scaled(stride, step) : x->strides[d];
    }
    v->shape[x->ndim] = size;
    v->strides[x->ndim] = stride;
    v->offset = x->offset;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    return v->numel < 0 ? rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow") : RL_OK;
}
