/* Views, and copies where no view will do: shapes, dimensions, parts. */
#include "compose.h"
#include "autograd_graph/node.h"
#include "core/error.h"
#include "core/view.h"
#include "ops/shapes.h"
#include "core/dtype.h"
#include <string.h>

static PyObject *clone_as(PyObject *x, int64_t format) {
    rl_value args[2] = {rl_value_of(x), INT(format)};
    return rl_op_run(RL_OP_clone, args, 2);
}

/* x.view(sizes), or a contiguous copy's view where strides do not allow it */
static PyObject *reshape_to(PyObject *x, rl_value size) {
    rl_value args[2] = {rl_value_of(x), size};
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
    args[0] = rl_value_of(copy);
    return rl_op_run(RL_OP_view, args, 2);
}

COMPOSED_AS_IT_IS(reshape) {
    return reshape_to(tensor_of(b, 0), b->k.arg[1]);
}

COMPOSED_AS_IT_IS(contiguous) {
    PyObject *x = tensor_of(b, 0);
    const rl_view *v = b->k.arg[0].u.t;
    int64_t format = b->k.arg[1].tag == RL_INT ? b->k.arg[1].u.i : RL_FORMAT_CONTIGUOUS;
    return rl_is_in_format(v, format) ? Py_NewRef(x) : clone_as(x, format);
}

COMPOSED_AS_IT_IS(flatten) {
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
    return reshape_to(tensor_of(b, 0), (rl_value){.tag = RL_INTS, .n = n, .u.ints = shape});
}

static PyObject *narrow_piece(PyObject *x, int64_t dim, int64_t start, int64_t length) {
    rl_value args[4] = {rl_value_of(x), INT(dim), INT(start), INT(length)};
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
    return rl_move(pieces);
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
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *pieces = cut(x, dim, sizes, n, each);
    rl_tls.grad = grad;
    return rl_graph_pieces((rl_tensor *)x, pieces, sizes ? "SplitWithSizesBackward0" : "SplitBackward0", dim,
                           RL_PIECES_CAT);
}

