/* From tensors to Python's numbers: item(), tolist(), bool(), int(), float(). */
#include "bindings.h"

static PyObject *element_get(const char *p, int dtype) {
    switch ((rl_dtype)dtype) {
    case RL_U8: return PyLong_FromLong(*(const uint8_t *)p);
    case RL_I8: return PyLong_FromLong(*(const int8_t *)p);
    case RL_I16: return PyLong_FromLong(*(const int16_t *)p);
    case RL_I32: return PyLong_FromLong(*(const int32_t *)p);
    case RL_I64: return PyLong_FromLongLong(*(const int64_t *)p);
    case RL_F16: return PyFloat_FromDouble(rl_from_half(*(const rl_half *)p));
    case RL_F32: return PyFloat_FromDouble(*(const float *)p);
    case RL_F64: return PyFloat_FromDouble(*(const double *)p);
    case RL_BOOL: return PyBool_FromLong(*(const uint8_t *)p);
    case RL_BF16: return PyFloat_FromDouble(rl_from_bfloat(*(const rl_bfloat *)p));
    case RL_C64: return PyComplex_FromDoubles(((const rl_complex64 *)p)->re, ((const rl_complex64 *)p)->im);
    case RL_C128:
        return PyComplex_FromDoubles(((const rl_complex128 *)p)->re, ((const rl_complex128 *)p)->im);
    case RL_U16:
    case RL_BITS16: return PyLong_FromLong(*(const uint16_t *)p);
    case RL_U32: return PyLong_FromUnsignedLong(*(const uint32_t *)p);
    case RL_U64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)p);
    case RL_QI8: return PyLong_FromLong(*(const int8_t *)p);
    case RL_QI32: return PyLong_FromLong(*(const int32_t *)p);
    default: return PyLong_FromLong(*(const uint8_t *)p); /* bits and packed numbers, as they lie there */
    }
}

static rl_tensor *copied(rl_tensor *t, int dtype, int device) {
    rl_tensor *copy = rl_tensor_new(dtype, device, t->v.device_index, t->v.shape, t->v.ndim);
    if (copy && rl_tensor_copy(copy, t) < 0) Py_CLEAR(copy);
    return copy;
}

/* The tensor itself, or a copy that element_get can read: in the CPU's memory, of a dtype that C knows. */
static rl_tensor *readable(rl_tensor *t) {
    RL_OWNED PyObject *here = Py_NewRef((PyObject *)t);
    if (RL_UNLIKELY(t->v.device != RL_CPU)) Py_SETREF(here, (PyObject *)copied(t, t->v.dtype, RL_CPU));
    int plain = t->v.dtype == RL_C32 ? RL_C64 : RL_SET_FLOAT8 >> t->v.dtype & 1 ? RL_F32 : t->v.dtype;
    if (here && plain != t->v.dtype) Py_SETREF(here, (PyObject *)copied((rl_tensor *)here, plain, RL_CPU));
    return (rl_tensor *)rl_give(&here);
}

PyObject *rl_scalar_get(const rl_view *v) {
    RL_OWNED PyObject *t = (PyObject *)readable(RL_TENSOR_OF(v));
    if (!t) return NULL;
    const rl_view *there = &((rl_tensor *)t)->v;
    if (RL_UNLIKELY(there != v) && (there->numel != 1 || there->device != RL_CPU)) {
        rl_held_changed();
        return NULL;
    }
    RL_RAW;
    return element_get(rl_const_data(there), there->dtype);
}

PyObject *rl_tensor_item(PyObject *self, PyObject *unused) {
    rl_tensor *t = (rl_tensor *)self;
    (void)unused;
    if (t->v.numel != 1) {
        PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                     (long long)t->v.numel);
        return NULL;
    }
    if (t->v.device == RL_META) {
        PyErr_SetString(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
        return NULL;
    }
    return rl_scalar_get(&t->v);
}

/* at: bytes from the first element; v is held, its memory may move */
static PyObject *list_of(const rl_view *v, int dim, int64_t at) {
    if (dim == v->ndim) {
        RL_RAW;
        return element_get((const char *)rl_const_data(v) + at, v->dtype);
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
    RL_OWNED PyObject *here = (PyObject *)readable((rl_tensor *)self);
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

PyObject *rl_tensor_int(PyObject *self) {
    RL_OWNED PyObject *number = only_number(self);
    return number ? PyNumber_Long(number) : NULL;
}

PyObject *rl_tensor_float(PyObject *self) {
    RL_OWNED PyObject *number = only_number(self);
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
