/* Indexing with ints, slices, None, Ellipsis, and one tensor or list of row numbers or a bool mask. */
#include "tensor_args.h"
#include "tensor_object.h"

static rl_slot tensor_slot(PyObject *t) {
    return (rl_slot){.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v};
}
static rl_slot int_slot(int64_t i) {
    return (rl_slot){.tag = RL_INT, .u.i = i};
}

static PyObject *take_one(PyObject *x, int64_t dim, PyObject *key) {
    rl_tensor *t = (rl_tensor *)x;
    RL_OWNED PyObject *number = PyNumber_Index(key);
    if (!number) return NULL;
    int overflow;
    int64_t i = PyLong_AsLongLongAndOverflow(number, &overflow), size = t->v.shape[dim];
    if (overflow || i < -size || i >= size) {
        PyErr_Format(PyExc_IndexError, "index %S is out of bounds for dimension %lld with size %lld", number,
                     (long long)dim, (long long)size);
        return NULL;
    }
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), int_slot(i)};
    return rl_op_run(RL_OP_select, args, 3);
}

static PyObject *take_slice(PyObject *x, int64_t dim, PyObject *key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return NULL;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        return NULL;
    }
    rl_slot args[5] = {tensor_slot(x), int_slot(dim), int_slot(start), int_slot(stop), int_slot(step)};
    return rl_op_run(RL_OP_slice, args, 5);
}

/* x[rows] on the meta device: whichever rows they are */
static PyObject *take_rows_unseen(PyObject *x, int64_t dim, const rl_tensor *rows) {
    RL_OWNED PyObject *index = (PyObject *)rl_tensor_new(RL_I64, RL_META, 0, rows->v.shape, 1);
    if (!index) return NULL;
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), tensor_slot(index)};
    return rl_op_run(RL_OP_index_select, args, 3);
}

/* x[rows] along dim for an integer vector */
static PyObject *take_rows(PyObject *x, int64_t dim, PyObject *rows) {
    rl_tensor *r = (rl_tensor *)rows;
    if (r->v.dtype == RL_BOOL) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "this version of rushlight does not index with bool masks: use "
                        "rushlight.where or masked_fill");
        return NULL;
    }
    if (rl_is_float(r->v.dtype) || rl_is_kept(r->v.dtype)) {
        PyErr_SetString(PyExc_IndexError, "tensors used as indices must be long, int, byte or bool tensors");
        return NULL;
    }
    if (r->v.ndim != 1) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "this version of rushlight indexes with integer tensors of one dimension only");
        return NULL;
    }
    if (((rl_tensor *)x)->v.device == RL_META) return take_rows_unseen(x, dim, r);
    if (r->v.device == RL_META) {
        rl_device_mixed(RL_META, ((rl_tensor *)x)->v.device);
        return NULL;
    }
    int64_t size = ((rl_tensor *)x)->v.shape[dim];
    RL_OWNED PyObject *wide = Py_NewRef(rows);
    if (r->v.dtype != RL_I64) {
        Py_SETREF(wide, (PyObject *)rl_tensor_new(RL_I64, RL_CPU, 0, r->v.shape, 1));
        if (!wide || rl_tensor_copy((rl_tensor *)wide, r) < 0) return NULL;
    } else if (!rl_is_contiguous(&r->v)) {
        rl_slot args[2] = {tensor_slot(rows), int_slot(RL_FORMAT_CONTIGUOUS)};
        Py_SETREF(wide, rl_op_run(RL_OP_clone, args, 2));
        if (!wide) return NULL;
    }
    /* negative numbers count from the end */
    RL_OWNED PyObject *whole = (PyObject *)rl_tensor_new(RL_I64, RL_CPU, 0, r->v.shape, 1);
    if (!whole) return NULL;
    const int64_t *from = rl_const_data(&((rl_tensor *)wide)->v);
    int64_t *to = rl_data(&((rl_tensor *)whole)->v, RL_WRITE);
    for (int64_t i = 0; i < r->v.numel; i++) {
        if (from[i] < -size || from[i] >= size) {
            PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %lld with size %lld",
                         (long long)from[i], (long long)dim, (long long)size);
            return NULL;
        }
        to[i] = from[i] < 0 ? from[i] + size : from[i];
    }
    rl_slot args[3] = {tensor_slot(x), int_slot(dim), tensor_slot(whole)};
    return rl_op_run(RL_OP_index_select, args, 3);
}

static PyObject *key_is_number(PyObject *key) {
    if (PyBool_Check(key)) return NULL;
    if (rl_tensor_check(key))
        return ((rl_tensor *)key)->v.ndim == 0 && !rl_is_float(((rl_tensor *)key)->v.dtype) &&
                       !rl_is_kept(((rl_tensor *)key)->v.dtype) && ((rl_tensor *)key)->v.dtype != RL_BOOL
                   ? key
                   : NULL;
    return PyIndex_Check(key) ? key : NULL;
}

