/* Rows that are made of other rows and whose output's shape depends on the data, and renamed dimensions. */
#include "call/call.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

#define COMPOSE(id)                                                                                          \
    PyObject *compose_##id(rl_bound *b);                                                                     \
    PyObject *compose_##id(rl_bound *b)

static rl_slot tensor_slot(PyObject *t) {
    return (rl_slot){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}
static rl_slot int_slot(int64_t i) {
    return (rl_slot){.tag = RL_INT, .u.i = i};
}
static rl_slot ints_slot(const int64_t *ints, int n) {
    return (rl_slot){.tag = RL_INTS, .n = n, .u.ints = (int64_t *)ints};
}
static PyObject *tensor_of(rl_bound *b, int arg) {
    return (PyObject *)RL_TENSOR_OF(b->k.arg[arg].u.t);
}
static rl_view *view_of(PyObject *t) {
    return &((rl_tensor *)t)->v;
}

/* ---- where is it not zero? ---- */
/* x != 0: bools without gaps in the order of the elements */
static PyObject *truths_of(PyObject *x) {
    const rl_view *v = view_of(x);
    rl_tensor *truths = rl_tensor_new(RL_BOOL, v->device, v->device_index, v->shape, v->ndim);
    if (truths && rl_tensor_copy(truths, (rl_tensor *)x) < 0) Py_CLEAR(truths);
    return (PyObject *)truths;
}

/* `held` is a look at t, which is on the CPU, without gaps and of that dtype */
static int hold_dense(rl_view *held, PyObject *t, int dtype) {
    if (rl_held_take(held, view_of(t)) < 0) return -1;
    return held->dtype == dtype && held->device == RL_CPU && rl_is_contiguous(held) ? 0 : rl_held_changed();
}

static int64_t truths_count(const rl_view *v) {
    RL_RAW;
    const uint8_t *truth = rl_const_data(v);
    int64_t n = 0;
    for (int64_t i = 0; i < v->numel; i++) n += truth[i] != 0;
    return n;
}

/* Fills `places`, whose room was counted before: no more than that, and zeros where there is less. */
static void places_fill(const rl_view *v, const rl_view *places, bool flat) {
    RL_RAW;
    const uint8_t *truth = rl_const_data(v);
    int64_t *to = rl_data(places, RL_FRESH), *end = to + places->numel, width = flat ? 1 : v->ndim;
    for (int64_t i = 0; i < v->numel && to < end; i++) {
        int64_t rest = i;
        if (!truth[i]) continue;
        for (int d = v->ndim - 1; !flat && d >= 0; rest /= v->shape[d--]) to[d] = rest % v->shape[d];
        if (flat) *to = i;
        to += width;
    }
    while (to < end) *to++ = 0;
}

/* The places of the non-zero elements as (n, ndim) int64; flat: as (n) of the flat tensor. */
static PyObject *places_of(PyObject *x, bool flat) {
    RL_OWNED PyObject *truths = truths_of(x);
    if (!truths) return NULL;
    int device = view_of(truths)->device;
    if (device != RL_CPU) {
        PyErr_SetString(PyExc_NotImplementedError,
                        device == RL_META
                            ? "which elements are not zero cannot be known of meta tensors: they have no data"
                            : "rushlight finds non-zero elements on the CPU only");
        return NULL;
    }
    RL_HELD v = {.storage = NULL};
    if (hold_dense(&v, truths, RL_BOOL) < 0) return NULL;
    int64_t shape[2] = {truths_count(&v), v.ndim};
    rl_tensor *places = rl_tensor_new(RL_I64, RL_CPU, 0, shape, flat ? 1 : 2);
    if (places) places_fill(&v, &places->v, flat);
    return (PyObject *)places;
}

COMPOSE(nonzero) {
    PyObject *x = tensor_of(b, 0);
    if (!b->k.arg[1].u.i) return places_of(x, false);
    RL_OWNED PyObject *line = NULL;
    if (view_of(x)->ndim == 0) { /* a number is a vector of one */
        rl_slot args[2] = {tensor_slot(x), int_slot(0)};
        if (!(line = rl_op_run(RL_OP_unsqueeze, args, 2))) return NULL;
        x = line;
    }
    RL_OWNED PyObject *places = places_of(x, false);
    if (!places) return NULL;
    rl_slot args[2] = {tensor_slot(places), int_slot(1)};
    return rl_op_run(RL_OP_unbind, args, 2);
}

static PyObject *flat_of(PyObject *x) {
    static const int64_t all = -1;
    rl_slot args[2] = {tensor_slot(x), ints_slot(&all, 1)};
    return rl_op_run(RL_OP_reshape, args, 2);
}

/* x's slices that index, made on the CPU, names */
static PyObject *picked(PyObject *x, int64_t dim, PyObject *index) {
    const rl_view *v = view_of(x), *made = view_of(index);
    RL_OWNED PyObject *there = Py_NewRef(index);
    if (v->device != made->device) {
        Py_SETREF(there, (PyObject *)rl_tensor_new(RL_I64, v->device, v->device_index, made->shape, 1));
        if (!there || rl_tensor_copy((rl_tensor *)there, (rl_tensor *)index) < 0) return NULL;
    }
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), tensor_slot(there)};
    return rl_op_run(RL_OP_index_select, args, 3);
}