static int wrap_of(rl_op_call *b, int arg, int64_t *dim, const char *name) {
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

COMPOSED_AS_IT_IS(chunk) {
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

COMPOSED_AS_IT_IS(split) {
    int64_t dim, total = 0;
    char text[RL_DIMS_TEXT];
    const rl_value *s = &b->k.arg[1];
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

static PyObject *slices_of(rl_value x, int64_t dim) {
    int64_t n = rl_value_view(&x)->shape[dim];
    RL_OWNED PyObject *slices = pieces_new(n);
    for (int64_t i = 0; slices && i < n; i++) {
        rl_value args[3] = {x, INT(dim), INT(i)};
        if (piece_put_steal(slices, i, rl_op_run(RL_OP_select, args, 3)) < 0) return NULL;
    }
    return pieces_give(&slices);
}

COMPOSED_AS_IT_IS(unbind) {
    int64_t dim;
    if (wrap_of(b, 1, &dim, "unbind") < 0) return NULL;
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    PyObject *slices = slices_of(b->k.arg[0], dim);
    rl_tls.grad = grad;
    return rl_graph_pieces((rl_tensor *)tensor_of(b, 0), slices, "UnbindBackward0", dim, RL_PIECES_STACK);
}

/* ---- dimensions in another order, and one dimension as several ---- */
static int wrapped_dims(const rl_value *s, int ndim, const char *what, int64_t *dims) {
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

static V movedim(rl_values *g, rl_op_call *b) {
    const V *from = &X(1), *to = &X(2);
    int64_t source[RL_MAX_DIMS], place[RL_MAX_DIMS], order[RL_MAX_DIMS];
    int ndim = NDIM(X(0)), n_from = from->tag == RL_INTS ? from->n : 1, n_to = to->tag == RL_INTS ? to->n : 1;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (n_from != n_to) {
        return RAISE(PyExc_RuntimeError,
                     "movedim: Invalid source or destination dims: source (%s dims) should contain the same "
                     "number of dims as destination (%s dims)",
                     rl_dims_text(one, from->tag == RL_INTS ? from->u.ints : &from->u.i, n_from),
                     rl_dims_text(two, to->tag == RL_INTS ? to->u.ints : &to->u.i, n_to));
    }
    FAILED =
        wrapped_dims(from, ndim, "source", source) < 0 || wrapped_dims(to, ndim, "destination", place) < 0;
    if (FAILED || ndim == 0) return X(0);
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
    return OP(permute, X(0), INTS(order, ndim));
}

COMPOSED(movedim) {
    return movedim(g, b);
}
COMPOSED(moveaxis) {
    return movedim(g, b);
}

COMPOSED(unflatten) {
    const rl_view *x = rl_value_tensor(X(0));
    const V *s = &X(2);
    int64_t dim = X(1).u.i, shape[2 * RL_MAX_DIMS], known = 1;
    const int64_t *sizes = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    int n = s->tag == RL_INTS ? s->n : 1, open = -1;
    char text[RL_DIMS_TEXT];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) {
        FAILED = true;
        rl_raise("unflatten");
        return NONE;
    }
    if (n == 0) {
        return RAISE(PyExc_RuntimeError, "unflatten: sizes must be non-empty");
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
        return RAISE(PyExc_RuntimeError,
                     "unflatten: Provided sizes %s don't multiply up to the size of dim %lld (%lld) in the "
                     "input tensor",
                     rl_dims_text(text, sizes, n), (long long)dim, (long long)whole);
    }
    if (x->ndim - 1 + n > RL_MAX_DIMS) {
        return RAISE(PyExc_RuntimeError, "unflatten: tensors have at most %d dimensions", RL_MAX_DIMS);
    }
    int to = 0;
    for (int d = 0; d < dim; d++) shape[to++] = x->shape[d];
    for (int i = 0; i < n; i++) shape[to++] = i == open ? whole / known : sizes[i];
    for (int64_t d = dim + 1; d < x->ndim; d++) shape[to++] = x->shape[d];
    return OP(view, X(0), INTS(shape, to));
}

/* ---- views of parts along a dimension, and unsafe_*, which in PyTorch are views that autograd does not know
 * as such ---- */
static V wrapped(rl_values *g, V x, int64_t dim) {
    if (rl_dim_wrap(&dim, NDIM(x)) == RL_OK) return INT(dim);
    FAILED = true;
    rl_raise(NULL);
    return NONE;
}

static V part(rl_values *g, V x, int64_t dim, int64_t start, int64_t end) {
    return OP(slice, x, INT(dim), INT(start), INT(end));
}

/* n parts of about one size */
static V cut_even(rl_values *g, V x, int64_t n, int64_t dim) {
    if (n <= 0)
        return RAISE(PyExc_RuntimeError, "number of sections must be larger than 0, got %lld", (long long)n);
    const int64_t size = SIZE(x, dim), least = size / n, longer = size % n;
    rl_view **room = rl_values_room(g, n, sizeof *room);
    for (int64_t i = 0, at = 0; room && i < n && !FAILED; i++) {
        int64_t end = at + least + (i < longer);
        room[i] = part(g, x, dim, at, end).u.t;
        at = end;
    }
    return FAILED ? NONE : TENSORS(room, (int)n);
}

/* parts that end at indices, which may be anything that a slice takes */
static V cut_at(rl_values *g, V x, const int64_t *indices, int n, int64_t dim) {
    rl_view **room = rl_values_room(g, n + 1, sizeof *room);
    for (int i = 0; room && i <= n && !FAILED; i++)
        room[i] = part(g, x, dim, i ? indices[i - 1] : 0, i < n ? indices[i] : SIZE(x, dim)).u.t;
    return FAILED ? NONE : TENSORS(room, n + 1);
}

static V cut_where(rl_values *g, V x, V where, int64_t dim) {
    if (where.tag == RL_INTS) return cut_at(g, x, where.u.ints, where.n, dim);
    return cut_even(g, x, where.u.i, dim);
}

static V tensor_split(rl_values *g, V x, V where, int64_t dim) {
    if (NDIM(x) == 0)
        return RAISE(PyExc_RuntimeError,
                     "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
    V along = wrapped(g, x, dim);
    return FAILED ? NONE : cut_where(g, x, where, along.u.i);
}

COMPOSED(tensor_split) {
    return tensor_split(g, X(0), X(1), X(2).u.i);
}
COMPOSED(tensor_split_indices) {
    return tensor_split(g, X(0), X(1), X(2).u.i);
}

static int read_indices(rl_values *g, V where, int64_t *indices, int64_t n) {
    RL_HELD held = {.storage = NULL};
    V dense = OP(contiguous, where);
    if (FAILED) return -1;
    if (rl_value_tensor(dense)->device != RL_CPU || NUMEL(dense) != n) {
        RAISE(PyExc_RuntimeError, "tensor_split expected tensor_indices_or_sections to be on cpu");
        return -1;
    }
    FAILED = rl_composite_dense(&held, (PyObject *)RL_TENSOR_OF(dense.u.t), RL_I64) < 0 ||
             rl_composite_numbers(&held, indices) < 0;
    return FAILED ? -1 : 0;
}

COMPOSED(tensor_split_tensor) {
    V where = X(1);
    const int ndim = NDIM(where);
    if (rl_value_tensor(where)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError,
                     "tensor_split expected tensor_indices_or_sections to have dtype of long, but got %s",
                     rl_dtype_title(rl_value_tensor(where)->dtype));
    if (ndim > 1)
        return RAISE(PyExc_RuntimeError,
                     "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                     "one-dimensional tensor, but got a tensor with %d dims",
                     ndim);
    if (ndim == 0) return tensor_split(g, X(0), ITEM(where), X(2).u.i);
    const int64_t n = NUMEL(where);
    if (n > INT32_MAX) return RAISE(PyExc_RuntimeError, "tensor_split: there are too many indices");
    int64_t *indices = rl_values_room(g, n, sizeof *indices);
    if (!indices || read_indices(g, where, indices, n) < 0) return NONE;
    return tensor_split(g, X(0), INTS(indices, (int)n), X(2).u.i);
}

/* along a dimension that the name says */
static V split_along(rl_values *g, rl_op_call *b, int least, int64_t dim) {
    V x = X(0), where = X(1);
    const char *name = b->schema->op->name;
    if (NDIM(x) < least)
        return RAISE(
            PyExc_RuntimeError,
            "torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!",
            name, least, NDIM(x));
    if (where.tag != RL_INTS && (where.u.i == 0 || SIZE(x, dim) % where.u.i))
        return RAISE(
            PyExc_RuntimeError,
            "torch.%s attempted to split along dimension %lld, but the size of the dimension %lld is "
            "not divisible by the split_size %lld!",
            name, (long long)dim, (long long)SIZE(x, dim), (long long)where.u.i);
    return tensor_split(g, x, where, dim);
}

COMPOSED(hsplit) {
    return split_along(g, b, 1, NDIM(X(0)) > 1);
}
COMPOSED(hsplit_indices) {
    return split_along(g, b, 1, NDIM(X(0)) > 1);
}
COMPOSED(vsplit) {
    return split_along(g, b, 2, 0);
}
COMPOSED(vsplit_indices) {
    return split_along(g, b, 2, 0);
}
COMPOSED(dsplit) {
    return split_along(g, b, 3, 2);
}
COMPOSED(dsplit_indices) {
    return split_along(g, b, 3, 2);
}

COMPOSED(split_with_sizes) {
    V sizes = X(1).tag == RL_INT ? INTS(&X(1).u.i, 1) : X(1);
    return TUPLE(split, X(0), sizes, X(2));
}
COMPOSED(unsafe_split) {
    return TUPLE(split, X(0), X(1), X(2));
}
COMPOSED(unsafe_split_with_sizes) {
    return made_split_with_sizes(g, b);
}
COMPOSED(unsafe_chunk) {
    return TUPLE(chunk, X(0), X(1), X(2));
}

COMPOSED(narrow_tensor) {
    V start = X(2);
    if (NDIM(start) || rl_is_float(rl_value_tensor(start)->dtype) || rl_value_tensor(start)->dtype == RL_BOOL)
        return RAISE(PyExc_RuntimeError, "start must be an 0-dim integral Tensor.");
    return OP(narrow, X(0), X(1), ITEM(start), X(3));
}

/* ---- the same elements under another shape, or summed to a smaller one ---- */
COMPOSED(adjoint) {
    const int ndim = NDIM(X(0));
    if (ndim == 1)
        return RAISE(
            PyExc_RuntimeError,
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
    if (ndim) return OP(transpose, X(0), INT(-2), INT(-1));
    FAILED = PyErr_WarnEx(PyExc_UserWarning,
                          "adjoint() is deprecated on 0-D tensors. Consider using x.conj().", 1) < 0;
    return OP(alias, X(0));
}

COMPOSED(ravel) {
    const int64_t all = -1;
    return OP(reshape, OP(contiguous, X(0)), INTS((int64_t[]){all}, 1));
}

COMPOSED(broadcast_to) {
    return OP(expand, X(0), X(1));
}

COMPOSED(sum_to_size) {
    const rl_view *x = X(0).u.t;
    int64_t want[RL_MAX_DIMS], dims[RL_MAX_DIMS];
    int n = rl_value_list(X(1), want, RL_MAX_DIMS), more = x->ndim - n, reduced = 0;
    char wanted[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    bool fits = more >= 0, any = false;
    for (int d = 0; fits && d < x->ndim; d++) {
        int64_t to = d < more ? 1 : want[d - more];
        fits = to == 1 || to == x->shape[d];
        if (d < more || (to == 1 && x->shape[d] != 1)) dims[reduced++] = d, any = true;
    }
    if (!fits)
        return RAISE(PyExc_RuntimeError, "size {%s} is not expandable to size {%s}.",
                     rl_dims_text(wanted, want, n), rl_dims_text(have, x->shape, x->ndim));
    V sum = any ? OP(sum, X(0), INTS(dims, reduced), BOOLEAN(true)) : X(0);
    return more ? OP(view, sum, INTS(want, n)) : any ? sum : OP(alias, X(0));
}

COMPOSED(diagflat) {
    const int64_t all = -1;
    return OP(diag, OP(reshape, OP(contiguous, X(0)), INTS((int64_t[]){all}, 1)), X(1));
}

COMPOSED(diag_embed) {
    const int ndim = NDIM(X(0)) + 1;
    int64_t dims[2] = {X(2).u.i, X(3).u.i}, shape[RL_MAX_DIMS], offset = X(1).u.i, width;
    int last = ndim - 2, at = 0;
    for (int i = 0; i < 2; i++)
        if (rl_dim_wrap(&dims[i], ndim) != RL_OK) {
            FAILED = true;
            rl_raise(NULL);
            return NONE;
        }
    if (dims[0] == dims[1])
        return RAISE(PyExc_RuntimeError, "diagonal dimensions cannot be identical %lld, %lld",
                     (long long)X(2).u.i, (long long)X(3).u.i);
    if (__builtin_add_overflow(SIZE(X(0), last), offset < 0 ? -(offset + 1) : offset, &width) ||
        __builtin_add_overflow(width, offset < 0, &width) || ndim > RL_MAX_DIMS)
        return RAISE(PyExc_RuntimeError, "diag_embed: the result is too large");
    for (int d = 0; d < ndim; d++)
        shape[d] = d == dims[0] || d == dims[1] ? width : rl_value_tensor(X(0))->shape[at++];
    const rl_view *x = X(0).u.t;
    V whole =
        rl_values_own_steal(g, (PyObject *)rl_tensor_new(x->dtype, x->device, x->device_index, shape, ndim));
    IN_PLACE(fill_, whole, INT(0));
    IN_PLACE(copy_, OP(diagonal, whole, INT(offset), INT(dims[0]), INT(dims[1])), X(0));
    return whole;
}

COMPOSED(trace) {
    if (NDIM(X(0)) != 2)
        return RAISE(PyExc_RuntimeError, "trace: expected a matrix, but got tensor with dim %d", NDIM(X(0)));
    if (rl_value_tensor(X(0))->dtype == RL_BOOL)
        return RAISE(PyExc_NotImplementedError, "\"trace\" not implemented for 'Bool'");
    return OP(sum, OP(diagonal, X(0)));
}

/* ---- what views show, as copies ----
 * view_copy(x, size) is x.view(size).clone(). */
static V copied(rl_values *g, V view) {
    return OP(clone, view, INT(RL_FORMAT_CONTIGUOUS));
}
static V copied_one(rl_values *g, V view, int64_t number) {
    (void)number;
    return copied(g, view);
}
static V copied_all(rl_values *g, V tuple) {
    if (FAILED) return NONE;
    PyObject *views = tuple.u.o;
    const Py_ssize_t n = PyTuple_GET_SIZE(views);
    rl_view **room = rl_values_room(g, n, sizeof *room);
    for (Py_ssize_t i = 0; room && i < n; i++) room[i] = PART(tuple, i).u.t;
    return room ? EACH(TENSORS(room, (int)n), copied_one, 0) : NONE;
}

#define COPIES(id, op, ...)                                                                                  \
    COMPOSED(id) {                                                                                           \
        return copied(g, OP(op, X(0) __VA_OPT__(, ) __VA_ARGS__));                                           \
    }
COPIES(alias_copy, alias)
COPIES(as_strided_copy, as_strided, X(1), X(2), X(3))
COPIES(diagonal_copy, diagonal, X(1), X(2), X(3))
COPIES(expand_copy, expand, X(1), X(2))
COPIES(narrow_copy, narrow, X(1), X(2), X(3))
COPIES(permute_copy, permute, X(1))
COPIES(select_copy, select, X(1), X(2))
COPIES(slice_copy, slice, X(1), X(2), X(3), X(4))
COPIES(squeeze_copy, squeeze)
COPIES(squeeze_copy_dim, squeeze_dim, X(1))
COPIES(squeeze_copy_dims, squeeze_dims, X(1))
COPIES(t_copy, t)
COPIES(transpose_copy, transpose, X(1), X(2))
COPIES(unfold_copy, unfold, X(1), X(2), X(3))
COPIES(unsqueeze_copy, unsqueeze, X(1))
COPIES(view_copy, reshape, X(1))
COPIES(view_copy_dtype, view_dtype, X(1))

#define COPIES_ALL(id, op, ...)                                                                              \
    COMPOSED(id) {                                                                                           \
        return copied_all(g, TUPLE(op, X(0), __VA_ARGS__));                                                  \
    }
COPIES_ALL(split_copy, split, X(1), X(2))
COPIES_ALL(split_with_sizes_copy, split_with_sizes, X(1), X(2))
COPIES_ALL(unbind_copy, unbind, X(1))

COMPOSED(detach_copy) {
    V copy = copied(g, X(0));
    return FAILED ? NONE : rl_values_own_steal(g, rl_tensor_detach((PyObject *)RL_TENSOR_OF(copy.u.t)));
}
