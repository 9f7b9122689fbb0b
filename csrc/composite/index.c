/* What reads and writes at indices: slices that they pick, where elements are, masks, classes as rows. */
#include "compose.h"
#include "core/view.h"
#include "core/dtype.h"
#include "core/error.h"
#include <string.h>

/* `held` is a look at t, which is on the CPU, without gaps and of that dtype */
int rl_composite_dense(rl_view *held, PyObject *t, int dtype) {
    if (rl_held_take(held, view_of(t)) < 0) return -1;
    return held->dtype == dtype && held->device == RL_CPU && rl_is_contiguous(held) ? 0 : rl_held_changed();
}

int rl_composite_numbers(const rl_view *held, int64_t *to) {
    RL_RAW;
    const void *from = rl_host_data(held);
    if (!from && held->numel) return -1;
    if (held->numel) memcpy(to, from, (size_t)held->numel * sizeof *to);
    return 0;
}

PyObject *rl_composite_flat(PyObject *x) {
    static const int64_t all = -1;
    rl_value args[2] = {rl_value_of(x), INTS((int64_t *)&all, 1)};
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
    rl_value args[3] = {rl_value_of(x), INT(dim), rl_value_of(there)};
    return rl_op_run(RL_OP_index_select, args, 3);
}

/* ---- take_along_dim() ---- */
static V flat(rl_values *g, V x) {
    static const int64_t all = -1;
    return OP(reshape, x, INTS((int64_t *)&all, 1));
}

/* x stretched to the dims of `to`, but for dim, where it keeps its size */
static V stretched_but(rl_values *g, V x, V to, int64_t dim) {
    int64_t shape[RL_MAX_DIMS], full[RL_MAX_DIMS];
    int n;
    if (FAILED) return NONE;
    rl_view like = *to.u.t;
    memcpy(full, like.shape, (size_t)like.ndim * sizeof *full);
    full[dim] = SIZE(x, dim);
    like.shape = full;
    if (rl_dims_broadcast(x.u.t, &like, shape, &n) == RL_OK) return OP(expand, x, INTS(shape, n));
    rl_raise("take_along_dim");
    VALUES->failed = true;
    return NONE;
}

COMPOSED(take_along_dim) {
    V x = X(0), index = X(1);
    int64_t dim = X(2).u.i;
    /* PyTorch takes negative indices only along a dim */
    if (!GIVEN(2)) return OP(gather, flat(g, x), INT(0), flat(g, index));
    if (rl_value_tensor(index)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                     rl_dtype_title(rl_value_tensor(index)->dtype));
    if (NDIM(x) != NDIM(index))
        return RAISE(
            PyExc_RuntimeError,
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
            "got %d dimensions for input, and %d dimensions for indices",
            NDIM(x), NDIM(index));
    if (rl_dim_wrap(&dim, NDIM(x)) != RL_OK) {
        rl_raise("take_along_dim");
        VALUES->failed = true;
        return NONE;
    }
    if (NDIM(x) == 0) return OP(gather, flat(g, x), INT(0), flat(g, index));
    /* indices of any size wrap, as PyTorch's do */
    V wide = stretched_but(g, x, index, dim), places = stretched_but(g, index, x, dim);
    const int64_t size = SIZE(wide, dim);
    return OP(gather, wide, INT(dim), OP(remainder, places, INT(size ? size : 1)));
}

/* ---- where elements are, and those that a mask or indices pick ---- */
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
static bool out_suits(const rl_op_call *b, int dtype) {
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

/* ---- classes as rows of zeros and a one ---- */
/* How many there are, -1: raised; `most` asks the largest one. */
static int64_t classes_of(rl_values *g, V x, int64_t classes) {
    if (rl_value_tensor(x)->device == RL_META && classes == -1) {
        RAISE(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
        return -1;
    }
    if (NUMEL(x) == 0) {
        if (classes > 0) return classes;
        RAISE(PyExc_RuntimeError, "Can not infer total number of classes from empty tensor.");
        return -1;
    }
    if (rl_value_tensor(x)->device == RL_META) return classes;
    const V least = ITEM(OP(min, x)), most = ITEM(OP(max, x));
    if (FAILED) return -1;
    if (least.u.i < 0)
        RAISE(PyExc_RuntimeError, "Class values must be non-negative.");
    else if (classes != -1 && most.u.i >= classes)
        RAISE(PyExc_RuntimeError, "Class values must be smaller than num_classes.");
    return FAILED ? -1 : classes == -1 ? most.u.i + 1 : classes;
}

COMPOSED(one_hot) {
    const V x = X(0);
    int64_t shape[RL_MAX_DIMS];
    if (rl_value_tensor(x)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError, "one_hot is only applicable to index tensor of type LongTensor.");
    if (NDIM(x) == RL_MAX_DIMS)
        return RAISE(PyExc_RuntimeError, "one_hot: the input has %d dimensions", RL_MAX_DIMS);
    const int64_t classes = classes_of(g, x, X(1).u.i);
    if (FAILED) return NONE;
    SHAPE(x, shape);
    shape[NDIM(x)] = classes;
    V zeros = OP(zeros, INTS(shape, NDIM(x) + 1), DTYPE(RL_I64), NONE, DEVICE_OF(x));
    return IN_PLACE(scatter_number, zeros, INT(-1), OP(unsqueeze, x, INT(-1)), INT(1));
}
