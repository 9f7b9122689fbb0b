/* tensor(data), as_tensor(data), Tensor(...): from Python's numbers and sequences. */
#include "bindings.h"
#include "call/call.h"
#include "object/numpy.h"
#include "core/dtype.h"
#include "core/device.h"
#include <string.h>

/* ---- from nested lists of numbers to a tensor: its shape, its dtype, and each number ---- */
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

/* a copy in another dtype */
static PyObject *tensor_as(rl_tensor *t, int dtype) {
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
    if (rl_tensor_check(data)) return tensor_as((rl_tensor *)data, dtype);
    if (rl_numpy_is_array(data)) {
        RL_OWNED PyObject *borrowed = rl_numpy_borrow(data, false);
        return borrowed ? tensor_as((rl_tensor *)borrowed, dtype) : NULL;
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
    return f.dtype == wanted ? rl_move(&t) : tensor_as((rl_tensor *)t, wanted);
}

/* ---- the functions ---- */
typedef struct {
    int dtype, device, index; /* dtype and device are -1 where nothing was asked for */
} options;

static int parse_options(PyObject *dtype, PyObject *device, options *o) {
    *o = (options){-1, -1, -1};
    if (dtype != Py_None && (o->dtype = rl_dtype_parse(dtype)) < 0) return -1;
    if (device != Py_None && rl_device_parse(device, &o->device, &o->index) < 0) return -1;
    return o->device >= 0 ? rl_device_need(o->device, o->index) : 0;
}

/* a factory without `device` asks the thread */
static int default_device(options *o) {
    if (o->device >= 0 || rl_tls.device == RL_DEVICE_UNASKED) return 0;
    o->device = rl_tls.device / 256;
    o->index = rl_tls.device % 256 - 1;
    return rl_device_need(o->device, o->index);
}

/* A copy to the CPU that nobody waits for lies in pinned memory, which the device writes by itself. */
static rl_tensor *target_of(const rl_view *v, const options *o, int index, bool async) {
    const rl_device_driver *driver =
        async && o->device == RL_CPU && v->numel ? rl_device_driver_get(v->device) : NULL;
    return driver ? rl_tensor_new_pinned(driver, v)
                  : rl_tensor_new(v->dtype, o->device, index, v->shape, v->ndim);
}

/* The copy is one that gradients go back through. */

static PyObject *to_device(PyObject *t_steal, const options *o, bool async) {
    RL_OWNED PyObject *t = t_steal;
    const int index = o->device < 0 ? 0 : rl_device_index(o->device, o->index);
    rl_view *v = t ? &((rl_tensor *)t)->v : NULL;
    if (!t || o->device < 0 || (o->device == v->device && index == v->device_index)) return rl_move(&t);
    rl_tensor *there = target_of(v, o, index, async);
    RL_OWNED PyObject *held = (PyObject *)there;
    if (!held) return NULL;
    rl_strides_as(&there->v, v);
    rl_value args[] = {{.tag = RL_TENSOR, .u.t = &there->v},
                       {.tag = RL_TENSOR, .u.t = v},
                       {.tag = RL_BOOLEAN, .u.i = async}};
    Py_XSETREF(held, rl_op_run(RL_OP_copy_, args, 3));
    /* it was made, nobody wrote into it */
    if (held && ((rl_tensor *)held)->v.storage) ((rl_tensor *)held)->v.storage->version = 0;
    return rl_move(&held);
}

/* what a caller asked for; the texts are PyTorch's */
static int asked(const char *function, PyObject *const *values, options *o) {
    enum { DTYPE = 1, DEVICE };
    *o = (options){-1, -1, -1};
    PyObject *device = values[DEVICE];
    bool known = device == Py_None || PyUnicode_Check(device) || PyLong_Check(device) ||
                 Py_IS_TYPE(device, rl_device_type_object);
    if (!known) return rl_argument_refuse(function, "device", "torch.device", device);
    if (values[DTYPE] != Py_None && (o->dtype = rl_argument_dtype(function, values[DTYPE])) < 0) return -1;
    if (device != Py_None && rl_device_parse(device, &o->device, &o->index) < 0) return -1;
    if (o->device >= 0) return rl_device_need(o->device, o->index);
    return default_device(o);
}

static int warn_copy(PyObject *data) {
    if (!rl_tensor_check(data)) return 0;
    return PyErr_WarnEx(
        PyExc_UserWarning,
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        1);
}

static int require_grad(PyObject *t) {
    if (rl_dtype_has_grad(((rl_tensor *)t)->v.dtype)) return rl_tensor_set_requires_grad((rl_tensor *)t, 1);
    PyErr_SetString(PyExc_RuntimeError,
                    "Only Tensors of floating point and complex dtype can require gradients");
    return -1;
}

static PyObject *create_tensor(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", NULL};
    static const rl_signature signature = {"tensor", 1, 1, names};
    PyObject *values[5];
    options o;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, values) < 0 || asked("tensor", values, &o) < 0) return NULL;
    int grad = rl_argument_boolean("tensor", "requires_grad", values[3]);
    int pin = grad < 0 ? -1 : rl_argument_boolean("tensor", "pin_memory", values[4]);
    if (pin < 0 || (pin && !rl_pin_driver()) || warn_copy(values[0]) < 0) return NULL;
    RL_OWNED PyObject *t = to_device(rl_tensor_from_data(values[0], o.dtype), &o, false);
    if (t && pin) Py_SETREF(t, rl_tensor_pin(t));
    return t && (!grad || require_grad(t) == 0) ? rl_move(&t) : NULL;
}

