/* torch.dtype, torch.Size, and the names: torch.layout, torch.memory_format and torch.qscheme. */
#include "tensor.h"
#include "core/dtype.h"
#include "core/view.h"
#include <string.h>

PyTypeObject *rl_size_type, *rl_dtype_type;

/* ---- dtype: one object each ---- */
typedef struct {
    PyObject_HEAD int dtype;
} dtype_object;
static PyObject *dtypes[RL_NDTYPES];

PyObject *rl_dtype_object(int dtype) {
    return Py_NewRef(dtypes[dtype]);
}

int rl_dtype_parse(PyObject *o) {
    if (Py_IS_TYPE(o, rl_dtype_type)) return ((dtype_object *)o)->dtype;
    if (o == (PyObject *)&PyFloat_Type) return RL_F64;
    if (o == (PyObject *)&PyLong_Type) return RL_I64;
    if (o == (PyObject *)&PyBool_Type) return RL_BOOL;
    PyErr_Format(PyExc_TypeError, "dtype must be torch.dtype, not %.100s", Py_TYPE(o)->tp_name);
    return -1;
}

static PyObject *dtype_repr(PyObject *self) {
    return PyUnicode_FromFormat("torch.%s", rl_dtype_name(((dtype_object *)self)->dtype));
}
static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(rl_dtype_name(((dtype_object *)self)->dtype));
}
static PyObject *dtype_get_float(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(rl_dtype_is_floating(((dtype_object *)self)->dtype));
}
static PyObject *dtype_get_complex(PyObject *self, void *c) {
    (void)c;
    return PyBool_FromLong(RL_SET_COMPLEX >> ((dtype_object *)self)->dtype & 1);
}
static PyObject *dtype_get_signed(PyObject *self, void *c) {
    (void)c;
    uint64_t bit = RL_BIT(((dtype_object *)self)->dtype), fixed = RL_SET_CONVERTED & ~RL_SET_CONVERTIBLE;
    if (bit & fixed & ~RL_BIT(RL_F4X2)) {
        PyErr_SetString(PyExc_RuntimeError, RL_BIT(RL_BITS1X8) > bit
                                                ? "isSignedType not supported for quantized types"
                                                : "Bits types are undefined");
        return NULL;
    }
    return PyBool_FromLong(!(bit & (RL_BIT(RL_U8) | RL_BIT(RL_BOOL) | RL_BIT(RL_U16) | RL_BIT(RL_U32) |
                                    RL_BIT(RL_U64) | RL_BIT(RL_F8E8M0))));
}
static PyObject *dtype_get_itemsize(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLongLong(rl_itemsize(((dtype_object *)self)->dtype));
}
static PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_get_float, NULL, "Are the elements real numbers with a point?", NULL},
    {"is_complex", dtype_get_complex, NULL, "Are the elements complex?", NULL},
    {"is_signed", dtype_get_signed, NULL, "Can it hold negative numbers?", NULL},
    {"itemsize", dtype_get_itemsize, NULL, "Bytes per element.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyObject *dtype_to_real(PyObject *self, PyObject *unused) {
    (void)unused;
    int dtype = ((dtype_object *)self)->dtype;
    return rl_dtype_object(dtype == RL_C32    ? RL_F16
                           : dtype == RL_C64  ? RL_F32
                           : dtype == RL_C128 ? RL_F64
                                              : dtype);
}
static PyObject *dtype_to_complex(PyObject *self, PyObject *unused) {
    (void)unused;
    int dtype = ((dtype_object *)self)->dtype;
    switch (dtype) {
    case RL_F16: return rl_dtype_object(RL_C32);
    case RL_BF16:
    case RL_F32: return rl_dtype_object(RL_C64);
    case RL_F64: return rl_dtype_object(RL_C128);
    }
    if (RL_SET_COMPLEX >> dtype & 1) return Py_NewRef(self);
    return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", rl_dtype_title(dtype));
}
static PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, NULL},
                                      {"to_real", dtype_to_real, METH_NOARGS,
                                       "to_real()\n--\n\nReturn the dtype of the parts of complex numbers."},
                                      {"to_complex", dtype_to_complex, METH_NOARGS,
                                       "to_complex()\n--\n\nReturn the complex dtype with such parts."},
                                      {NULL, NULL, 0, NULL}};
