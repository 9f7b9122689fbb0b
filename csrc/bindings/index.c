/* x[key] and x[key] = value, as NumPy and PyTorch understand keys.
 *
 *   key ──► ints, slices, None, Ellipsis: views, one after the other ──► sliced
 *       └─► tensors, lists, masks, True and False: noted for the dim of `sliced` that they stand at
 *
 * Without the second kind x[key] is `sliced`; with it the operators index and index_put do the rest. */
#include "call/call.h"
#include "object/numpy.h"
#include "bindings.h"
#include "core/dtype.h"
#include <string.h>

typedef struct {
    PyObject *sliced;
    PyObject *noted[RL_MAX_DIMS]; /* index tensors; NULL for a dim of `sliced` that stays; owned */
    int n;                        /* up to the last index tensor */
    int64_t covered;              /* the dims that `noted` speaks of: a mask takes several */
    int64_t dim;                  /* of `sliced`, at which the next key stands */
} subscript;

static void subscript_drop(subscript *s) {
    Py_CLEAR(s->sliced);
    while (s->n > 0) Py_XDECREF(s->noted[--s->n]);
}
#define SUBSCRIPT __attribute__((cleanup(subscript_drop))) subscript

static rl_value tensor_value(PyObject *t) {
    return (rl_value){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}
static rl_value int_value(int64_t i) {
    return (rl_value){.tag = RL_INT, .u.i = i};
}
static rl_view *view_of(PyObject *t) {
    return &((rl_tensor *)t)->v;
}
static bool is_mask(const rl_view *v) {
    return v->dtype == RL_BOOL || v->dtype == RL_U8;
}

/* ---- views ---- */
/* place: of the key among the keys, which PyTorch calls the dimension */
static PyObject *take_one(PyObject *x, int64_t dim, Py_ssize_t place, PyObject *key) {
    const rl_view *v = view_of(x);
    RL_OWNED PyObject *number = PyNumber_Index(key);
    if (!number) return NULL;
    int overflow;
    int64_t i = PyLong_AsLongLongAndOverflow(number, &overflow), size = dim < v->ndim ? v->shape[dim] : 0;
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return NULL;
    }
    if (v->ndim == 0 && i == 0) {
        PyErr_SetString(PyExc_IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                                          "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
        return NULL;
    }
    if (i < -size || i >= size) {
        PyErr_Format(PyExc_IndexError, "index %S is out of bounds for dimension %zd with size %lld", number,
                     place, (long long)size);
        return NULL;
    }
    rl_value args[3] = {tensor_value(x), int_value(dim), int_value(i)};
    return rl_op_run(RL_OP_select, args, 3);
}

static PyObject *take_slice(PyObject *x, int64_t dim, PyObject *key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return NULL;
    }
    if (view_of(x)->ndim == 0) {
        PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
        return NULL;
    }
    rl_value args[5] = {tensor_value(x), int_value(dim), int_value(start), int_value(stop), int_value(step)};
    if (start == 0 && step == 1 && dim < view_of(x)->ndim && stop >= view_of(x)->shape[dim])
        return Py_NewRef(x);
    return rl_op_run(RL_OP_slice, args, 5);
}

static PyObject *new_dim(PyObject *x, int64_t dim) {
    rl_value args[2] = {tensor_value(x), int_value(dim)};
    return rl_op_run(RL_OP_unsqueeze, args, 2);
}

/* ---- index tensors ---- */
static int subscript_note_steal(subscript *s, PyObject *index) {
    if (!index) return -1;
    if (s->n + s->dim - s->covered >= RL_MAX_DIMS) {
        Py_DECREF(index);
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                     view_of(s->sliced)->ndim);
        return -1;
    }
    for (; s->covered < s->dim; s->covered++) s->noted[s->n++] = NULL;
    s->noted[s->n++] = index;
    s->covered = s->dim += is_mask(view_of(index)) ? view_of(index)->ndim : 1;
    return 0;
}

/* True: index 0 of a new dim of size 1; False: none of it */
static int subscript_note_truth(subscript *s, bool truth) {
    const int64_t n = truth;
    Py_SETREF(s->sliced, new_dim(s->sliced, s->dim));
    rl_tensor *index = s->sliced ? rl_tensor_new(RL_I64, RL_CPU, 0, &n, 1) : NULL;
    if (index && truth) {
        RL_RAW;
        *(int64_t *)rl_data(&index->v, RL_FRESH) = 0;
    }
    return subscript_note_steal(s, (PyObject *)index);
}

