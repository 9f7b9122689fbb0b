/* Shape rules of what reads and writes at indices: x[indices], index_add and their kin. Values of
 * indices are checked by the kernels, where they are used. */
#include "shape.h"
#include <stdio.h>

/* ---- x[indices]: Note [Index] in kernels/ref/index.c ---- */
typedef struct {
    int at, n; /* where they stand in the result, how many dims */
    int64_t size[RL_MAX_DIMS];
    uint64_t indexed; /* dims of x */
} picks;

static bool is_mask(const rl_view *v) {
    return v->dtype == RL_BOOL || v->dtype == RL_U8;
}

static int64_t mask_count(const rl_view *mask) {
    const uint8_t *truth = rl_const_data(mask);
    int64_t index[RL_MAX_DIMS] = {0}, n = 0, at = 0;
    if (rl_is_contiguous(mask)) {
        for (int64_t i = 0; i < mask->numel; i++) n += truth[i] != 0;
        return n;
    }
    for (int64_t i = 0; i < mask->numel; i++) {
        n += truth[at] != 0;
        for (int d = mask->ndim - 1; d >= 0; index[d--] = 0) {
            at += mask->strides[d];
            if (++index[d] < mask->shape[d]) break;
            at -= mask->strides[d] * mask->shape[d];
        }
    }
    return n;
}

/* "[2], [3, 1]": a mask counts as its dims, each of them a vector */
static const char *shapes_text(char *text, size_t size, const rl_slot *list) {
    char dims[RL_DIMS_TEXT];
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < list->n && used < size; i++) {
        const rl_view *v = list->u.ts[i];
        int64_t found = v && is_mask(v) ? mask_count(v) : 0;
        for (int times = !v ? 0 : is_mask(v) ? v->ndim : 1; times > 0 && used < size; times--)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     is_mask(v) ? rl_dims_text(dims, &found, 1)
                                                : rl_dims_text(dims, v->shape, v->ndim));
    }
    return text;
}

/* false: they cannot be broadcast together */
static bool picks_join(picks *p, const int64_t *shape, int n) {
    if (n > p->n) {
        memmove(p->size + (n - p->n), p->size, (size_t)p->n * sizeof *p->size);
        for (int d = 0; d < n - p->n; d++) p->size[d] = 1;
        p->n = n;
    }
    for (int i = 0; i < n; i++) {
        int64_t *size = &p->size[p->n - n + i];
        if (*size == 1) *size = shape[i];
        if (shape[i] != 1 && shape[i] != *size) return false;
    }
    return true;
}

static rl_status check_mask(const rl_view *x, const rl_view *mask, int64_t dim) {
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    for (int64_t d = 0; d < mask->ndim; d++)
        if (dim + d >= x->ndim)
            return rl_error_set(RL_INDEX,
                                "Dimension out of range (expected to be in range of [-%d, %d], but got %lld)",
                                x->ndim ? x->ndim : 1, x->ndim ? x->ndim - 1 : 0, (long long)(dim + d));
        else if (mask->shape[d] != x->shape[dim + d])
            return rl_error_set(RL_INDEX,
                                "The shape of the mask %s at index %lld does not match the shape of the "
                                "indexed tensor %s at index %lld",
                                rl_dims_text(one, mask->shape, mask->ndim), (long long)d,
                                rl_dims_text(two, x->shape, x->ndim), (long long)(dim + d));
    return RL_OK;
}

static rl_status check_index(const rl_view *index) {
    if (index->dtype != RL_I64 && index->dtype != RL_I32 && !is_mask(index))
        return rl_error_set(RL_INDEX, "tensors used as indices must be long, int, byte or bool tensors");
    if (is_mask(index) && index->device != RL_CPU)
        return rl_error_set(RL_NOTIMPL, "rushlight indexes with masks on the CPU only");
    return RL_OK;
}

