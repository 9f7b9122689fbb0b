/* Views, and copies where no view will do; the parts that a tensor is cut into. */
#include "slots.h"
#include "history/node.h"
#include "core/error.h"
#include "core/view.h"
#include "ops/shapes.h"
#include <string.h>

static PyObject *clone_as(PyObject *x, int64_t format) {
    rl_slot args[2] = {tensor_slot(x), int_slot(format)};
    return rl_op_run(RL_OP_clone, args, 2);
}

/* x.view(sizes), or a contiguous copy's view where strides do not allow it */
static PyObject *reshape_to(PyObject *x, rl_slot size) {
    rl_slot args[2] = {tensor_slot(x), size};
    int64_t shape[RL_MAX_DIMS];
    PyObject *view = rl_op_run(RL_OP_view, args, 2);
    if (view || !PyErr_ExceptionMatches(PyExc_RuntimeError) || rl_is_contiguous(&((rl_tensor *)x)->v))
        return view;
    if (size.n > RL_MAX_DIMS || rl_view_size(&((rl_tensor *)x)->v, &size, shape) != RL_OK) {
        rl_error_clear(); /* a copy would not help: what view() said stays */
        return NULL;
    }
    PyErr_Clear();
    RL_OWNED PyObject *copy = clone_as(x, RL_FORMAT_CONTIGUOUS);
    if (!copy) return NULL;
    args[0] = tensor_slot(copy);
    return rl_op_run(RL_OP_view, args, 2);
}

COMPOSE(reshape) {
    return reshape_to(tensor_of(b, 0), b->k.arg[1]);
}

COMPOSE(contiguous) {
    PyObject *x = tensor_of(b, 0);
    const rl_view *v = b->k.arg[0].u.t;
    int64_t format = b->k.arg[1].tag == RL_INT ? b->k.arg[1].u.i : RL_FORMAT_CONTIGUOUS;
    return rl_is_in_format(v, format) ? Py_NewRef(x) : clone_as(x, format);
}

COMPOSE(flatten) {
    const rl_view *x = b->k.arg[0].u.t;
    int64_t start = b->k.arg[1].u.i, end = b->k.arg[2].u.i, shape[RL_MAX_DIMS];
    if (rl_dim_wrap(&start, x->ndim) != RL_OK || rl_dim_wrap(&end, x->ndim) != RL_OK)
        return rl_raise("flatten");
    if (start > end) {
        PyErr_SetString(PyExc_RuntimeError,
                        "flatten() has invalid args: start_dim cannot come after end_dim");
        return NULL;
    }
    if (x->ndim && start == end) return Py_NewRef(tensor_of(b, 0));
    int n = 0;
    for (int64_t d = 0; d < start; d++) shape[n++] = x->shape[d];
    shape[n] = 1;
    for (int64_t d = start; d <= end && d < x->ndim; d++)
        if (__builtin_mul_overflow(shape[n], x->shape[d], &shape[n])) {
            PyErr_SetString(PyExc_RuntimeError, "numel: integer multiplication overflow");
            return NULL;
        }
    n++;
    for (int64_t d = end + 1; d < x->ndim; d++) shape[n++] = x->shape[d];
    return reshape_to(tensor_of(b, 0), (rl_slot){.tag = RL_INTS, .n = n, .u.ints = shape});
}

static PyObject *narrow_piece(PyObject *x, int64_t dim, int64_t start, int64_t length) {
    rl_slot args[4] = {tensor_slot(x), int_slot(dim), int_slot(start), int_slot(length)};
    return rl_op_run(RL_OP_narrow, args, 4);
}

/* Room for n pieces at once, so that a number beyond all memory fails first; long loops can be interrupted.
 */
static PyObject *pieces_new(int64_t n) {
    PyObject *pieces = PyTuple_New((Py_ssize_t)n);
    if (pieces) PyObject_GC_UnTrack(pieces); /* nobody finds it before it is whole */
    if (pieces || !PyErr_ExceptionMatches(PyExc_MemoryError)) return pieces;
    PyErr_Clear();
    PyErr_Format(PyExc_RuntimeError, "there is no memory for a tuple of %lld tensors", (long long)n);
    return NULL;
}
static int piece_put_steal(PyObject *pieces, int64_t i, PyObject *piece) {
    if (!piece) return -1;
    PyTuple_SET_ITEM(pieces, (Py_ssize_t)i, piece);
    return i % 4096 == 4095 ? PyErr_CheckSignals() : 0;
}
static PyObject *pieces_give(PyObject **pieces) {
    if (*pieces) PyObject_GC_Track(*pieces);
    return rl_give(pieces);
}