static PyObject *stretched_flat(PyObject *x, const int64_t *shape, int n) {
    rl_slot args[2] = {tensor_slot(x), ints_slot(shape, n)};
    RL_OWNED PyObject *wide = rl_op_run(RL_OP_expand, args, 2);
    return wide ? flat_of(wide) : NULL;
}

COMPOSE(masked_select) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (b->k.arg[1].u.t->dtype != RL_BOOL) {
        PyErr_SetString(PyExc_RuntimeError, "masked_select: expected BoolTensor for mask");
        return NULL;
    }
    if (rl_dims_broadcast(b->k.arg[1].u.t, b->k.arg[0].u.t, shape, &n) != RL_OK)
        return rl_raise("masked_select");
    RL_OWNED PyObject *x = stretched_flat(tensor_of(b, 0), shape, n);
    RL_OWNED PyObject *mask = x ? stretched_flat(tensor_of(b, 1), shape, n) : NULL;
    RL_OWNED PyObject *places = mask ? places_of(mask, true) : NULL;
    return places ? picked(x, 0, places) : NULL;
}

/* ---- take_along_dim ---- */
/* indices of any size wrap, as PyTorch's do */
static PyObject *wrapped_gather(PyObject *x, int64_t dim, PyObject *index) {
    rl_slot size[2] = {tensor_slot(index), int_slot(rl_size_at(view_of(x), dim))};
    if (size[1].u.i == 0) size[1].u.i = 1;
    RL_OWNED PyObject *whole = rl_op_run(RL_OP_remainder, size, 2);
    if (!whole) return NULL;
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), tensor_slot(whole)};
    return rl_op_run(RL_OP_gather, args, 3);
}

/* The dims of `to` and `t` broadcast, but for dim, where t keeps its size. */
static PyObject *stretched_but(PyObject *t, PyObject *to, int64_t dim) {
    const rl_view *v = view_of(t);
    int64_t shape[RL_MAX_DIMS], full[RL_MAX_DIMS];
    rl_view like = *view_of(to);
    int n;
    memcpy(full, like.shape, (size_t)like.ndim * sizeof *full);
    full[dim] = rl_size_at(v, dim);
    like.shape = full;
    if (rl_dims_broadcast(v->ndim ? &like : v, v, shape, &n) != RL_OK) return rl_raise("take_along_dim");
    rl_slot args[2] = {tensor_slot(t), ints_slot(shape, n)};
    return rl_op_run(RL_OP_expand, args, 2);
}

