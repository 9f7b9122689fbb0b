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

/* Masks of a device have become places before (call/indices.c), but those that do not fit. */
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
    return RL_OK;
}

static rl_status picks_of(rl_call *k, picks *p) {
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *list = &k->arg[1];
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
    const rl_slot *list = &k->arg[1];
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