static PyObject *cut(PyObject *x, int64_t dim, const int64_t *sizes, int64_t n, int64_t each) {
    RL_OWNED PyObject *pieces = pieces_new(n);
    int64_t at = 0, whole = rl_size_at(&((rl_tensor *)x)->v, dim);
    for (int64_t i = 0; pieces && i < n; i++) {
        int64_t size = sizes ? sizes[i] : each < whole - at ? each : whole - at;
        if (piece_put_steal(pieces, i, narrow_piece(x, dim, at, size)) < 0) return NULL;
        at += size;
    }
    return pieces_give(&pieces);
}

static PyObject *pieces_of(PyObject *x, int64_t dim, const int64_t *sizes, int64_t n, int64_t each) {
    int grad = rl_here.grad;
    rl_here.grad = 0;
    PyObject *pieces = cut(x, dim, sizes, n, each);
    rl_here.grad = grad;
    return rl_history_pieces((rl_tensor *)x, pieces, sizes ? "SplitWithSizesBackward0" : "SplitBackward0",
                             dim, RL_PIECES_CAT);
}

static int wrap_of(rl_bound *b, int arg, int64_t *dim, const char *name) {
    const rl_view *x = b->k.arg[0].u.t;
    *dim = b->k.arg[arg].u.i;
    if (x->ndim == 0) {
        PyErr_Format(PyExc_RuntimeError, "%s expects at least a 1-dimensional tensor", name);
        return -1;
    }
    if (rl_dim_wrap(dim, x->ndim) == RL_OK) return 0;
    rl_raise(name);
    return -1;
}

COMPOSE(chunk) {
    int64_t dim, chunks = b->k.arg[1].u.i;
    if (wrap_of(b, 2, &dim, "chunk") < 0) return NULL;
    if (chunks <= 0) {
        PyErr_Format(PyExc_RuntimeError, "chunk expects `chunks` to be greater than 0, got: %lld",
                     (long long)chunks);
        return NULL;
    }
    int64_t size = rl_tensor_arg(&b->k, 0)->shape[dim], each = size / chunks + (size % chunks != 0);
    if (size == 0) return pieces_of(tensor_of(b, 0), dim, NULL, chunks, 0);
    return pieces_of(tensor_of(b, 0), dim, NULL, size / each + (size % each != 0), each);
}

COMPOSE(split) {
    int64_t dim, total = 0;
    char text[RL_DIMS_TEXT];
    const rl_slot *s = &b->k.arg[1];
    if (wrap_of(b, 2, &dim, "split") < 0) return NULL;
    int64_t size = rl_tensor_arg(&b->k, 0)->shape[dim];
    if (s->tag == RL_INTS) {
        for (int i = 0; i < s->n; i++)
            if (s->u.ints[i] < 0) {
                PyErr_Format(PyExc_RuntimeError,
                             "split_with_sizes expects split_sizes have only non-negative entries, but got "
                             "split_sizes=%s",
                             rl_dims_text(text, s->u.ints, s->n));
                return NULL;
            }
        for (int i = 0; i < s->n && total >= 0; i++)
            if (__builtin_add_overflow(total, s->u.ints[i], &total)) total = -1;
        if (total != size) {
            PyErr_Format(
                PyExc_RuntimeError,
                "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at "
                "dimension %lld), but got split_sizes=%s",
                (long long)size, (long long)dim, rl_dims_text(text, s->u.ints, s->n));
            return NULL;
        }
        return pieces_of(tensor_of(b, 0), dim, s->u.ints, s->n, 0);
    }
    if (s->u.i == 0 && size != 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                     (long long)size);
        return NULL;
    }
    if (s->u.i < 0) {
        PyErr_Format(PyExc_RuntimeError, "split expects split_size be non-negative, but got split_size=%lld",
                     (long long)s->u.i);
        return NULL;
    }
    int64_t n = size == 0 ? 1 : size / s->u.i + (size % s->u.i != 0);
    return pieces_of(tensor_of(b, 0), dim, NULL, n, s->u.i);
}

static PyObject *slices_of(rl_slot x, int64_t dim) {
    int64_t n = rl_slot_tensor(&x)->shape[dim];
    RL_OWNED PyObject *slices = pieces_new(n);
    for (int64_t i = 0; slices && i < n; i++) {
        rl_slot args[3] = {x, int_slot(dim), int_slot(i)};
        if (piece_put_steal(slices, i, rl_op_run(RL_OP_select, args, 3)) < 0) return NULL;
    }
    return pieces_give(&slices);
}

COMPOSE(unbind) {
    int64_t dim;
    if (wrap_of(b, 1, &dim, "unbind") < 0) return NULL;
    int grad = rl_here.grad;
    rl_here.grad = 0;
    PyObject *slices = slices_of(b->k.arg[0], dim);
    rl_here.grad = grad;
    return rl_history_pieces((rl_tensor *)tensor_of(b, 0), slices, "UnbindBackward0", dim, RL_PIECES_STACK);
}