/* no copy where none is needed */
static PyObject *create_as_tensor(PyObject *m, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"data", "dtype", "device", NULL};
    static const rl_signature signature = {"as_tensor", 1, 1, names};
    PyObject *values[3];
    options o;
    (void)m;
    if (rl_arguments(&signature, args, kwargs, values) < 0 || asked("as_tensor", values, &o) < 0) return NULL;
    PyObject *data = values[0];
    RL_OWNED PyObject *t = rl_tensor_check(data)     ? Py_NewRef(data)
                           : rl_numpy_is_array(data) ? rl_numpy_borrow(data, true)
                                                     : rl_tensor_from_data(data, o.dtype);
    if (t && o.dtype >= 0 && ((rl_tensor *)t)->v.dtype != o.dtype) {
        rl_value slots[2] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)t)->v},
                             {.tag = RL_DTYPE, .u.i = o.dtype}};
        Py_SETREF(t, rl_op_run(RL_OP_to_copy, slots, 2));
    }
    return to_device(rl_move(&t), &o, false);
}

/* _cast(tensor, dtype, device, copy, non_blocking): Tensor.to after its arguments are understood;
 * differentiable */
static PyObject *create_cast(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    options o;
    if (n < 4 || n > 5 || !rl_tensor_check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "_cast(tensor, dtype, device, copy, non_blocking=False)");
        return NULL;
    }
    rl_tensor *t = (rl_tensor *)args[0];
    if (parse_options(args[1], args[2], &o) < 0) return NULL;
    if (o.dtype < 0) o.dtype = t->v.dtype;
    const bool named = o.device >= 0;
    if (!named) o.device = t->v.device;
    int copy = PyObject_IsTrue(args[3]), async = n > 4 ? PyObject_IsTrue(args[4]) : 0;
    if (copy < 0 || async < 0) return NULL;
    o.index = o.device == t->v.device && !named ? t->v.device_index : rl_device_index(o.device, o.index);
    const bool moves = o.device != t->v.device || o.index != t->v.device_index;
    if (moves && o.dtype == t->v.dtype) return to_device(Py_NewRef(args[0]), &o, async);
    if (!copy && !moves && o.dtype == t->v.dtype) return Py_NewRef(args[0]);
    rl_value slots[2] = {{.tag = RL_TENSOR, .u.t = &t->v}, {.tag = RL_DTYPE, .u.i = o.dtype}};
    return to_device(rl_op_run(RL_OP_to_copy, slots, 2), &o, async);
}