static PyType_Slot dtype_slots[] = {{Py_tp_repr, dtype_repr},
                                    {Py_tp_getset, dtype_getset},
                                    {Py_tp_methods, dtype_methods},
                                    {Py_tp_doc, "The data type of a tensor's elements."},
                                    {0, NULL}};
static PyType_Spec dtype_spec = {"rushlight.dtype", sizeof(dtype_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

/* ---- Size: a tuple that says torch.Size([2, 3]) ---- */
static PyObject *size_fill_steal(PyObject *size, const int64_t *dims, int n) {
    for (int i = 0; size && i < n; i++) {
        PyObject *d = PyLong_FromLongLong(dims[i]);
        if (!d)
            Py_CLEAR(size);
        else
            PyTuple_SET_ITEM(size, i, d);
    }
    return size;
}

PyObject *rl_size_new(const int64_t *dims, int n) {
    int64_t kept[RL_MAX_DIMS];
    if (n && n <= RL_MAX_DIMS) dims = memcpy(kept, dims, (size_t)n * sizeof *kept);
    return size_fill_steal(rl_type_alloc(rl_size_type, n), dims, n);
}

/* The dims are read when the tuple is there, whose making may have changed them. */
PyObject *rl_tensor_shape(rl_tensor *t) {
    int n = t->v.ndim;
    PyObject *size = rl_type_alloc(rl_size_type, n);
    if (RL_LIKELY(n == t->v.ndim)) return size_fill_steal(size, t->v.shape, n);
    Py_XDECREF(size);
    return size ? rl_tensor_shape(t) : NULL;
}

/* a plain tuple becomes a Size; other results of tuple's slots pass */
static PyObject *size_wrap_steal(PyObject *plain) {
    if (!plain || !PyTuple_CheckExact(plain)) return plain;
    Py_ssize_t n = PyTuple_GET_SIZE(plain);
    PyObject *size = rl_size_type->tp_alloc(rl_size_type, n);
    for (Py_ssize_t i = 0; size && i < n; i++)
        PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(plain, i)));
    Py_DECREF(plain);
    return size;
}

static PyObject *size_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    RL_OWNED PyObject *plain = PyTuple_Type.tp_new(&PyTuple_Type, args, kwargs);
    if (!plain) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(plain);
    PyObject *size = type->tp_alloc(type, n);
    for (Py_ssize_t i = 0; size && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(plain, i), *number = PyNumber_Index(item);
        if (!number) {
            PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%.100s')", i,
                         Py_TYPE(item)->tp_name);
            Py_CLEAR(size);
        } else {
            PyTuple_SET_ITEM(size, i, number);
        }
    }
    return size;
}

