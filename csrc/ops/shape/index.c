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

/* Masks of a device have become places before (call/dispatcher.c), but those that do not fit. */
static int64_t mask_count(const rl_view *mask) {
    if (mask->device != RL_CPU) return 0;
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
static const char *shapes_text(char *text, size_t size, const rl_value *list) {
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
    return RL_OK;
}

static rl_status picks_of(rl_call *k, picks *p) {
    const rl_view *x = k->arg[0].u.t;
    const rl_value *list = &k->arg[1];
    bool fits = true, apart = false;
    int64_t dim = 0, first = -1, last = -1;
    char text[512];
    *p = (picks){.n = 0};
    if (list->n > x->ndim)
        return rl_error_set(RL_INDEX, "too many indices for tensor of dimension %d (got %d)", x->ndim,
                            list->n);
    for (int i = 0; i < list->n; i++)
        if (list->u.ts[i] && check_index(list->u.ts[i]) != RL_OK) return RL_FAIL;
    for (int i = 0; i < list->n; i++) {
        const rl_view *index = list->u.ts[i];
        int width = index && is_mask(index) ? index->ndim : 1;
        if (index && is_mask(index)) {
            if (check_mask(x, index, dim) != RL_OK) return RL_FAIL;
            if (index->device != RL_CPU) /* the dispatcher made integers of what a device can count */
                return rl_error_set(RL_NOTIMPL, "rushlight indexes with masks on the CPU only");
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

/* ---- strides: Note [Order of dims], asked of x and then of the indices, stretched over the result ---- */
enum { ASKED = 16 }; /* more indices than anybody has */
typedef struct {
    rl_view view;
    int64_t strides[RL_MAX_DIMS];
} stretched;

static bool in_order(const rl_call *k) {
    bool all = rl_is_contiguous(k->arg[0].u.t);
    for (int i = 0; all && i < k->arg[1].n; i++)
        all = !k->arg[1].u.ts[i] || is_mask(k->arg[1].u.ts[i]) || rl_is_contiguous(k->arg[1].u.ts[i]);
    return all;
}

static void stretch_x(stretched *s, const picks *p, const rl_view *x) {
    for (int d = 0, to = 0; d < x->ndim; d++) {
        if (p->indexed >> d & 1) continue;
        if (to == p->at) to += p->n;
        s->strides[to++] = x->strides[d];
    }
}

/* The index as the picks' dims, reshaped to all dims of the result: PyTorch orders dims of size 1 by that,
 * too. The places that a mask picks are a vector. */
static void stretch_index(stretched *s, const picks *p, const rl_view *index) {
    int64_t step[RL_MAX_DIMS], shape[RL_MAX_DIMS];
    const rl_view spread = {.ndim = (uint8_t)p->n,
                            .numel = rl_dims_numel(p->size, p->n),
                            .shape = (int64_t *)p->size,
                            .strides = step};
    const int missing = p->n - (is_mask(index) ? 1 : index->ndim);
    for (int d = p->n - 1; d >= 0; d--) {
        if (d < missing)
            step[d] = p->size[d] == 1 && d + 1 < p->n ? step[d + 1] * p->size[d + 1] : 0;
        else if (is_mask(index))
            step[d] = 1;
        else
            step[d] = index->shape[d - missing] == p->size[d] ? index->strides[d - missing] : 0;
    }
    for (int d = 0; d < s->view.ndim; d++) shape[d] = d >= p->at && d < p->at + p->n ? p->size[d - p->at] : 1;
    rl_view_restride(&spread, shape, s->view.ndim, s->strides);
    for (int d = 0; d < s->view.ndim; d++)
        if (s->view.shape[d] != shape[d]) s->strides[d] = 0;
}

static void picks_order(rl_call *k, const picks *p) {
    rl_view *out = k->out[0];
    stretched all[ASKED];
    const rl_view *asked[ASKED];
    int n = 0;
    if (out->ndim < 2 || out->numel == 0 || in_order(k)) return;
    for (int i = -1; i < k->arg[1].n && n < ASKED; i++) {
        const rl_view *index = i < 0 ? NULL : k->arg[1].u.ts[i];
        if (i >= 0 && !index) continue;
        all[n].view = *out;
        all[n].view.strides = memset(all[n].strides, 0, sizeof all[n].strides);
        if (i < 0)
            stretch_x(&all[n], p, k->arg[0].u.t);
        else
            stretch_index(&all[n], p, index);
        asked[n] = &all[n].view;
        n++;
    }
    rl_dims_ordered(asked, n, out->shape, out->ndim, out->strides);
}

RL_SHAPE(index) { /* attr[0]: the place of the picks */
    int64_t shape[2 * RL_MAX_DIMS];
    picks p;
    if (picks_of(k, &p) != RL_OK) return RL_FAIL;
    int n = picks_result(k, &p, shape);
    k->attr[0] = p.at;
    if (n < 0 || rl_out_dims(k, 0, shape, n) != RL_OK) return RL_FAIL;
    picks_order(k, &p);
    return RL_OK;
}

/* One number under one mask is filled in, whatever its dtype. */
static bool is_masked_fill(const rl_call *k) {
    const rl_value *list = &k->arg[1];
    int masks = 0, others = 0;
    for (int i = 0; i < list->n; i++)
        if (list->u.ts[i]) (*(is_mask(list->u.ts[i]) ? &masks : &others))++;
    return masks == 1 && others == 0 && rl_tensor_arg(k, 2)->numel == 1 && !k->arg[3].u.i;
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

/* ---- elements that are not zero, or under a mask; how many there are was counted before ---- */
RL_SHAPE(nonzero_count) {
    return rl_out_dims(k, 0, NULL, 0);
}

RL_SHAPE(nonzero_static) {
    const int64_t shape[2] = {k->arg[1].u.i, rl_tensor_arg(k, 0)->ndim};
    if (shape[0] < 0)
        return rl_error_set(RL_RUNTIME, "nonzero_static: 'size' must be an non-negative integer");
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(nonzero_places) { /* one dimension after the other, as PyTorch's */
    if (shape_nonzero_static(k) != RL_OK) return RL_FAIL;
    k->out[0]->strides[0] = 1;
    k->out[0]->strides[1] = k->arg[1].u.i ? k->arg[1].u.i : 1;
    return RL_OK;
}

RL_SHAPE(masked_select_counted) {
    return rl_out_dims(k, 0, &k->arg[2].u.i, 1);
}

/* ---- what a vector of indices names along one dimension, which they leave in attr[0] ---- */
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

/* PyTorch names them as the operators in place. */
static rl_status added(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = k->arg[3].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->ndim > 1)
        return rl_error_set(
            RL_INDEX, "%s_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
            k->name, index->ndim, rl_dtype_title(index->dtype), rl_dims_text(one, index->shape, index->ndim));
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "%s_(): Expected dtype int32/int64 for index but got: %s", k->name,
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME, "%s_(): self (%s) and source (%s) must have the same scalar type",
                            k->name, rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (dim && dim >= source->ndim)
        return rl_error_set(RL_RUNTIME,
                            "%s_(): Indexing dim %lld is out of bounds of the source tensor with dim %d",
                            k->name, (long long)dim, source->ndim);
    if (index->numel != rl_size_along(source, dim))
        return rl_error_set(RL_RUNTIME,
                            "%s_(): Number of indices (%lld) should be equal to source.size(dim): "
                            "(%lld), for dim: %lld",
                            k->name, (long long)index->numel, (long long)rl_size_along(source, dim),
                            (long long)dim);
    if (!same_slices(x, source, x->ndim && source->ndim ? dim : -1))
        return rl_error_set(RL_RUNTIME,
                            "source tensor shape must match self tensor shape, excluding the specified "
                            "dimension. Got self.shape = %s source.shape = %s",
                            rl_dims_text(one, x->shape, x->ndim),
                            rl_dims_text(two, source->shape, source->ndim));
    return rl_out_as_input(k, 0);
}

RL_SHAPE(index_add) {
    return added(k);
}

RL_SHAPE(index_reduce) { /* attr[1]: RL_JOIN_* */
    static const char *const names[] = {
        [RL_JOIN_MUL] = "prod", [RL_JOIN_MAX] = "amax", [RL_JOIN_MIN] = "amin", [RL_JOIN_MEAN] = "mean"};
    const char *how = k->arg[4].u.s;
    k->attr[1] = RL_JOIN_MEAN;
    while (k->attr[1] > RL_JOIN_ADD && strcmp(names[k->attr[1]], how) != 0) k->attr[1]--;
    if (k->attr[1] == RL_JOIN_ADD)
        return rl_error_set(
            RL_RUNTIME, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.",
            how);
    if (k->attr[1] == RL_JOIN_MEAN && rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL, "\"div_floor_cpu\" not implemented for 'Bool'");
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL && rl_tensor_arg(k, 0)->ndim < 2)
        return rl_error_set(RL_NOTIMPL, "\"index_func_\" not implemented for 'Bool'");
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL && !k->arg[5].u.i)
        return rl_error_set(RL_NOTIMPL,
                            "\"index_reduce_func_exclude_input_init\" not implemented for 'Bool'");
    return added(k);
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
    if (x->ndim == 0 && index->numel != 1)
        return rl_error_set(RL_RUNTIME,
                            "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                            (long long)index->numel);
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    if (x->ndim) shape[dim] = index->numel;
    k->attr[0] = dim;
    return rl_out_dims(k, 0, shape, x->ndim);
}

/* ---- elements at places of their own ----
 * gather, scatter, masks, the flat tensor.
 * Values of indices are checked by the kernels, where they are used. */
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

/* ---- scatter: attr[0] the dimension, attr[1] how elements join (RL_JOIN_*) ---- */
static int depth(const rl_view *v) {
    return v->ndim ? v->ndim : 1;
}

static rl_status scattered(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = rl_in(k, 3);
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT], three[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->numel && index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "scatter(): Expected dtype int32/int64 for index");
    if (source && source->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
    if (index->numel == 0) return rl_out_as_input(k, 0);
    if (depth(index) != depth(x))
        return rl_error_set(RL_RUNTIME,
                            "Index tensor must have the same number of dimensions as self tensor");
    if (source && depth(index) != depth(source))
        return rl_error_set(RL_RUNTIME, "Index tensor must have the same number of dimensions as src tensor");
    bool fits = true;
    for (int d = 0; d < depth(index); d++) {
        int64_t size = rl_size_along(index, d);
        fits &= (d == dim || size <= rl_size_along(x, d)) && (!source || size <= rl_size_along(source, d));
    }
    if (fits) return rl_out_as_input(k, 0);
    rl_dims_text(one, index->shape, index->ndim);
    rl_dims_text(two, x->shape, x->ndim);
    if (!source)
        return rl_error_set(RL_RUNTIME,
                            "Expected index %s to be no larger than self %s apart from dimension %lld", one,
                            two, (long long)dim);
    return rl_error_set(
        RL_RUNTIME,
        "Expected index %s to be no larger than self %s apart from dimension %lld and to be no "
        "larger size than src %s",
        one, two, (long long)dim, rl_dims_text(three, source->shape, source->ndim));
}

RL_SHAPE(scatter) {
    k->attr[1] = RL_JOIN_SET;
    return scattered(k);
}
RL_SHAPE(scatter_add) {
    k->attr[1] = RL_JOIN_ADD;
    return scattered(k);
}

RL_SHAPE(scatter_join) {
    const char *how = k->arg[4].u.s;
    k->attr[1] = strcmp(how, "add") == 0 ? RL_JOIN_ADD : RL_JOIN_MUL;
    if (k->attr[1] == RL_JOIN_MUL && strcmp(how, "multiply") != 0)
        return rl_error_set(RL_RUNTIME, "reduce argument must be either add or multiply.");
    return scattered(k);
}

RL_SHAPE(scatter_reduce) {
    static const char *const names[] = {[RL_JOIN_ADD] = "sum",
                                        [RL_JOIN_MUL] = "prod",
                                        [RL_JOIN_MAX] = "amax",
                                        [RL_JOIN_MIN] = "amin",
                                        [RL_JOIN_MEAN] = "mean"};
    k->attr[1] = RL_JOIN_MEAN;
    while (k->attr[1] && strcmp(names[k->attr[1]], k->arg[4].u.s) != 0) k->attr[1]--;
    if (k->attr[1] == RL_JOIN_SET)
        return rl_error_set(RL_RUNTIME,
                            "reduce argument must be either sum, prod, mean, amax or amin, got %s",
                            k->arg[4].u.s);
    if (k->attr[1] == RL_JOIN_MEAN && rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL,
                            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'");
    return scattered(k);
}

/* ---- the flat tensor ---- */
RL_SHAPE(take) {
    const rl_view *index = k->arg[1].u.t;
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "take(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (rl_tensor_arg(k, 0)->numel == 0 && index->numel)
        return rl_error_set(RL_INDEX, "take(): tried to take from an empty tensor");
    return rl_out_dims(k, 0, index->shape, index->ndim);
}

RL_SHAPE(put) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[1].u.t, *source = k->arg[2].u.t;
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "put_(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(
            RL_RUNTIME,
            "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
            "and source.dtype = %s",
            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (index->numel != source->numel)
        return rl_error_set(RL_INDEX,
                            "put_(): Expected source and index to have the same number of elements, but got "
                            "source.numel() = %lld, index.numel() = %lld",
                            (long long)source->numel, (long long)index->numel);
    if (x->numel == 0 && index->numel)
        return rl_error_set(RL_INDEX, "put_(): Tried to put elements into an empty tensor");
    return rl_out_like_input(k, 0);
}

/* ---- masks ---- */
RL_SHAPE(masked_fill) {
    const rl_view *mask = k->arg[1].u.t, *value = rl_in(k, 2);
    if (mask->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                            rl_dtype_cpp_name(mask->dtype));
    if (value && value->ndim)
        return rl_error_set(
            RL_RUNTIME,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value->ndim);
    return rl_stretches(k, mask, "output");
}

RL_SHAPE(masked_scatter) {
    const rl_view *x = k->arg[0].u.t, *mask = k->arg[1].u.t, *source = k->arg[2].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME,
                            "masked_scatter: expected self and source to have same dtypes but got%s and %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (mask->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                            rl_dtype_title(mask->dtype));
    if (rl_dims_broadcast(mask, x, shape, &n) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, shape, n);
}

/* ---- tensors with a part in another's place ----
 * select_scatter and its kin. */
/* What the rule of the view, whose arguments are k's but for src, says of a whole. */
static rl_status part_of(const rl_call *k, const rl_view *whole, const char *name,
                         rl_status (*rule)(rl_call *), rl_view *part) {
    rl_call view = rl_call_forward(k, name, part);
    view.arg[0].u.t = (rl_view *)whole;
    return rule(&view);
}

static rl_status check_part(const rl_call *k, const rl_view *part) {
    const rl_view *src = k->arg[1].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dims_same(src, part)) return RL_OK;
    return rl_error_set(
        RL_RUNTIME, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
        rl_dims_text(one, src->shape, src->ndim), rl_dims_text(two, part->shape, part->ndim));
}

/* attr[0]: the part's offset in the result; attr[1], attr[2]: dims that the part lacks, or -1; attr[3],
 * attr[4]: a dim and its step. With two dims less it has their diagonal. */
static rl_status part_scatter(rl_call *k, const char *name, rl_status (*rule)(rl_call *)) {
    rl_view part = {.ndim = 0};
    rl_status status = RL_FAIL;
    if (part_of(k, k->arg[0].u.t, name, rule, &part) == RL_OK && check_part(k, &part) == RL_OK)
        status = rl_out_like_input(k, 0);
    rl_view_clear(&part);
    if (status != RL_OK) return RL_FAIL;
    status = part_of(k, k->out[0], name, rule, &part); /* where it lies in the result */
    k->attr[0] = part.offset - k->out[0]->offset;
    rl_view_clear(&part);
    k->attr[1] = k->attr[2] = k->attr[3] = -1;
    return status;
}

/* the dim, which was checked */
static int64_t wrapped(const rl_call *k, int arg) {
    const int64_t dim = k->arg[arg].u.i;
    return dim < 0 ? dim + rl_tensor_arg(k, 0)->ndim : dim;
}

RL_SHAPE(select_scatter) {
    if (part_scatter(k, "select", shape_select) != RL_OK) return RL_FAIL;
    k->attr[1] = wrapped(k, 2);
    return RL_OK;
}

RL_SHAPE(slice_scatter) {
    if (k->arg[5].u.i <= 0) return rl_error_set(RL_RUNTIME, "slice step must be positive");
    if (part_scatter(k, "slice", shape_slice) != RL_OK) return RL_FAIL;
    k->attr[3] = wrapped(k, 2);
    k->attr[4] = k->arg[5].u.i;
    return RL_OK;
}

RL_SHAPE(diagonal_scatter) {
    if (part_scatter(k, "diagonal", shape_diagonal) != RL_OK) return RL_FAIL;
    k->attr[1] = wrapped(k, 3);
    k->attr[2] = wrapped(k, 4);
    return RL_OK;
}

/* attr[0]: the offset of the part, from the first element of the input */
RL_SHAPE(as_strided_scatter) {
    const rl_view *x = k->arg[0].u.t;
    rl_view part = {.ndim = 0};
    rl_status status = part_of(k, x, "as_strided", shape_as_strided, &part);
    if (status == RL_OK) status = check_part(k, &part);
    k->attr[0] = part.offset - x->offset;
    rl_view_clear(&part);
    return status == RL_OK ? rl_out_like_input(k, 0) : RL_FAIL;
}

/* ---- embeddings ---- */
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

RL_SHAPE(embedding_dense_backward) {
    const rl_view *grad = k->arg[0].u.t, *index = k->arg[1].u.t;
    int64_t shape[2] = {k->arg[2].u.i, grad->ndim ? grad->shape[grad->ndim - 1] : 0};
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding_backward)",
                            rl_dtype_title(index->dtype));
    rl_view lead = {.shape = grad->shape, .ndim = (uint8_t)(grad->ndim ? grad->ndim - 1 : 0)};
    if (grad->ndim == 0 || !rl_dims_same(&lead, index))
        return rl_error_set(RL_RUNTIME, "embedding_dense_backward: grad_output does not fit the indices");
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(embedding_renorm) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[1].u.t;
    if (x->ndim != 2)
        return rl_error_set(RL_RUNTIME,
                            "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 "
                            "'self' (while checking arguments for embedding_renorm_)",
                            x->ndim);
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding_renorm_)",
                            rl_dtype_title(index->dtype));
    return rl_out_as_input(k, 0);
}