COMPOSE(take_along_dim) {
    PyObject *x = tensor_of(b, 0), *index = tensor_of(b, 1);
    int64_t dim = b->k.arg[2].u.i;
    bool flat = b->k.arg[2].tag == RL_NONE;
    if (view_of(index)->dtype != RL_I64) {
        PyErr_Format(PyExc_RuntimeError, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                     rl_dtype_title(view_of(index)->dtype));
        return NULL;
    }
    if (!flat && view_of(x)->ndim != view_of(index)->ndim) {
        PyErr_Format(
            PyExc_RuntimeError,
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
            "got %d dimensions for input, and %d dimensions for indices",
            view_of(x)->ndim, view_of(index)->ndim);
        return NULL;
    }
    if (!flat && rl_dim_wrap(&dim, view_of(x)->ndim) != RL_OK) return rl_raise("take_along_dim");
    if (flat || view_of(x)->ndim == 0) { /* PyTorch takes negative indices only along a dim */
        RL_OWNED PyObject *line = flat_of(x), *places = line ? flat_of(index) : NULL;
        if (!places) return NULL;
        rl_slot args[3] = {tensor_slot(line), int_slot(0), tensor_slot(places)};
        return rl_op_run(RL_OP_gather, args, 3);
    }
    RL_OWNED PyObject *wide = stretched_but(x, index, dim);
    RL_OWNED PyObject *places = wide ? stretched_but(index, x, dim) : NULL;
    return places ? wrapped_gather(wide, dim, places) : NULL;
}

/* ---- repeat_interleave ---- */
#define ANY_LENGTH INT64_MIN
/* The sum of the counts (held, or NULL: `times` for each), which are `expected` unless that is ANY_LENGTH;
 * -1: raised */
static int64_t interleaved_total(const rl_view *v, int64_t times, int64_t n, int64_t expected) {
    RL_RAW;
    const int64_t *counts = v ? rl_const_data(v) : NULL;
    int64_t total = 0, least = counts || times < 0 ? 0 : times;
    bool huge = !counts && __builtin_mul_overflow(n, least, &total);
    if (!counts && times < 0 && n) least = times;
    for (int64_t i = 0; counts && i < n; i++) {
        if (counts[i] < least) least = counts[i];
        huge |= __builtin_add_overflow(total, counts[i] < 0 ? 0 : counts[i], &total);
    }
    if (least < 0 || huge)
        PyErr_SetString(PyExc_RuntimeError, least >= 0 ? "numel: integer multiplication overflow"
                                            : counts   ? "repeats can not be negative"
                                                       : "Repeats must be non-negative");
    else if (expected < 0 && expected != ANY_LENGTH)
        PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld: [%lld]",
                     (long long)expected, (long long)expected);
    else if (expected >= 0 && expected != total)
        PyErr_SetString(PyExc_RuntimeError, "allocated size does not match required size");
    else
        return total;
    return -1;
}

static void interleaved_fill(const rl_view *v, int64_t times, int64_t n, const rl_view *index) {
    RL_RAW;
    const int64_t *counts = v ? rl_const_data(v) : NULL;
    int64_t *to = rl_data(index, RL_FRESH), *end = to + index->numel;
    for (int64_t i = 0; to < end && i < n; i++)
        for (int64_t j = counts ? counts[i] : times; j > 0 && to < end; j--) *to++ = i;
    while (to < end) *to++ = 0; /* the counts were written in between */
}

/* index i, counts[i] times (each `times` when counts is NULL), for i below n */
static PyObject *interleaved(const rl_view *counts, int64_t times, int64_t n, int64_t expected) {
    int64_t total = interleaved_total(counts, times, n, expected);
    rl_tensor *index = total < 0 ? NULL : rl_tensor_new(RL_I64, RL_CPU, 0, &total, 1);
    if (index) interleaved_fill(counts, times, n, &index->v);
    return (PyObject *)index;
}

/* the repeats as int64 without gaps */
static PyObject *counts_of(PyObject *repeats) {
    const rl_view *v = view_of(repeats);
    if (v->device == RL_META) {
        PyErr_SetString(PyExc_RuntimeError, "cannot repeat_interleave a meta tensor without output_size");
        return NULL;
    }
    if (v->ndim > 1) {
        PyErr_SetString(PyExc_RuntimeError, "repeats must be 0-dim or 1-dim tensor");
        return NULL;
    }
    if (v->dtype != RL_I64 && v->dtype != RL_I32) {
        PyErr_SetString(PyExc_RuntimeError, "repeats has to be Long or Int tensor");
        return NULL;
    }
    rl_tensor *counts = rl_tensor_new(RL_I64, RL_CPU, 0, v->shape, v->ndim);
    if (counts && rl_tensor_copy(counts, (rl_tensor *)repeats) < 0) Py_CLEAR(counts);
    return (PyObject *)counts;
}