static int subscript_note_tensor(subscript *s, PyObject *index, Py_ssize_t place) {
    const rl_view *v = view_of(index);
    if (rl_is_converted(v->dtype)) {
        PyErr_SetString(PyExc_IndexError, "tensors used as indices must be long, int, byte or bool tensors");
        return -1;
    }
    if (v->ndim == 0 && !rl_is_float(v->dtype)) {
        if (is_mask(v)) {
            int truth = rl_tensor_bool(index);
            return truth < 0 ? -1 : subscript_note_truth(s, truth);
        }
        Py_SETREF(s->sliced, take_one(s->sliced, s->dim, place, index));
        return s->sliced ? 0 : -1;
    }
    if (v->dtype == RL_U8 &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
            1) < 0)
        return -1;
    return subscript_note_steal(s, Py_NewRef(index));
}

/* Lists, arrays ...: integers unless they are masks; [] is one of no integers. */
static int subscript_note_sequence(subscript *s, PyObject *key, Py_ssize_t place) {
    RL_OWNED PyObject *index = rl_tensor_from_data(key, -1);
    if (!index) return -1;
    if (!is_mask(view_of(index)) && view_of(index)->dtype != RL_I64) {
        Py_SETREF(index, rl_tensor_from_data(key, RL_I64));
        if (!index) return -1;
    }
    return subscript_note_tensor(s, index, place);
}

/* ---- keys ---- */
/* PyTorch still takes x[[slice(0, 1), 1]] for x[slice(0, 1), 1]: 1 for such a sequence, after its warning. */
static int sequence_is_tuple(PyObject *key) {
    if (rl_tensor_check(key) || rl_numpy_is_array(key) || !PySequence_Check(key) || PyUnicode_Check(key))
        return 0;
    Py_ssize_t n = PySequence_Size(key);
    if (n < 0) PyErr_Clear();
    if (n >= 32) return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        RL_OWNED PyObject *item = PySequence_GetItem(key, i);
        if (!item) {
            PyErr_Clear();
            return 0;
        }
        if (item != Py_Ellipsis && item != Py_None && !PySlice_Check(item) && !rl_tensor_check(item) &&
            !PySequence_Check(item))
            continue;
        return PyErr_WarnEx(
                   PyExc_UserWarning,
                   "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
                   "changed "
                   "in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be "
                   "interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error "
                   "or "
                   "a different result",
                   1) < 0
                   ? -1
                   : 1;
    }
    return 0;
}

static PyObject *keys_of(PyObject *key) {
    if (PyTuple_Check(key)) return Py_NewRef(key);
    int tuple = sequence_is_tuple(key);
    if (tuple < 0) return NULL;
    return tuple ? PySequence_Tuple(key) : PyTuple_Pack(1, key);
}

/* how many dims of the tensor the keys take */
static int64_t keys_width(PyObject *keys) {
    int64_t width = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *k = PyTuple_GET_ITEM(keys, i);
        if (rl_tensor_check(k) && is_mask(view_of(k)))
            width += view_of(k)->ndim;
        else
            width += k != Py_None && k != Py_Ellipsis && !PyBool_Check(k);
    }
    return width;
}

static int subscript_take(subscript *s, PyObject *k, Py_ssize_t place) {
    if (PyBool_Check(k)) return subscript_note_truth(s, k == Py_True);
    if (rl_tensor_check(k)) return subscript_note_tensor(s, k, place);
    if (k == Py_None) {
        Py_SETREF(s->sliced, new_dim(s->sliced, s->dim++));
    } else if (PySlice_Check(k)) {
        Py_SETREF(s->sliced, take_slice(s->sliced, s->dim++, k));
    } else if (PyIndex_Check(k) && !PySequence_Check(k)) {
        if (strncmp(Py_TYPE(k)->tp_name, "numpy.bool", 10) == 0) goto wrong;
        Py_SETREF(s->sliced, take_one(s->sliced, s->dim, place, k));
    } else if (PySequence_Check(k)) {
        return subscript_note_sequence(s, k, place);
    } else {
        goto wrong;
    }
    return s->sliced ? 0 : -1;
wrong:
    PyErr_Format(PyExc_IndexError,
                 "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
                 "indices (got %s)",
                 Py_TYPE(k)->tp_name);
    return -1;
}

