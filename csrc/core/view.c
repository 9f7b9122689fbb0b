/* Shapes and strides: sizes that cannot overflow, broadcasting, bounds. */
#include "error.h"
#include "memory.h"
#include "view.h"
#include <string.h>

rl_status rl_view_dims(rl_view *v, int ndim) {
    if (RL_LIKELY(ndim <= RL_SMALL_DIMS)) {
        v->shape = v->small;
        v->strides = v->small + RL_SMALL_DIMS;
    } else {
        if (ndim > RL_MAX_DIMS)
            return rl_error_set(RL_RUNTIME, "tensors may have at most %d dimensions, but got %d", RL_MAX_DIMS,
                                ndim);
        v->shape = rl_alloc(RL_COUNT(2, ndim), sizeof(int64_t));
        if (!v->shape) {
            v->shape = v->small;
            return RL_FAIL;
        }
        v->strides = v->shape + ndim;
    }
    v->ndim = (uint8_t)ndim;
    return RL_OK;
}

void rl_view_clear(rl_view *v) {
    if (v->shape && v->shape != v->small) rl_free(v->shape);
    v->shape = v->small;
    v->strides = v->small + RL_SMALL_DIMS;
    v->ndim = 0;
}

rl_status rl_view_copy(rl_view *to, const rl_view *from) {
    if (rl_view_dims(to, from->ndim) != RL_OK) return RL_FAIL;
    memcpy(to->shape, from->shape, from->ndim * sizeof(int64_t));
    memcpy(to->strides, from->strides, from->ndim * sizeof(int64_t));
    to->storage = from->storage;
    to->offset = from->offset;
    to->numel = from->numel;
    to->dtype = from->dtype;
    to->device = from->device;
    to->device_index = from->device_index;
    return RL_OK;
}

int64_t rl_dims_numel(const int64_t *shape, int ndim) {
    uint64_t n = 1; /* as PyTorch multiplies: a zero does not excuse what overflowed before it */
    bool huge = false;
    for (int i = 0; i < ndim; i++) huge |= __builtin_mul_overflow(n, (uint64_t)shape[i], &n);
    return huge || n > INT64_MAX ? -1 : (int64_t)n;
}

bool rl_dims_contiguous(const int64_t *shape, int ndim, int64_t *strides) {
    int64_t step = 1;
    bool huge = false;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = step;
        if (i > 0) huge |= __builtin_mul_overflow(step, shape[i] > 1 ? shape[i] : 1, &step);
    }
    return !huge;
}

/* the dims of a channels_last tensor, innermost first: 1, last ... 2, 0 */
static int channels_last_dim(int i, int ndim) {
    return i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
}

void rl_dims_channels_last(const int64_t *shape, int ndim, int64_t *strides) {
    uint64_t step = 1; /* wraps for what has no elements and could not be made so */
    for (int i = 0; i < ndim; i++) {
        int d = channels_last_dim(i, ndim);
        strides[d] = (int64_t)step;
        step *= (uint64_t)(shape[d] > 1 ? shape[d] : 1);
    }
}

bool rl_looks_channels_last(const rl_view *v) {
    int64_t least = 0;
    if ((v->ndim != 4 && v->ndim != 5) || v->numel == 0 || v->strides[1] == 0) return false;
    for (int i = 0; i < v->ndim; i++) {
        int d = channels_last_dim(i, v->ndim);
        if (v->strides[d] < least || (d == 0 && least == v->strides[1])) return false;
        least = rl_stride_scaled(v->strides[d], v->shape[d]);
    }
    return true;
}

int64_t rl_stride_scaled(int64_t stride, int64_t n) {
    int64_t step;
    return __builtin_mul_overflow(stride, n, &step) || step > RL_MAX_STRIDE ? stride : step;
}

static inline bool is_channels_last_of(const rl_view *v, int ndim) {
    int64_t strides[5];
    if (v->ndim != ndim) return false;
    rl_dims_channels_last(v->shape, ndim, strides);
    for (int d = 0; d < ndim; d++)
        if (v->shape[d] != 1 && v->strides[d] != strides[d]) return false;
    return true;
}

bool rl_is_channels_last(const rl_view *v) {
    return is_channels_last_of(v, 4);
}

bool rl_is_in_format(const rl_view *v, int64_t format) {
    return format == RL_FORMAT_PRESERVE           ? true
           : format == RL_FORMAT_CHANNELS_LAST    ? is_channels_last_of(v, 4)
           : format == RL_FORMAT_CHANNELS_LAST_3D ? is_channels_last_of(v, 5)
                                                  : rl_is_contiguous(v);
}

/* ---- Note [Order of dims] ---- */
typedef struct {
    const rl_view *const *views;
    int n, ndim;
    const int64_t *shape;
} ordering;

static int64_t stride_along(const ordering *o, const rl_view *v, int d) {
    int own = d - (o->ndim - v->ndim);
    return own < 0 || (v->shape[own] == 1 && o->shape[d] != 1) ? 0 : v->strides[own];
}