/* x and its dimension: flat and 0 when dim is None */
static PyObject *slices_of(rl_bound *b, int64_t *dim) {
    PyObject *x = tensor_of(b, 0);
    *dim = 0;
    if (b->k.arg[2].tag == RL_NONE) return flat_of(x);
    *dim = b->k.arg[2].u.i;
    if (rl_dim_wrap(dim, view_of(x)->ndim) != RL_OK) return rl_raise("repeat_interleave");
    return Py_NewRef(x);
}

static int64_t expected_of(rl_bound *b, int arg) {
    return b->k.arg[arg].tag == RL_INT ? b->k.arg[arg].u.i : ANY_LENGTH;
}

static PyObject *index_unseen(int64_t n) {
    return (PyObject *)rl_tensor_new(RL_I64, RL_META, 0, &n, 1);
}

static int64_t slice_count(PyObject *x, int64_t dim) {
    return view_of(x)->ndim ? rl_size_at(view_of(x), dim) : 1;
}

static int64_t first_count(const rl_view *v) {
    RL_RAW;
    return *(const int64_t *)rl_const_data(v);
}

COMPOSE(repeat_interleave) {
    int64_t dim;
    RL_OWNED PyObject *x = slices_of(b, &dim);
    const rl_slot *size = &b->k.arg[3];
    int64_t total;
    if (x && size->tag == RL_INT && !__builtin_mul_overflow(b->k.arg[1].u.i, slice_count(x, dim), &total) &&
        total >= 0 && total != size->u.i) {
        PyErr_Format(PyExc_RuntimeError, "repeat_interleave: Invalid output_size, expected %lld but got %lld",
                     (long long)total, (long long)size->u.i);
        return NULL;
    }
    RL_OWNED PyObject *index = x ? interleaved(NULL, b->k.arg[1].u.i, slice_count(x, dim), ANY_LENGTH) : NULL;
    return index ? picked(x, dim, index) : NULL;
}

COMPOSE(repeat_interleave_tensor) {
    int64_t dim;
    RL_OWNED PyObject *x = slices_of(b, &dim);
    if (x && b->k.arg[1].u.t->device == RL_META && expected_of(b, 3) >= 0) {
        RL_OWNED PyObject *unseen = index_unseen(expected_of(b, 3));
        return unseen ? picked(x, dim, unseen) : NULL;
    }
    RL_OWNED PyObject *counts = x ? counts_of(tensor_of(b, 1)) : NULL;
    RL_HELD v = {.storage = NULL};
    if (!counts || hold_dense(&v, counts, RL_I64) < 0) return NULL;
    int64_t n = slice_count(x, dim);
    bool one = v.numel == 1;
    if (!one && v.numel != n) {
        PyErr_Format(PyExc_RuntimeError,
                     "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and "
                     "input.size(%lld) = %lld",
                     (long long)v.numel, (long long)dim, (long long)n);
        return NULL;
    }
    RL_OWNED PyObject *index = interleaved(one ? NULL : &v, one ? first_count(&v) : 0, n, expected_of(b, 3));
    return index ? picked(x, dim, index) : NULL;
}

COMPOSE(repeat_interleave_index) {
    if (b->k.arg[0].u.t->device == RL_META && expected_of(b, 1) >= 0) return index_unseen(expected_of(b, 1));
    RL_OWNED PyObject *counts = counts_of(tensor_of(b, 0));
    RL_HELD v = {.storage = NULL};
    if (!counts || hold_dense(&v, counts, RL_I64) < 0) return NULL;
    return interleaved(&v, 0, v.numel, expected_of(b, 1));
}

