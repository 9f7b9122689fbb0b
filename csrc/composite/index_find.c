/* Where elements are, and those that a mask or indices pick. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

/* ---- where is it not zero? ---- */
/* elements that no kernel looks at: x != 0 as bools */
static V truths_of(rl_values *g, V x) {
    const rl_view *v = x.u.t;
    rl_tensor *truths = rl_tensor_new(RL_BOOL, v->device, v->device_index, v->shape, v->ndim);
    if (truths && rl_tensor_copy(truths, RL_TENSOR_OF(x.u.t)) < 0) Py_CLEAR(truths);
    return rl_values_own_steal(g, (PyObject *)truths);
}

/* how many elements are not zero */
static int64_t count_of(rl_values *g, V x) {
    if (FAILED) return 0;
    if (rl_value_tensor(x)->device == RL_META) {
        RAISE(PyExc_NotImplementedError,
              "which elements are not zero cannot be known of meta tensors: they have no data");
        return 0;
    }
    V count = OP(nonzero_count, x);
    RL_OWNED PyObject *number = FAILED ? NULL : rl_scalar_get(count.u.t);
    const int64_t n = number ? PyLong_AsLongLong(number) : 0;
    VALUES->failed |= !number;
    return n;
}

static V places_of(rl_values *g, V x) {
    if (rl_is_converted(rl_value_tensor(x)->dtype)) x = truths_of(g, x);
    const int64_t n = count_of(g, x);
    return OP(nonzero_places, x, INT(n));
}

static V places_apart(rl_values *g, V x) {
    if (NDIM(x) == 0) x = OP(unsqueeze, x, INT(0)); /* a number is a vector of one */
    return FAILED ? NONE : TUPLE(unbind, places_of(g, x), INT(1));
}

/* may out= take it? Its dtype must be the very same */
static bool out_suits(const rl_bound *b, int dtype) {
    return !b->out || PyTuple_Check(b->out) || ((rl_tensor *)b->out)->v.dtype == dtype;
}

COMPOSED(nonzero) {
    if (!out_suits(b, RL_I64))
        return RAISE(PyExc_RuntimeError,
                     "nonzero: Expected out tensor to have scalar type Long but got scalar type%s",
                     rl_dtype_title(((rl_tensor *)b->out)->v.dtype));
    return places_of(g, X(0));
}

COMPOSED(nonzero_tuple) {
    return X(1).u.i ? places_apart(g, X(0)) : places_of(g, X(0));
}

COMPOSED(argwhere) {
    return places_of(g, X(0));
}

COMPOSED(where_condition) {
    return places_apart(g, X(0));
}

/* ---- masked_select ---- */
COMPOSED(masked_select) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (rl_value_tensor(X(1))->dtype != RL_BOOL)
        return RAISE(PyExc_RuntimeError, "masked_select: expected BoolTensor for mask");
    if (!out_suits(b, rl_value_tensor(X(0))->dtype))
        return RAISE(PyExc_RuntimeError, "masked_select(): self and result must have the same scalar type");
    if (rl_dims_broadcast(X(1).u.t, X(0).u.t, shape, &n) != RL_OK) {
        rl_raise("masked_select");
        VALUES->failed = true;
        return NONE;
    }
    const int64_t count = count_of(g, OP(expand, X(1), INTS(shape, n)));
    return OP(masked_select_counted, X(0), X(1), INT(count));
}

/* ---- fill_diagonal_ ---- */
static void fill_line(rl_values *g, V x, int64_t length, int64_t stride, int64_t offset, V number) {
    V line = OP(as_strided, x, INTS(&length, 1), INTS(&stride, 1), INT(offset));
    IN_PLACE(fill_, line, number);
}

COMPOSED(fill_diagonal_) {
    const rl_view *x = X(0).u.t;
    int64_t stride = 0, under, first = x->offset;
    bool huge = false;
    if (x->ndim < 2) return RAISE(PyExc_RuntimeError, "dimensions must larger than 1");
    const int64_t height = x->shape[0], width = x->shape[1], length = height < width ? height : width;
    for (int d = 0; d < x->ndim; d++) {
        if (x->ndim > 2 && x->shape[d] != height)
            return RAISE(PyExc_RuntimeError, "all dimensions of input must be of equal length");
        huge |= __builtin_add_overflow(stride, x->strides[d], &stride);
    }
    huge |= __builtin_mul_overflow(width + 1, x->strides[0], &under) ||
            __builtin_add_overflow(under, first, &under);
    if (huge) return RAISE(PyExc_RuntimeError, "Stride calculation overflowed");
    const bool wraps = X(2).u.i && x->ndim == 2 && height > width + 1;
    const int64_t rest = wraps ? (x->numel + width) / (width + 1) - length : 0;
    fill_line(g, X(0), length, stride, first, X(1));
    if (wraps) fill_line(g, X(0), rest, stride, under, X(1));
    return X(0);
}
