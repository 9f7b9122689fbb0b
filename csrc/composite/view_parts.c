/* Views of parts along a dimension, and unsafe_*, which in PyTorch are views that autograd does not know as
 * such. */
#include "compose.h"
#include "slots.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

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

static V cut(rl_values *g, V x, V where, int64_t dim) {
    if (where.tag == RL_INTS) return cut_at(g, x, where.u.ints, where.n, dim);
    return cut_even(g, x, where.u.i, dim);
}

static V tensor_split(rl_values *g, V x, V where, int64_t dim) {
    if (NDIM(x) == 0)
        return RAISE(PyExc_RuntimeError,
                     "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
    V along = wrapped(g, x, dim);
    return FAILED ? NONE : cut(g, x, where, along.u.i);
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
static V split_along(rl_values *g, rl_bound *b, int least, int64_t dim) {
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