static rl_status picks_of(rl_call *k, picks *p) {
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *list = &k->arg[1];
    bool fits = true, apart = false;
    int64_t dim = 0, first = -1, last = -1;
    char text[512];
    *p = (picks){.n = 0};
    for (int i = 0; i < list->n; i++)
        if (list->u.ts[i] && check_index(list->u.ts[i]) != RL_OK) return RL_FAIL;
    for (int i = 0; i < list->n; i++) {
        const rl_view *index = list->u.ts[i];
        int width = index && is_mask(index) ? index->ndim : 1;
        if (index && is_mask(index)) {
            if (check_mask(x, index, dim) != RL_OK) return RL_FAIL;
            int64_t found = mask_count(index);
            fits &= picks_join(p, &found, 1);
        } else if (index) {
            fits &= picks_join(p, index->shape, index->ndim);
        }
        for (int64_t d = dim; index && d < dim + width && d < x->ndim; d++) p->indexed |= 1ull << d;
        if (index) {
            if (first < 0) first = dim;
            apart |= last >= 0 && last != dim;
            last = dim + width;
        }
        dim += width;
    }
    if (!fits)
        return rl_error_set(RL_INDEX,
                            "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                            shapes_text(text, sizeof text, list));
    if (dim > x->ndim)
        return rl_error_set(RL_INDEX, "too many indices for tensor of dimension %d (got %lld)", x->ndim,
                            (long long)dim);
    p->at = apart || first < 0 ? 0 : (int)first;
    return RL_OK;
}

/* the dims of x[indices]; how many, or -1 */
static int picks_result(rl_call *k, const picks *p, int64_t shape[2 * RL_MAX_DIMS]) {
    const rl_view *x = k->arg[0].u.t;
    bool nothing = false, no_size = false;
    int n = 0;
    for (int d = 0, kept = 0; d <= x->ndim; d++) {
        if (kept == p->at && n == p->at)
            for (int i = 0; i < p->n; i++) shape[n++] = p->size[i];
        if (d == x->ndim || (p->indexed >> d & 1)) continue;
        shape[n++] = x->shape[d];
        kept++;
    }
    for (int i = 0; i < p->n; i++) nothing |= p->size[i] == 0;
    for (int d = 0; d < x->ndim; d++) no_size |= (p->indexed >> d & 1) && x->shape[d] == 0;
    if (no_size && !nothing)
        rl_error_set(RL_INDEX, "index is out of bounds for dimension with size 0");
    else if (n > RL_MAX_DIMS)
        rl_error_set(RL_RUNTIME, "tensors have at most %d dimensions", RL_MAX_DIMS);
    else
        return n;
    return -1;
}

RL_SHAPE(index) { /* attr[0]: the place of the picks */
    int64_t shape[2 * RL_MAX_DIMS];
    picks p;
    if (picks_of(k, &p) != RL_OK) return RL_FAIL;
    int n = picks_result(k, &p, shape);
    k->attr[0] = p.at;
    return n < 0 ? RL_FAIL : rl_out_dims(k, 0, shape, n);
}

/* One number under one mask is filled in, whatever its dtype. */
static bool is_masked_fill(const rl_call *k) {
    const rl_slot *list = &k->arg[1];
    int masks = 0, others = 0;
    for (int i = 0; i < list->n; i++)
        if (list->u.ts[i]) (*(is_mask(list->u.ts[i]) ? &masks : &others))++;
    return masks == 1 && others == 0 && k->arg[2].u.t->numel == 1 && !k->arg[3].u.i;
}

RL_SHAPE(index_put) { /* attr[0]: the place of the picks */
    const rl_view *x = k->arg[0].u.t, *values = k->arg[2].u.t;
    int64_t shape[2 * RL_MAX_DIMS];
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    picks p;
    if (picks_of(k, &p) != RL_OK) return RL_FAIL;
    int n = picks_result(k, &p, shape);
    if (n < 0) return RL_FAIL;
    bool fits = values->ndim <= n;
    for (int d = 1; fits && d <= values->ndim; d++)
        fits = values->shape[values->ndim - d] == 1 || values->shape[values->ndim - d] == shape[n - d];
    if (!fits)
        return rl_error_set(
            RL_RUNTIME,
            "shape mismatch: value tensor of shape %s cannot be broadcast to indexing result of shape %s",
            rl_dims_text(one, values->shape, values->ndim), rl_dims_text(two, shape, n));
    if (x->dtype != values->dtype && !is_masked_fill(k))
        return rl_error_set(RL_RUNTIME,
                            "Index put requires the source and destination dtypes match, got %s for the "
                            "destination and %s for the source.",
                            rl_dtype_title(x->dtype), rl_dtype_title(values->dtype));
    k->attr[0] = p.at;
    return rl_out_like_input(k, 0);
}

/* ---- index_add, index_copy, index_fill: attr[0] is the dimension ---- */
/* equal but for dim; numbers have no dims to leave out */
static bool same_slices(const rl_view *a, const rl_view *b, int64_t dim) {
    int64_t one[RL_MAX_DIMS], two[RL_MAX_DIMS];
    int n = 0, m = 0;
    for (int d = 0; d < a->ndim; d++)
        if (d != dim) one[n++] = a->shape[d];
    for (int d = 0; d < b->ndim; d++)
        if (d != dim) two[m++] = b->shape[d];
    return n == m && memcmp(one, two, (size_t)n * sizeof *one) == 0;
}

RL_SHAPE(index_add) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = k->arg[3].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->ndim > 1)
        return rl_error_set(
            RL_INDEX,
            "index_add_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
            index->ndim, rl_dtype_title(index->dtype), rl_dims_text(one, index->shape, index->ndim));
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "index_add_(): Expected dtype int32/int64 for index but got: %s",
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME,
                            "index_add_(): self (%s) and source (%s) must have the same scalar type",
                            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (dim && dim >= source->ndim)
        return rl_error_set(
            RL_RUNTIME, "index_add_(): Indexing dim %lld is out of bounds of the source tensor with dim %d",
            (long long)dim, source->ndim);
    if (index->numel != rl_size_along(source, dim))
        return rl_error_set(RL_RUNTIME,
                            "index_add_(): Number of indices (%lld) should be equal to source.size(dim): "
                            "(%lld), for dim: %lld",
                            (long long)index->numel, (long long)rl_size_along(source, dim), (long long)dim);
    if (!same_slices(x, source, x->ndim && source->ndim ? dim : -1))
        return rl_error_set(RL_RUNTIME,
                            "source tensor shape must match self tensor shape, excluding the specified "
                            "dimension. Got self.shape = %s source.shape = %s",
                            rl_dims_text(one, x->shape, x->ndim),
                            rl_dims_text(two, source->shape, source->ndim));
    return rl_out_as_input(k, 0);
}