/* ---- dimensions ---- */
static int wrapped_dims(const rl_slot *s, int ndim, const char *what, int64_t *dims) {
    char text[RL_DIMS_TEXT];
    uint64_t seen = 0;
    int n = s->tag == RL_INTS ? s->n : 1;
    for (int i = 0; i < n; i++) {
        dims[i] = s->tag == RL_INTS ? s->u.ints[i] : s->u.i;
        if (rl_dim_wrap(&dims[i], ndim) != RL_OK) {
            rl_raise("movedim");
            return -1;
        }
    }
    for (int i = 0; i < n; i++) {
        if (seen >> dims[i] & 1) {
            PyErr_Format(PyExc_RuntimeError, "movedim: repeated dim in `%s` (%s)", what,
                         rl_dims_text(text, s->tag == RL_INTS ? s->u.ints : &s->u.i, n));
            return -1;
        }
        seen |= 1ull << dims[i];
    }
    return n;
}

COMPOSE(movedim) {
    const rl_slot *from = &b->k.arg[1], *to = &b->k.arg[2];
    int64_t source[RL_MAX_DIMS], place[RL_MAX_DIMS], order[RL_MAX_DIMS];
    int ndim = b->k.arg[0].u.t->ndim, n_from = from->tag == RL_INTS ? from->n : 1,
        n_to = to->tag == RL_INTS ? to->n : 1;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (n_from != n_to) {
        PyErr_Format(PyExc_RuntimeError,
                     "movedim: Invalid source or destination dims: source (%s dims) should contain the same "
                     "number of dims as destination (%s dims)",
                     rl_dims_text(one, from->tag == RL_INTS ? from->u.ints : &from->u.i, n_from),
                     rl_dims_text(two, to->tag == RL_INTS ? to->u.ints : &to->u.i, n_to));
        return NULL;
    }
    if (wrapped_dims(from, ndim, "source", source) < 0 || wrapped_dims(to, ndim, "destination", place) < 0)
        return NULL;
    if (ndim == 0) return Py_NewRef(tensor_of(b, 0));
    uint64_t moved = 0;
    for (int d = 0; d < ndim; d++) order[d] = -1;
    for (int i = 0; i < n_from; i++) {
        order[place[i]] = source[i];
        moved |= 1ull << source[i];
    }
    for (int d = 0, next = 0; d < ndim; d++) {
        if (order[d] >= 0) continue;
        while (moved >> next & 1) next++;
        order[d] = next++;
    }
    rl_slot args[2] = {b->k.arg[0], ints_slot(order, ndim)};
    return rl_op_run(RL_OP_permute, args, 2);
}

COMPOSE(moveaxis) {
    return compose_movedim(b);
}

COMPOSE(unflatten) {
    const rl_view *x = b->k.arg[0].u.t;
    const rl_slot *s = &b->k.arg[2];
    int64_t dim = b->k.arg[1].u.i, shape[2 * RL_MAX_DIMS], known = 1;
    const int64_t *sizes = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    int n = s->tag == RL_INTS ? s->n : 1, open = -1;
    char text[RL_DIMS_TEXT];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return rl_raise("unflatten");
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "unflatten: sizes must be non-empty");
        return NULL;
    }
    int64_t whole = x->ndim ? x->shape[dim] : 1;
    for (int i = 0; i < n; i++) {
        if (sizes[i] == -1 && open < 0)
            open = i;
        else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known))
            known = -1;
        if (known < 0) break;
    }
    if (known < 0 || (open >= 0 ? known == 0 || whole % known : known != whole)) {
        PyErr_Format(PyExc_RuntimeError,
                     "unflatten: Provided sizes %s don't multiply up to the size of dim %lld (%lld) in the "
                     "input tensor",
                     rl_dims_text(text, sizes, n), (long long)dim, (long long)whole);
        return NULL;
    }
    if (x->ndim - 1 + n > RL_MAX_DIMS) {
        PyErr_Format(PyExc_RuntimeError, "unflatten: tensors have at most %d dimensions", RL_MAX_DIMS);
        return NULL;
    }
    int to = 0;
    for (int d = 0; d < dim; d++) shape[to++] = x->shape[d];
    for (int i = 0; i < n; i++) shape[to++] = i == open ? whole / known : sizes[i];
    for (int64_t d = dim + 1; d < x->ndim; d++) shape[to++] = x->shape[d];
    rl_slot args[2] = {b->k.arg[0], ints_slot(shape, to)};
    return rl_op_run(RL_OP_view, args, 2);
}
