/* From tensors to Python's numbers: item(), tolist(), bool(), int(), float(). */
#include "bindings.h"

/* at: bytes from the first element; v is held, its memory may move */
static PyObject *list_of(const rl_view *v, int dim, int64_t at) {
    if (dim == v->ndim) {
        RL_RAW;
        const char *first = rl_host_data(v);
        return first ? rl_scalar_element(first + at, v->dtype) : NULL;
    }
    RL_OWNED PyObject *list = PyList_New((Py_ssize_t)v->shape[dim]);
    int64_t step = v->strides[dim] * rl_itemsize(v->dtype);
    for (int64_t i = 0; list && i < v->shape[dim]; i++) {
        PyObject *item = list_of(v, dim + 1, at + i * step);
        if (!item) return NULL;
        PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    return rl_give(&list);
}

PyObject *rl_tensor_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *here = (PyObject *)rl_scalar_readable((rl_tensor *)self);
    RL_HELD v = {.storage = NULL};
    if (!here || rl_held_take(&v, &((rl_tensor *)here)->v) < 0) return NULL;
    if (v.device != RL_CPU && rl_held_changed() < 0) return NULL;
    return list_of(&v, 0, 0);
}

int rl_tensor_bool(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    if (t->v.numel != 1) {
        PyErr_SetString(PyExc_RuntimeError,
                        t->v.numel ? "Boolean value of Tensor with more than one value is ambiguous"
                                   : "Boolean value of Tensor with no values is ambiguous");
        return -1;
    }
    RL_OWNED PyObject *number = rl_tensor_item(self, NULL);
    return number ? PyObject_IsTrue(number) : -1;
}

static PyObject *only_number(PyObject *self) {
    if (((rl_tensor *)self)->v.numel == 1) return rl_tensor_item(self, NULL);
    PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    return NULL;
}

/* a complex one is no real number */
static PyObject *real_number(PyObject *self, const char *type) {
    RL_OWNED PyObject *number = only_number(self);
    if (!number || !PyComplex_Check(number)) return rl_give(&number);
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", type);
    return NULL;
}

PyObject *rl_tensor_int(PyObject *self) {
    RL_OWNED PyObject *number = real_number(self, "int64_t");
    return number ? PyNumber_Long(number) : NULL;
}

PyObject *rl_tensor_float(PyObject *self) {
    RL_OWNED PyObject *number = real_number(self, "double");
    return number ? PyNumber_Float(number) : NULL;
}

PyObject *rl_tensor_index(PyObject *self) {
    rl_tensor *t = (rl_tensor *)self;
    if (t->v.numel != 1 || rl_is_float(t->v.dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "only integer tensors of a single element can be converted to an index");
        return NULL;
    }
    RL_OWNED PyObject *number = rl_tensor_item(self, NULL);
    return number ? PyNumber_Index(number) : NULL;
}