static int subscript_read(subscript *s, PyObject *self, PyObject *key) {
    RL_OWNED PyObject *keys = keys_of(key);
    if (!keys) return -1;
    const int ndim = view_of(self)->ndim;
    int64_t width = keys_width(keys);
    /* one number or slice of a number has another text */
    bool plain =
        PySlice_Check(key) || (PyIndex_Check(key) && !PySequence_Check(key) && !rl_tensor_check(key));
    if (width > ndim && !plain) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", ndim);
        return -1;
    }
    s->sliced = Py_NewRef(self);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); i++) {
        PyObject *k = PyTuple_GET_ITEM(keys, i);
        if (k == Py_Ellipsis)
            s->dim += ndim - width;
        else if (subscript_take(s, k, i) < 0)
            return -1;
    }
    return 0;
}

static rl_value noted_slot(const subscript *s, rl_view **views) {
    for (int i = 0; i < s->n; i++) views[i] = s->noted[i] ? view_of(s->noted[i]) : NULL;
    return (rl_value){.tag = RL_TENSORS, .n = s->n, .u.ts = views};
}

PyObject *rl_tensor_subscript(PyObject *self, PyObject *key) {
    SUBSCRIPT s = {.sliced = NULL};
    rl_view *views[RL_MAX_DIMS];
    if (rl_is_overridden(self)) return rl_override_member("__getitem__", self, key, NULL);
    if (PyLong_CheckExact(key)) return take_one(self, 0, 0, key);
    if (subscript_read(&s, self, key) < 0) return NULL;
    rl_value args[2] = {tensor_value(s.sliced)};
    if (s.n) {
        args[1] = noted_slot(&s, views);
        return rl_op_run(RL_OP_index, args, 2);
    }
    if (s.sliced != self) return rl_move(&s.sliced);
    return rl_op_run(RL_OP_alias, args, 1); /* x[...] is a new view, not x */
}

/* ---- writing ---- */
static int run_in_place(int op, rl_value *args, int n) {
    rl_op_call b;
    rl_op_call_begin(&b, &rl_schemas[op]);
    rl_op_call_fill(&b, args, n);
    RL_OWNED PyObject *done = rl_dispatcher_call(&b, RL_CALL_INPLACE);
    rl_op_call_end(&b);
    return done ? 0 : -1;
}

/* Leading dims of size 1 that the target does not have may go: x[0] = ones(1, 1, 3). */
static PyObject *without_leading_ones(PyObject *value) {
    const rl_view *v = view_of(value);
    int64_t rest[RL_MAX_DIMS];
    int ones = 0, n;
    while (ones < v->ndim && v->shape[ones] == 1) ones++;
    if (ones == 0) return Py_NewRef(value);
    for (n = 0; n < v->ndim - ones; n++) rest[n] = v->shape[ones + n];
    rl_value args[2] = {tensor_value(value), {.tag = RL_INTS, .n = n, .u.ints = rest}};
    return rl_op_run(RL_OP_view, args, 2);
}

