/* From nested lists of numbers to a tensor: its shape, its dtype, and each number. */
#include "call/call.h"
#include "bindings.h"
#include "object/numpy.h"
#include "core/dtype.h"
#include <string.h>

/* Note [Nested sequences]
 * Two walks over the data, each bounded by RL_MAX_DIMS: the first finds shape (from the first elements) and
 * the least dtype that holds all, the second checks the shape everywhere and writes. */
typedef struct {
    int64_t shape[RL_MAX_DIMS];
    int ndim, dtype; /* dtype -1: nothing seen */
} form;

static bool is_scalar_tensor(PyObject *o) {
    return rl_tensor_check(o) && ((rl_tensor *)o)->v.numel == 1;
}
static bool is_row(PyObject *o) {
    return !PyUnicode_Check(o) && !PyBytes_Check(o) && !rl_tensor_check(o) && PySequence_Check(o) &&
           !PyDict_Check(o);
}

static PyObject *row_items(PyObject *o) {
    if (PyTuple_Check(o)) return Py_NewRef(o);
    return PySequence_Tuple(o); /* a copy: conversions run Python code that may change a list */
}

static int form_shape(PyObject *data, form *f) {
    RL_OWNED PyObject *at = Py_NewRef(data);
    while (is_row(at)) {
        Py_ssize_t n = PySequence_Size(at);
        if (n < 0) return -1;
        if (f->ndim == RL_MAX_DIMS) {
            PyErr_Format(PyExc_ValueError, "too many dimensions '%s'", Py_TYPE(data)->tp_name);
            return -1;
        }
        f->shape[f->ndim++] = n;
        if (n == 0) return 0;
        Py_SETREF(at, PySequence_GetItem(at, 0));
        if (!at) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "could not determine the shape of object type '%s'",
                         Py_TYPE(data)->tp_name);
            return -1;
        }
    }
    if (!PyUnicode_Check(at) || !f->ndim || PyUnicode_GET_LENGTH(at) == 0) return 0;
    PyErr_SetString(PyExc_ValueError, "too many dimensions 'str'"); /* whose items are strings again */
    return -1;
}

static void refuse_scalar(PyObject *o) {
    if (rl_tensor_check(o) && RL_SET_INTEGRAL >> ((rl_tensor *)o)->v.dtype & 1)
        PyErr_SetString(PyExc_TypeError,
                        "only integer tensors of a single element can be converted to an index");
    else if (rl_tensor_check(o))
        PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
    else if (PyUnicode_Check(o) || PyBytes_Check(o))
        PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(o)->tp_name);
    else
        PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %s", Py_TYPE(o)->tp_name);
}

static int form_join(int a, int b);
static int scalar_dtype(PyObject *o) {
    if (PyBool_Check(o)) return RL_BOOL;
    if (PyFloat_CheckExact(o)) return rl_dtype_default();
    if (PyLong_CheckExact(o)) return RL_I64;
    int numpy = PyUnicode_Check(o) ? -2 : rl_numpy_scalar_dtype(o); /* np.float64 is a float as well */
    if (numpy != -2) return numpy;
    if (PyFloat_Check(o)) return rl_dtype_default();
    if (PyComplex_Check(o)) return form_join(RL_C32, rl_dtype_default());
    if (PyLong_Check(o)) return RL_I64;
    if (is_scalar_tensor(o)) return ((rl_tensor *)o)->v.dtype;
    refuse_scalar(o);
    return -1;
}

/* the least dtype that holds numbers of both; -1 and an exception where there is none */
static int form_join(int a, int b) {
    enum {
        UNSIGNED = 1u << RL_U16 | 1u << RL_U32 | 1u << RL_U64,
        DOUBLE = 1u << RL_F64 | 1u << RL_C128,
        SINGLE = 1u << RL_F32 | 1u << RL_BF16 | 1u << RL_C64
    };
    if (a == b) return a;
    if ((UNSIGNED >> a & 1) || (UNSIGNED >> b & 1)) {
        if (rl_is_float(a) || rl_is_float(b)) return rl_is_float(a) ? a : b;
        PyErr_Format(PyExc_RuntimeError,
                     "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote %s "
                     "and %s",
                     rl_dtype_title(a), rl_dtype_title(b));
        return -1;
    }
    if ((RL_SET_COMPLEX >> a & 1) || (RL_SET_COMPLEX >> b & 1))
        return (DOUBLE >> a & 1) || (DOUBLE >> b & 1)   ? RL_C128
               : (SINGLE >> a & 1) || (SINGLE >> b & 1) ? RL_C64
                                                        : RL_C32;
    return rl_dtype_promote(a, b);
}

