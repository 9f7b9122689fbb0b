/* Where elements are, and those that an index or a mask picks. */
#include "slots.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

/* ---- where is it not zero? ---- */
/* x != 0: bools without gaps in the order of the elements */
static PyObject *truths_of(PyObject *x) {
    const rl_view *v = view_of(x);
    rl_tensor *truths = rl_tensor_new(RL_BOOL, v->device, v->device_index, v->shape, v->ndim);
    if (truths && rl_tensor_copy(truths, (rl_tensor *)x) < 0) Py_CLEAR(truths);
    return (PyObject *)truths;
}

/* `held` is a look at t, which is on the CPU, without gaps and of that dtype */
int rl_composite_dense(rl_view *held, PyObject *t, int dtype) {
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
    if (rl_composite_dense(&v, truths, RL_BOOL) < 0) return NULL;
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

PyObject *rl_composite_flat(PyObject *x) {
    static const int64_t all = -1;
    rl_slot args[2] = {tensor_slot(x), ints_slot(&all, 1)};
    return rl_op_run(RL_OP_reshape, args, 2);
}

/* x's slices that index, made on the CPU, names */
PyObject *rl_composite_pick(PyObject *x, int64_t dim, PyObject *index) {
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
    return wide ? rl_composite_flat(wide) : NULL;
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
    return places ? rl_composite_pick(x, 0, places) : NULL;
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
        RL_OWNED PyObject *line = rl_composite_flat(x), *places = line ? rl_composite_flat(index) : NULL;
        if (!places) return NULL;
        rl_slot args[3] = {tensor_slot(line), int_slot(0), tensor_slot(places)};
        return rl_op_run(RL_OP_gather, args, 3);
    }
    RL_OWNED PyObject *wide = stretched_but(x, index, dim);
    RL_OWNED PyObject *places = wide ? stretched_but(index, x, dim) : NULL;
    return places ? wrapped_gather(wide, dim, places) : NULL;
}
