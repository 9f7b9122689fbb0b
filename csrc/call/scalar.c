/* Scalars: converts a Python number to a value, and the only element of a tensor to a Python number. */
#include "call.h"
#include "object/numpy.h"

/* ---- to slots: 1 it fits, 0 it does not, -1 raised ---- */
int rl_scalar_overflow(void) {
    PyErr_SetString(PyExc_RuntimeError, "Overflow when unpacking long long");
    return -1;
}

int rl_scalar_index(PyObject *o, int64_t *i) {
    if (PyBool_Check(o) || !PyIndex_Check(o)) return 0;
    RL_OWNED PyObject *number = PyNumber_Index(o);
    if (!number) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return 0;
    }
    int overflow;
    *i = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow ? rl_scalar_overflow() : 1;
}

int rl_scalar_value(PyObject *o, rl_value *slot) {
    if (PyFloat_Check(o)) {
        *slot = (rl_value){.tag = RL_FLOAT, .u.d = PyFloat_AS_DOUBLE(o)};
        return 1;
    }
    if (PyBool_Check(o)) {
        *slot = (rl_value){.tag = RL_BOOLEAN, .u.i = o == Py_True};
        return 1;
    }
    if (PyLong_Check(o)) {
        int overflow;
        int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) return rl_scalar_overflow();
        *slot = (rl_value){.tag = RL_INT, .u.i = i};
        return 1;
    }
    /* NumPy's scalars are neither */
    PyNumberMethods *nb = Py_TYPE(o)->tp_as_number;
    if (!nb || rl_tensor_check(o) || PyUnicode_Check(o) || PySequence_Check(o) || PyComplex_Check(o))
        return 0;
    if (nb->nb_index) {
        int64_t i;
        int rc = rl_scalar_int(o, &i);
        if (rc == 1) *slot = (rl_value){.tag = RL_INT, .u.i = i};
        return rc;
    }
    if (!nb->nb_float || rl_numpy_kind(o) != 'f') return 0;
    double d = PyFloat_AsDouble(o);
    if (d == -1 && PyErr_Occurred()) return -1;
    *slot = (rl_value){.tag = RL_FLOAT, .u.d = d};
    return 1;
}

/* ---- from tensors ---- */
PyObject *rl_scalar_element(const char *p, int dtype) {
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

/* The tensor itself, or a copy that rl_scalar_element can read: in the CPU's memory, of a dtype that C knows.
 */
rl_tensor *rl_scalar_readable(rl_tensor *t) {
    RL_OWNED PyObject *here = Py_NewRef((PyObject *)t);
    if (RL_UNLIKELY(t->v.device != RL_CPU)) Py_SETREF(here, (PyObject *)copied(t, t->v.dtype, RL_CPU));
    int plain = t->v.dtype == RL_C32 ? RL_C64 : RL_SET_FLOAT8 >> t->v.dtype & 1 ? RL_F32 : t->v.dtype;
    if (here && plain != t->v.dtype) Py_SETREF(here, (PyObject *)copied((rl_tensor *)here, plain, RL_CPU));
    return (rl_tensor *)rl_move(&here);
}

PyObject *rl_scalar_get(const rl_view *v) {
    RL_OWNED PyObject *t = (PyObject *)rl_scalar_readable(RL_TENSOR_OF(v));
    if (!t) return NULL;
    const rl_view *there = &((rl_tensor *)t)->v;
    if (RL_UNLIKELY(there != v) && (there->numel != 1 || there->device != RL_CPU)) {
        rl_held_changed();
        return NULL;
    }
    RL_RAW;
    const char *at = rl_host_data(there);
    return at ? rl_scalar_element(at, there->dtype) : NULL;
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