static int form_dtype(PyObject *data, form *f, int depth) {
    if (!is_row(data) || depth == f->ndim) {
        if (is_row(data)) {
            PyErr_Format(PyExc_TypeError, "'%s' object cannot be interpreted as an integer",
                         Py_TYPE(data)->tp_name);
            return -1;
        }
        int dtype = scalar_dtype(data);
        if (dtype < 0) return -1;
        f->dtype = f->dtype < 0 ? dtype : form_join(f->dtype, dtype);
        return f->dtype < 0 ? -1 : 0;
    }
    RL_OWNED PyObject *items = row_items(data);
    if (!items) return -1;
    if (PyTuple_GET_SIZE(items) == 0 && f->dtype < 0) f->dtype = rl_dtype_default();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++)
        if (form_dtype(PyTuple_GET_ITEM(items, i), f, depth + 1) < 0) return -1;
    return 0;
}

/* one number in memory of our own: converting it may run Python */
static int number_put(void *to, int dtype, PyObject *o) {
    RL_OWNED PyObject *held = NULL;
    if (is_scalar_tensor(o)) {
        if (!(held = rl_tensor_item(o, NULL))) return -1;
        o = held;
    }
    if (dtype == RL_F32 && PyFloat_CheckExact(o)) {
        *(float *)to = (float)PyFloat_AS_DOUBLE(o);
        return 0;
    }
    if (dtype == RL_BOOL) {
        int truth = PyObject_IsTrue(o);
        *(uint8_t *)to = truth > 0;
        return truth < 0 ? -1 : 0;
    }
    if (rl_is_float(dtype)) {
        double d = PyFloat_AsDouble(o);
        if (d == -1 && PyErr_Occurred()) return -1;
        if (dtype == RL_F64)
            *(double *)to = d;
        else if (dtype == RL_F32)
            *(float *)to = (float)d;
        else if (dtype == RL_F16)
            *(rl_half *)to = rl_to_half((float)d);
        else
            *(rl_bfloat *)to = rl_to_bfloat((float)d);
        return 0;
    }
    if (dtype == RL_C128) {
        Py_complex z = PyComplex_AsCComplex(o);
        if (z.real == -1 && PyErr_Occurred()) return -1;
        *(rl_complex128 *)to = (rl_complex128){z.real, z.imag};
        return 0;
    }
    RL_OWNED PyObject *whole = PyFloat_Check(o) ? PyNumber_Long(o) : PyNumber_Index(o);
    if (!whole) {
        if (PyFloat_Check(o)) {
            PyErr_Clear();
            PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                         rl_dtype_name(dtype));
        }
        return -1;
    }
    if (dtype == RL_U64) {
        unsigned long long u = PyLong_AsUnsignedLongLong(whole);
        if (u == (unsigned long long)-1 && PyErr_Occurred()) return -1;
        *(uint64_t *)to = u;
        return 0;
    }
    int overflow;
    int64_t i = PyLong_AsLongLongAndOverflow(whole, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    static const int64_t high[RL_NDTYPES] = {
        [RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX,    [RL_I16] = INT16_MAX, [RL_I32] = INT32_MAX,
        [RL_I64] = INT64_MAX, [RL_U16] = UINT16_MAX, [RL_U32] = UINT32_MAX};
    if (i > high[dtype] || i < (dtype == RL_U8           ? -UINT8_MAX
                                : rl_is_converted(dtype) ? 0
                                                         : -high[dtype] - 1)) {
        PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow",
                     rl_dtype_name(dtype));
        return -1;
    }
    switch (dtype) {
    case RL_U8: *(uint8_t *)to = (uint8_t)i; break;
    case RL_I8: *(int8_t *)to = (int8_t)i; break;
    case RL_I16: *(int16_t *)to = (int16_t)i; break;
    case RL_I32: *(int32_t *)to = (int32_t)i; break;
    case RL_U16: *(uint16_t *)to = (uint16_t)i; break;
    case RL_U32: *(uint32_t *)to = (uint32_t)i; break;
    default: *(int64_t *)to = i; break;
    }
    return 0;
}

typedef struct {
    const rl_view *v; /* held */
    int64_t at;       /* bytes from its first element */
} cursor;