/* below 0: a lies within b; above 0: b within a; 0: nobody can tell */
static int dims_compare(const ordering *o, int a, int b) {
    for (int i = 0; i < o->n; i++) {
        int64_t step_a = stride_along(o, o->views[i], a), step_b = stride_along(o, o->views[i], b);
        if (step_a == 0 || step_b == 0) continue;
        if (step_a != step_b) return step_a < step_b ? -1 : 1;
        if (o->shape[a] > o->shape[b]) return 1;
    }
    return 0;
}

void rl_dims_ordered(const rl_view *const *views, int n, const int64_t *shape, int ndim, int64_t *strides) {
    const ordering o = {views, n, ndim, shape};
    int inner[RL_MAX_DIMS]; /* dims, innermost first */
    int64_t step = 1;
    for (int i = 0; i < ndim; i++) {
        inner[i] = ndim - 1 - i;
        for (int at = i, below = i - 1; below >= 0;
             below--) { /* on beyond those that nobody compares it with */
            int found = dims_compare(&o, inner[below], inner[at]);
            if (found < 0) break;
            if (found == 0) continue;
            int dim = inner[below];
            inner[below] = inner[at];
            inner[at] = dim;
            at = below;
        }
    }
    for (int i = 0; i < ndim; i++) {
        strides[inner[i]] = step;
        step *= shape[inner[i]];
    }
}

void rl_strides_as(rl_view *v, const rl_view *like) {
    if (rl_is_dense(like))
        memcpy(v->strides, like->strides, (size_t)v->ndim * sizeof *v->strides);
    else if (v->numel)
        rl_dims_ordered(&like, 1, v->shape, v->ndim, v->strides);
}

rl_status rl_dims_broadcast(const rl_view *a, const rl_view *b, int64_t *shape, int *ndim) {
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = n - 1; i >= 0; i--) {
        int ia = i - (n - a->ndim), ib = i - (n - b->ndim);
        int64_t da = ia < 0 ? 1 : a->shape[ia], db = ib < 0 ? 1 : b->shape[ib];
        if (da != db && da != 1 && db != 1)
            return rl_error_set(RL_RUNTIME,
                                "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                                "non-singleton dimension %d",
                                (long long)da, (long long)db, i);
        shape[i] = da == 1 ? db : da;
    }
    *ndim = n;
    return RL_OK;
}

rl_status rl_dim_wrap(int64_t *dim, int ndim) {
    int64_t limit = ndim ? ndim : 1;
    if (*dim < -limit || *dim >= limit)
        return rl_error_set(RL_INDEX,
                            "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                            (long long)-limit, (long long)limit - 1, (long long)*dim);
    if (*dim < 0) *dim += limit;
    return RL_OK;
}

rl_status rl_view_check_bounds(const int64_t *shape, const int64_t *strides, int ndim, int64_t offset,
                               int dtype, size_t nbytes) {
    __int128 last = offset, item = rl_itemsize(dtype);
    bool empty = false;
    char sizes[RL_DIMS_TEXT], steps[RL_DIMS_TEXT];
    if (offset < 0) return rl_error_set(RL_RUNTIME, "Tensor: invalid storage offset %lld", (long long)offset);
    for (int i = 0; i < ndim; i++) {
        empty |= shape[i] == 0;
        if (shape[i] < 0)
            return rl_error_set(RL_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)shape[i], rl_dims_text(sizes, shape, ndim));
        if (strides[i] < 0)
            return rl_error_set(
                RL_RUNTIME, "as_strided: Negative strides are not supported at the moment, got strides: %s",
                rl_dims_text(steps, strides, ndim));
    }
    /* each product fits in 126 bits; a sum beyond int64 cannot be inside */
    for (int i = 0; i < ndim && !empty && last <= INT64_MAX; i++)
        last += (__int128)(shape[i] - 1) * strides[i];
    __int128 needed = empty ? (__int128)offset * item : (last + 1) * item;
    if (!empty && needed > INT64_MAX)
        return rl_error_set(RL_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                            rl_dims_text(sizes, shape, ndim), rl_dims_text(steps, strides, ndim));
    if (needed > (__int128)nbytes && !(empty && offset == 0))
        return rl_error_set(
            RL_RUNTIME,
            "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %lld requiring a "
            "storage size of %lld are out of bounds for storage of size %zu",
            rl_dims_text(sizes, shape, ndim), rl_dims_text(steps, strides, ndim), (long long)offset,
            (long long)item, needed > INT64_MAX ? (long long)INT64_MAX : (long long)needed, nbytes);
    if (rl_dims_numel(shape, ndim) < 0)
        return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    for (int i = 0; i < ndim; i++) /* nobody walks along a size of 1, but kernels multiply its stride */
        if (strides[i] > RL_MAX_STRIDE && (size_t)strides[i] > nbytes)
            return rl_error_set(RL_RUNTIME, "as_strided: strides %s lead beyond all memory",
                                rl_dims_text(steps, strides, ndim));
    return RL_OK;
}