/* *is_view says whether the result still shares memory with self */
static PyObject *index_apply(PyObject *self, PyObject *key, bool *is_view) {
    RL_OWNED PyObject *keys = PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    RL_OWNED PyObject *x = Py_NewRef(self);
    if (!keys) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(keys), taken = 0;
    int64_t dim = 0;
    *is_view = true;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *k = PyTuple_GET_ITEM(keys, i);
        taken += k != Py_None && k != Py_Ellipsis && !PyBool_Check(k);
    }
    if (taken > ((rl_tensor *)self)->v.ndim) {
        if (((rl_tensor *)self)->v.ndim == 0)
            PyErr_SetString(PyExc_IndexError,
                            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
        else
            PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                         ((rl_tensor *)self)->v.ndim);
        return NULL;
    }
    for (Py_ssize_t i = 0; x && i < n; i++) {
        PyObject *k = PyTuple_GET_ITEM(keys, i);
        if (k == Py_Ellipsis) {
            dim += ((rl_tensor *)self)->v.ndim - taken;
        } else if (k == Py_None) {
            rl_slot args[2] = {tensor_slot(x), int_slot(dim++)};
            Py_SETREF(x, rl_op_run(RL_OP_unsqueeze, args, 2));
        } else if (PySlice_Check(k)) {
            Py_SETREF(x, take_slice(x, dim++, k));
        } else if (key_is_number(k)) {
            Py_SETREF(x, take_one(x, dim, k));
        } else if (rl_tensor_check(k) || PyList_Check(k)) {
            RL_OWNED PyObject *rows = rl_tensor_check(k) ? Py_NewRef(k) : rl_tensor_from_data(k, -1);
            if (!rows) return NULL;
            Py_SETREF(x, take_rows(x, dim++, rows));
            *is_view = false;
        } else {
            RL_OWNED PyObject *rows = NULL;
            if (PyUnicode_Check(k))
                PyErr_SetString(PyExc_TypeError, "new(): invalid data type 'str'");
            else if (PySequence_Check(k))
                rows = rl_tensor_from_data(k, -1);
            else
                PyErr_Format(PyExc_IndexError,
                             "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                             "are valid "
                             "indices (got %s)",
                             Py_TYPE(k)->tp_name);
            if (!rows) return NULL;
            Py_SETREF(x, take_rows(x, dim++, rows));
            *is_view = false;
        }
    }
    return rl_give(&x);
}

PyObject *rl_tensor_subscript(PyObject *self, PyObject *key) {
    bool is_view;
    if (PyLong_CheckExact(key) && ((rl_tensor *)self)->v.ndim) return take_one(self, 0, key);
    PyObject *x = index_apply(self, key, &is_view);
    if (x != self) return x;
    Py_DECREF(x); /* x[...] is a new view, not x */
    rl_slot args[4] = {tensor_slot(self)};
    args[1] =
        (rl_slot){.tag = RL_INTS, .n = ((rl_tensor *)self)->v.ndim, .u.ints = ((rl_tensor *)self)->v.shape};
    return rl_op_run(RL_OP_expand, args, 2);
}

int rl_tensor_ass_subscript(PyObject *self, PyObject *key, PyObject *value) {
    bool is_view;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    RL_OWNED PyObject *x = index_apply(self, key, &is_view);
    if (!x) return -1;
    if (!is_view) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "this version of rushlight assigns to views only: ints, slices, None, Ellipsis");
        return -1;
    }
    rl_slot args[2] = {tensor_slot(x)};
    int number = rl_scalar_slot(value, &args[1]);
    if (number < 0) return -1;
    RL_OWNED PyObject *done = NULL;
    if (number) {
        done = rl_op_run(RL_OP_fill_, args, 2);
    } else {
        RL_OWNED PyObject *t =
            rl_tensor_check(value) ? Py_NewRef(value) : rl_tensor_from_data(value, ((rl_tensor *)x)->v.dtype);
        if (!t) return -1;
        /* leading ones of the value may go: x[0] = ones(1, 1, 3) */
        while (((rl_tensor *)t)->v.ndim > ((rl_tensor *)x)->v.ndim && ((rl_tensor *)t)->v.shape[0] == 1) {
            rl_slot first[3] = {tensor_slot(t), int_slot(0), int_slot(0)};
            Py_SETREF(t, rl_op_run(RL_OP_select, first, 3));
            if (!t) return -1;
        }
        args[1] = tensor_slot(t);
        done = rl_op_run(RL_OP_copy_, args, 2);
    }
    return done ? 0 : -1;
}

/* iterating is unbind(0), as in PyTorch */
PyObject *rl_tensor_iter(PyObject *self) {
    if (((rl_tensor *)self)->v.ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
        return NULL;
    }
    RL_OWNED PyObject *slices = rl_op_unary(RL_OP_unbind, self);
    return slices ? PyObject_GetIter(slices) : NULL;
}