static int write_number(cursor *c, int dtype, PyObject *o) {
    rl_complex128 number;
    if (number_put(&number, dtype, o) < 0) return -1;
    RL_RAW;
    char *to = (char *)rl_data(c->v, RL_FRESH) + c->at;
    switch (rl_itemsize(dtype)) {
    case 1: memcpy(to, &number, 1); break;
    case 2: memcpy(to, &number, 2); break;
    case 4: memcpy(to, &number, 4); break;
    case 8: memcpy(to, &number, 8); break;
    default: memcpy(to, &number, sizeof number);
    }
    c->at += rl_itemsize(dtype);
    return 0;
}

static int write_rows(cursor *c, const form *f, int depth, PyObject *data) {
    if (depth == f->ndim) {
        if (is_row(data)) {
            PyErr_Format(PyExc_TypeError, "'%s' object cannot be interpreted as an integer",
                         Py_TYPE(data)->tp_name);
            return -1;
        }
        return write_number(c, f->dtype, data);
    }
    if (!is_row(data)) {
        PyErr_SetString(PyExc_TypeError, "not a sequence");
        return -1;
    }
    RL_OWNED PyObject *items = row_items(data);
    if (!items) return -1;
    if (PyTuple_GET_SIZE(items) != f->shape[depth]) {
        PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %zd)",
                     (long long)f->shape[depth], depth, PyTuple_GET_SIZE(items));
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++)
        if (write_rows(c, f, depth + 1, PyTuple_GET_ITEM(items, i)) < 0) return -1;
    return 0;
}

PyObject *rl_tensor_as(rl_tensor *t, int dtype) {
    rl_tensor *copy =
        rl_tensor_new(dtype < 0 ? t->v.dtype : dtype, t->v.device, t->v.device_index, t->v.shape, t->v.ndim);
    if (copy && rl_tensor_copy(copy, t) < 0) Py_CLEAR(copy);
    return (PyObject *)copy;
}

/* the dtype that numbers are written in before they are converted; -1 and an exception without one */
static int written_as(int dtype) {
    if (RL_SET_COMPLEX >> dtype & 1) return RL_C128;
    if (RL_SET_FLOAT8 >> dtype & 1) return RL_F64;
    if (!rl_is_converted(dtype) || RL_SET_CONVERTIBLE >> dtype & 1) return dtype;
    PyErr_Format(PyExc_NotImplementedError, "numbers cannot be stored as torch.%s", rl_dtype_name(dtype));
    return -1;
}

static int warn_arrays(PyObject *data) {
    static bool said;
    bool listed =
        (PyList_Check(data) && PyList_GET_SIZE(data) && rl_numpy_is_array(PyList_GET_ITEM(data, 0))) ||
        (PyTuple_Check(data) && PyTuple_GET_SIZE(data) && rl_numpy_is_array(PyTuple_GET_ITEM(data, 0)));
    if (!listed || said) return 0;
    said = true;
    return PyErr_WarnEx(
        PyExc_UserWarning,
        "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
        "converting the list to a single numpy.ndarray with numpy.array() before converting to a "
        "tensor.",
        1);
}

PyObject *rl_tensor_from_data(PyObject *data, int dtype) {
    if (rl_tensor_check(data)) return rl_tensor_as((rl_tensor *)data, dtype);
    if (rl_numpy_is_array(data)) {
        RL_OWNED PyObject *borrowed = rl_numpy_borrow(data, false);
        return borrowed ? rl_tensor_as((rl_tensor *)borrowed, dtype) : NULL;
    }
    form f = {.ndim = 0, .dtype = -1};
    if (PyUnicode_Check(data) || PyBytes_Check(data)) {
        PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(data)->tp_name);
        return NULL;
    }
    if (warn_arrays(data) < 0 || form_shape(data, &f) < 0) return NULL;
    if (dtype >= 0)
        f.dtype = dtype;
    else if (form_dtype(data, &f, 0) < 0)
        return NULL;
    if (f.dtype < 0) f.dtype = rl_dtype_default();
    int wanted = f.dtype;
    if ((f.dtype = written_as(wanted)) < 0) return NULL;
    RL_OWNED PyObject *t = (PyObject *)rl_tensor_new(f.dtype, RL_CPU, 0, f.shape, f.ndim);
    RL_HELD v = {.storage = NULL};
    if (!t || rl_held_take(&v, &((rl_tensor *)t)->v) < 0) return NULL;
    cursor c = {.v = &v};
    if (v.numel && write_rows(&c, &f, 0, data) < 0) return NULL;
    return f.dtype == wanted ? rl_give(&t) : rl_tensor_as((rl_tensor *)t, wanted);
}