static bool same_shape(const rl_view *a, const rl_view *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static int assign_view(PyObject *x, PyObject *value) {
    const rl_view *to = view_of(x), *from = view_of(value);
    RL_OWNED PyObject *fitting = from->ndim > to->ndim ? without_leading_ones(value) : Py_NewRef(value);
    if (fitting && !same_shape(view_of(fitting), to)) {
        int64_t shape[RL_MAX_DIMS];
        memcpy(shape, to->shape, to->ndim * sizeof *shape);
        rl_value args[2] = {tensor_value(fitting), {.tag = RL_INTS, .n = to->ndim, .u.ints = shape}};
        Py_SETREF(fitting, rl_op_run(RL_OP_expand, args, 2));
    }
    if (!fitting) return -1;
    rl_value args[2] = {tensor_value(x), tensor_value(fitting)};
    return run_in_place(RL_OP_copy_, args, 2);
}

/* a number as a 0-dim tensor of x's dtype and device */
static PyObject *value_tensor(PyObject *x, const rl_value *number) {
    rl_tensor *t = rl_tensor_new(view_of(x)->dtype, view_of(x)->device, view_of(x)->device_index, NULL, 0);
    rl_value args[2] = {{.tag = RL_NONE}, *number};
    if (!t) return NULL;
    args[0] = tensor_value((PyObject *)t);
    if (run_in_place(RL_OP_fill_, args, 2) < 0) Py_CLEAR(t);
    return (PyObject *)t;
}

static int assign_indexed(subscript *s, PyObject *value) {
    rl_view *views[RL_MAX_DIMS];
    RL_OWNED PyObject *narrow = without_leading_ones(value);
    if (!narrow) return -1;
    rl_value args[3] = {tensor_value(s->sliced), noted_slot(s, views), tensor_value(narrow)};
    return run_in_place(RL_OP_index_put, args, 3);
}

/* A complex number stands for its real part, if that is all of it; true for bool: it is not 0. */
static int complex_value(const rl_view *to, PyObject *value, rl_value *number) {
    static const char *const names[RL_NDTYPES] = {"uint8_t", "int8_t", "int16_t", "int",  "int64_t",
                                                  "double",  "float",  "double",  "bool", "double"};
    Py_complex z = PyComplex_AsCComplex(value);
    if (to->dtype == RL_BOOL) {
        *number = (rl_value){.tag = RL_BOOLEAN, .u.i = z.real != 0 || z.imag != 0};
    } else if (z.imag != 0) {
        PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                     rl_is_converted(to->dtype) ? rl_dtype_name(to->dtype) : names[to->dtype]);
        return -1;
    } else {
        *number = (rl_value){.tag = RL_FLOAT, .u.d = z.real};
    }
    return 1;
}

/* 1 a number, 0 a tensor, -1 raised */
static int value_kind(PyObject *self, PyObject *value, rl_value *number) {
    if (rl_tensor_check(value)) return 0;
    if (PyComplex_Check(value)) return complex_value(view_of(self), value, number);
    if (PyFloat_Check(value) || PyLong_Check(value) || PyIndex_Check(value)) {
        int kind = rl_scalar_value(value, number);
        if (kind < 0 && PyErr_ExceptionMatches(PyExc_RuntimeError)) /* here it is another exception */
            PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        if (kind) return kind;
    }
    PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name,
                 rl_dtype_title(view_of(self)->dtype));
    return -1;
}

int rl_tensor_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    SUBSCRIPT s = {.sliced = NULL};
    rl_value args[2];
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    if (rl_is_overridden(self) || rl_is_overridden(value)) {
        RL_OWNED PyObject *done = rl_override_member("__setitem__", self, key, value);
        return done ? 0 : -1;
    }
    int number = value_kind(self, value, &args[1]);
    if (number < 0) return -1;
    if (key == Py_False) return 0;
    if (key == Py_True) key = Py_None;
    if (subscript_read(&s, self, key) < 0) return -1;
    args[0] = tensor_value(s.sliced);
    if (s.n == 0 && number &&
        rl_view_expanded(view_of(s.sliced))) { /* copy_() refuses it, fill_() does not */
        RL_OWNED PyObject *t = value_tensor(s.sliced, &args[1]);
        return t ? assign_view(s.sliced, t) : -1;
    }
    if (s.n == 0) return number ? run_in_place(RL_OP_fill_, args, 2) : assign_view(s.sliced, value);
    RL_OWNED PyObject *t = number ? value_tensor(s.sliced, &args[1]) : Py_NewRef(value);
    return t ? assign_indexed(&s, t) : -1;
}

/* iterating is unbind(0), as in PyTorch */
PyObject *rl_tensor_iter(PyObject *self) {
    if (rl_is_overridden(self)) {
        RL_OWNED PyObject *slices = rl_override_member("unbind", self, NULL, NULL);
        return slices ? PyObject_GetIter(slices) : NULL;
    }
    if (((rl_tensor *)self)->v.ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
        return NULL;
    }
    RL_OWNED PyObject *slices = rl_op_unary(RL_OP_unbind, self);
    return slices ? PyObject_GetIter(slices) : NULL;
}