/* Tensor(), Tensor(2, 3), Tensor([1, 2]): the legacy constructor, of the default dtype */
PyObject *rl_tensor_construct(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    int64_t shape[RL_MAX_DIMS] = {0};
    RL_OWNED PyObject *t = NULL;
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "new() takes its arguments by position");
        return NULL;
    }
    if (n == 0) {
        t = (PyObject *)rl_tensor_new(rl_dtype_default(), RL_CPU, 0, shape, 1);
    } else if (n == 1 && !PyLong_Check(PyTuple_GET_ITEM(args, 0)) &&
               !Py_IS_TYPE(PyTuple_GET_ITEM(args, 0), rl_size_type)) {
        PyObject *data = PyTuple_GET_ITEM(args, 0);
        t = rl_tensor_check(data) ? rl_tensor_detach(data) : rl_tensor_from_data(data, rl_dtype_default());
    } else {
        PyObject *sizes =
            Py_IS_TYPE(PyTuple_GET_ITEM(args, 0), rl_size_type) ? PyTuple_GET_ITEM(args, 0) : args;
        n = PyTuple_GET_SIZE(sizes);
        if (n > RL_MAX_DIMS) {
            PyErr_SetString(PyExc_RuntimeError, "too many dimensions");
            return NULL;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i));
            if (shape[i] == -1 && PyErr_Occurred()) return NULL;
            if (shape[i] < 0) {
                PyErr_Format(PyExc_RuntimeError, "Trying to create tensor with negative dimension %lld",
                             (long long)shape[i]);
                return NULL;
            }
        }
        t = (PyObject *)rl_tensor_new(rl_dtype_default(), RL_CPU, 0, shape, (int)n);
    }
    if (!t || type == rl_tensor_type) return rl_move(&t);
    return (PyObject *)rl_tensor_alias(type, (rl_tensor *)t);
}

/* _as_subclass(tensor, cls): the same memory as an object of another class, whose __new__ is not asked */
static PyObject *create_as_subclass(PyObject *m, PyObject *const *args, Py_ssize_t n) {
    (void)m;
    if (n != 2 || !rl_tensor_check(args[0]) || !PyType_Check(args[1]) ||
        !PyType_IsSubtype((PyTypeObject *)args[1], rl_tensor_type)) {
        PyErr_SetString(PyExc_TypeError,
                        "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                        "possible. Make sure your class inherits from Tensor.");
        return NULL;
    }
    rl_tensor *made = rl_tensor_alias((PyTypeObject *)args[1], (rl_tensor *)args[0]);
    if (made) made->requires_grad = ((rl_tensor *)args[0])->requires_grad;
    return (PyObject *)made;
}

static PyMethodDef create_functions[] = {
    {"tensor", (PyCFunction)(void (*)(void))create_tensor, METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "Create a tensor from a copy of data: a number, nested sequences, an array or a tensor.\n\n"
     "Parameters\n"
     "----------\n"
     "data : number, nested sequence of numbers, ndarray or Tensor\n"
     "dtype : dtype, optional\n"
     "    Inferred when None: float32 for Python's floats, int64 for ints, bool, or that of an array.\n"
     "device : device, optional\n"
     "requires_grad : bool, default False\n"
     "    Whether autograd records what is done with it.\n"
     "pin_memory : bool, default False\n"
     "    Accepted, without effect on the CPU.\n\n"
     "Raises\n"
     "------\n"
     "ValueError\n"
     "    A ragged sequence.\n"
     "TypeError\n"
     "    Any other object.\n"
     "RuntimeError\n"
     "    A number that dtype cannot hold.\n\n"
     "Examples\n"
     "--------\n"
     ">>> torch.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
     "tensor([[1., 2.],\n"
     "        [3., 4.]])\n\n"
     "Same as torch.tensor: https://docs.pytorch.org/docs/2.13/generated/torch.tensor.html"},
    {"as_tensor", (PyCFunction)(void (*)(void))create_as_tensor, METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, *, dtype=None, device=None)\n--\n\n"
     "Convert data to a tensor, on the same memory where dtype and device allow.\n\n"
     "A tensor or an ndarray of this dtype and device is not copied; anything else is, as tensor() does.\n\n"
     "Examples\n"
     "--------\n"
     ">>> x = torch.ones(2)\n"
     ">>> torch.as_tensor(x) is x\n"
     "True\n\n"
     "Same as torch.as_tensor: https://docs.pytorch.org/docs/2.13/generated/torch.as_tensor.html"},
    {"_cast", (PyCFunction)(void (*)(void))create_cast, METH_FASTCALL,
     "_cast(tensor, dtype, device, copy, non_blocking=False)\n--\n\nTensor.to's work."},
    {"_as_subclass", (PyCFunction)(void (*)(void))create_as_subclass, METH_FASTCALL,
     "_as_subclass(tensor, cls)\n--\n\nThe same memory as an object of another class."},
    {NULL, NULL, 0, NULL}};

int rl_create_init(PyObject *m) {
    return PyModule_AddFunctions(m, create_functions);
}