static PyObject *size_repr(PyObject *self) {
    RL_OWNED PyObject *list = PySequence_List(self);
    return list ? PyUnicode_FromFormat("torch.Size(%R)", list) : NULL;
}
/* nb_add, so that a tuple in front is asked, too */
static PyObject *size_add(PyObject *a, PyObject *b) {
    if (!PyTuple_Check(a)) Py_RETURN_NOTIMPLEMENTED;
    if (!PyTuple_Check(b))
        return PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not %.100s) to torch.Size",
                            Py_TYPE(b)->tp_name);
    return size_wrap_steal(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
static PyObject *size_repeat(PyObject *a, Py_ssize_t n) {
    PyObject *r = PyTuple_Type.tp_as_sequence->sq_repeat(a, n);
    return size_wrap_steal(r);
}
static PyObject *size_subscript(PyObject *self, PyObject *key) {
    return size_wrap_steal(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}
static PyObject *size_numel(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *n = PyLong_FromLong(1);
    for (Py_ssize_t i = 0; n && i < PyTuple_GET_SIZE(self); i++)
        Py_SETREF(n, PyNumber_Multiply(n, PyTuple_GET_ITEM(self, i)));
    return n;
}
static PyObject *size_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    RL_OWNED PyObject *plain = PySequence_List(self);
    if (plain) Py_SETREF(plain, PyList_AsTuple(plain));
    return plain ? Py_BuildValue("(O(O))", rl_size_type, plain) : NULL;
}
static PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "numel()\n--\n\nReturn the product of the sizes."},
    {"__reduce__", size_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot size_slots[] = {{Py_tp_new, size_new},
                                   {Py_tp_repr, size_repr},
                                   {Py_nb_add, size_add},
                                   {Py_sq_repeat, size_repeat},
                                   {Py_mp_subscript, size_subscript},
                                   {Py_tp_methods, size_methods},
                                   {Py_tp_doc, "The shape of a tensor: a tuple of ints."},
                                   {0, NULL}};
static PyType_Spec size_spec = {"rushlight.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, size_slots};

/* ---- layout, memory_format and qscheme: names only ---- */
typedef struct {
    PyObject_HEAD const char *name;
} named_object;
static PyObject *named_repr(PyObject *self) {
    return PyUnicode_FromFormat("torch.%s", ((named_object *)self)->name);
}
static PyObject *named_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(((named_object *)self)->name);
}
static PyMethodDef named_methods[] = {{"__reduce__", named_reduce, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot named_slots[] = {{Py_tp_repr, named_repr}, {Py_tp_methods, named_methods}, {0, NULL}};
static PyType_Spec layout_spec = {"rushlight.layout", sizeof(named_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
static PyType_Spec format_spec = {"rushlight.memory_format", sizeof(named_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};
static PyType_Spec scheme_spec = {"rushlight.qscheme", sizeof(named_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, named_slots};

static PyTypeObject *layout_type, *format_type;
int rl_layout_parse(PyObject *o) {
    if (!Py_IS_TYPE(o, layout_type)) return 0;
    if (strcmp(((named_object *)o)->name, "strided") == 0) return 1;
    PyErr_Format(PyExc_NotImplementedError, "%R: only torch.strided is implemented", o);
    return -1;
}

int rl_format_parse(PyObject *o, int64_t *format) {
    if (!Py_IS_TYPE(o, format_type)) return 0;
    const char *name = ((named_object *)o)->name;
    *format = strcmp(name, "channels_last") == 0      ? RL_FORMAT_CHANNELS_LAST
              : strcmp(name, "channels_last_3d") == 0 ? RL_FORMAT_CHANNELS_LAST_3D
              : strcmp(name, "preserve_format") == 0  ? RL_FORMAT_PRESERVE
                                                      : RL_FORMAT_CONTIGUOUS;
    return 1;
}

static int add_named(PyObject *m, PyTypeObject *type, const char *name) {
    named_object *o = PyObject_New(named_object, type);
    if (!o) return -1;
    o->name = name;
    int rc = PyModule_AddObjectRef(m, name, (PyObject *)o);
    Py_DECREF(o);
    return rc;
}

static PyTypeObject *add_type(PyObject *m, PyType_Spec *spec, PyObject *bases) {
    PyTypeObject *type = (PyTypeObject *)PyType_FromSpecWithBases(spec, bases);
    if (!type || PyModule_AddType(m, type) < 0) return NULL;
    return type;
}

int rl_types_init(PyObject *m) {
    PyTypeObject *scheme;
    if (!(rl_dtype_type = add_type(m, &dtype_spec, NULL)) ||
        !(rl_size_type = add_type(m, &size_spec, (PyObject *)&PyTuple_Type)) ||
        !(layout_type = add_type(m, &layout_spec, NULL)) || !(scheme = add_type(m, &scheme_spec, NULL)) ||
        !(format_type = add_type(m, &format_spec, NULL)))
        return -1;
    for (int i = 0; i < RL_NDTYPES; i++) {
        dtype_object *d = PyObject_New(dtype_object, rl_dtype_type);
        if (!d) return -1;
        d->dtype = i;
        dtypes[i] = (PyObject *)d;
        if (PyModule_AddObjectRef(m, rl_dtype_name(i), dtypes[i]) < 0) return -1;
    }
    static const char *const layouts[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                          "sparse_bsr", "sparse_bsc", "jagged",     "_mkldnn"};
    for (int i = 0; i < 8; i++) {
        if (add_named(m, layout_type, layouts[i])) return -1;
    }
    static const char *const schemes[] = {"per_tensor_affine", "per_channel_affine",
                                          "per_channel_affine_float_qparams", "per_tensor_symmetric",
                                          "per_channel_symmetric"};
    for (int i = 0; i < 5; i++) {
        if (add_named(m, scheme, schemes[i])) return -1;
    }
    static const char *const formats[] = {"contiguous_format", "channels_last", "channels_last_3d",
                                          "preserve_format"};
    for (int i = 0; i < 4; i++) {
        if (add_named(m, format_type, formats[i])) return -1;
    }
    return 0;
}