/* "3 4" of the dims but one */
static const char *slice_text(char text[RL_DIMS_TEXT], const rl_view *v, int64_t dim) {
    size_t used = 0;
    *text = 0;
    for (int d = 0; d < v->ndim && used < RL_DIMS_TEXT; d++)
        if (d != dim)
            used += (size_t)snprintf(text + used, RL_DIMS_TEXT - used, "%s%lld", used ? " " : "",
                                     (long long)v->shape[d]);
    return text;
}

RL_SHAPE(index_copy) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = k->arg[3].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->ndim > 1)
        return rl_error_set(RL_INDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)",
                            index->ndim);
    if (source->ndim == 0 && index->numel != 1)
        return rl_error_set(RL_INDEX,
                            "index_copy_(): When source is scalar, index should have one element (got %lld)",
                            (long long)index->numel);
    if (source->ndim != x->ndim && source->ndim && x->ndim)
        return rl_error_set(
            RL_INDEX,
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            "must match. Source dimensionality (%d), destination dimensionality (%d)",
            source->ndim, x->ndim);
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "index_copy_(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME,
                            "index_copy_(): self and source expected to have the same dtype, but got (self) "
                            "%s and (source) %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (!same_slices(x, source, dim))
        return rl_error_set(
            RL_RUNTIME,
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            "slice shape: %s at dimension %lld and source slice shape: %s at dimension 0.",
            slice_text(one, x, dim), (long long)dim, slice_text(two, source, dim));
    if (source->ndim && index->numel != source->shape[dim])
        return rl_error_set(
            RL_INDEX, "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
            (long long)index->numel, (long long)source->shape[dim]);
    return rl_out_as_input(k, 0);
}

RL_SHAPE(index_fill) {
    const rl_view *index = k->arg[2].u.t, *value = rl_in(k, 3);
    if (value && value->ndim)
        return rl_error_set(RL_RUNTIME,
                            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                            "dimension(s).",
                            value->ndim);
    if (index->dtype != RL_I64)
        return rl_error_set(RL_INDEX, "index_fill_(): Expected dtype int64 for index.");
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    if (index->ndim > 1) return rl_error_set(RL_RUNTIME, "Index has to be a vector/scalar");
    return rl_out_like_input(k, 0);
}

RL_SHAPE(index_select) { /* attr[0]: the dimension */
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t;
    int64_t dim = k->arg[1].u.i, shape[RL_MAX_DIMS];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (index->ndim > 1) return rl_error_set(RL_INDEX, "index_select(): Index is supposed to be a vector");
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    if (x->ndim) shape[dim] = index->numel;
    k->attr[0] = dim;
    return rl_out_dims(k, 0, shape, x->ndim);
}
