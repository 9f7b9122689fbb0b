/* torch.finfo and torch.iinfo: the limits of a dtype. */
#include "tensor.h"
#include "core/dtype.h"
#include <stddef.h>
#include <stdio.h>

/* ---- finfo ---- */
typedef struct {
    double max, min, eps, tiny, resolution;
} float_facts;
#define SYMMETRIC(max, ...) {max, -(max), __VA_ARGS__}
static const float_facts floats[RL_NDTYPES] = {
    [RL_F16] = SYMMETRIC(65504, 0x1p-10, 0x1p-14, 1e-3),
    [RL_BF16] = SYMMETRIC(0x1.fep127, 0x1p-7, 0x1p-126, 1e-2),
    [RL_F32] = SYMMETRIC(0x1.fffffep127, 0x1p-23, 0x1p-126, 1e-6),
    [RL_F64] = SYMMETRIC(0x1.fffffffffffffp1023, 0x1p-52, 0x1p-1022, 1e-15),
    [RL_F8E5M2] = SYMMETRIC(57344, 0x1p-2, 0x1p-14, 1),
    [RL_F8E4M3] = SYMMETRIC(448, 0x1p-3, 0x1p-6, 1),
    [RL_F8E5M2Z] = SYMMETRIC(57344, 0x1p-3, 0x1p-15, 1), /* its eps is what PyTorch says */
    [RL_F8E4M3Z] = SYMMETRIC(240, 0x1p-3, 0x1p-7, 1),
    [RL_F8E8M0] = {0x1p127, 0x1p-127, 1, 0x1p-127, 1},
};

typedef struct {
    PyObject_HEAD int dtype;
} limits_object;
static int dtype_of(PyObject *self) {
    return ((limits_object *)self)->dtype;
}

static int real_part(int dtype) {
    return dtype == RL_C32 ? RL_F16 : dtype == RL_C64 ? RL_F32 : dtype == RL_C128 ? RL_F64 : dtype;
}

static PyObject *limits_new(PyTypeObject *type, int dtype) {
    limits_object *self = (limits_object *)type->tp_alloc(type, 0);
    if (self) self->dtype = dtype;
    return (PyObject *)self;
}

static int dtype_argument(PyObject *type, const char *name) {
    if (Py_IS_TYPE(type, rl_dtype_type) || PyType_Check(type)) return rl_dtype_parse(type);
    PyErr_Format(PyExc_TypeError, "%s(): argument 'type' (position 1) must be torch.dtype, not %.100s", name,
                 Py_TYPE(type)->tp_name);
    return -1;
}

static PyObject *finfo_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"type", NULL};
    PyObject *type = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:finfo", names, &type)) return NULL;
    int dtype = type ? dtype_argument(type, "finfo") : rl_dtype_default();
    if (dtype < 0) return NULL;
    dtype = real_part(dtype);
    if (floats[dtype].eps) return limits_new(cls, dtype);
    PyErr_SetString(
        PyExc_TypeError,
        "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'");
    return NULL;
}

static PyObject *finfo_number(PyObject *self, void *offset) {
    const char *facts = (const char *)&floats[dtype_of(self)];
    return PyFloat_FromDouble(*(const double *)(facts + (size_t)offset));
}

static PyObject *limits_bits(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLongLong(8 * rl_itemsize(dtype_of(self)));
}

static PyObject *limits_dtype(PyObject *self, void *c) {
    (void)c;
    return PyUnicode_FromString(rl_dtype_name(dtype_of(self)));
}

static PyObject *finfo_repr(PyObject *self) {
    const float_facts *f = &floats[dtype_of(self)];
    char text[256];
    snprintf(text, sizeof text,
             "finfo(resolution=%g, min=%g, max=%g, eps=%g, smallest_normal=%g, tiny=%g, dtype=%s)",
             f->resolution, f->min, f->max, f->eps, f->tiny, f->tiny, rl_dtype_name(dtype_of(self)));
    return PyUnicode_FromString(text);
}

static PyObject *limits_compare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(b, Py_TYPE(a))) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((dtype_of(a) == dtype_of(b)) == (op == Py_EQ));
}

static PyObject *limits_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyErr_Format(PyExc_TypeError, "cannot pickle '%.100s' object", Py_TYPE(self)->tp_name);
}

#define FACT(name, field, doc) {#name, finfo_number, NULL, doc, (void *)offsetof(float_facts, field)}
static PyGetSetDef finfo_getset[] = {FACT(max, max, "The largest number."),
                                     FACT(min, min, "The smallest number."),
                                     FACT(eps, eps, "What lies between 1 and the next larger number."),
                                     FACT(tiny, tiny, "The smallest normal number above 0."),
                                     FACT(smallest_normal, tiny, "The smallest normal number above 0."),
                                     FACT(resolution, resolution, "The decimal resolution: 10 ** -digits."),
                                     {"bits", limits_bits, NULL, "Bits of a number.", NULL},
                                     {"dtype", limits_dtype, NULL, "The name of the dtype.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef limits_methods[] = {{"__reduce__", limits_reduce, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot finfo_slots[] = {
    {Py_tp_new, finfo_new},
    {Py_tp_repr, finfo_repr},
    {Py_tp_richcompare, limits_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_getset, finfo_getset},
    {Py_tp_methods, limits_methods},
    {Py_tp_doc,
     "finfo(type=None)\n--\n\nThe numerical limits of a floating-point dtype, or of complex parts."},
    {0, NULL}};
static PyType_Spec finfo_spec = {"rushlight.finfo", sizeof(limits_object), 0, Py_TPFLAGS_DEFAULT,
                                 finfo_slots};

/* ---- iinfo ---- */
#define RL_SET_UNSIGNED (RL_BIT(RL_U8) | RL_BIT(RL_U16) | RL_BIT(RL_U32) | RL_BIT(RL_U64))
#define RL_SET_INTEGER  (RL_SET_INTS | RL_SET_UNSIGNED)

static PyObject *iinfo_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"type", NULL};
    PyObject *type;
    if (PyTuple_GET_SIZE(args) == 0 && !(kwargs && PyDict_GetItemString(kwargs, "type"))) {
        PyErr_SetString(PyExc_TypeError, "iinfo() missing 1 required positional arguments: \"type\"");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:iinfo", names, &type)) return NULL;
    int dtype = dtype_argument(type, "iinfo");
    if (dtype < 0) return NULL;
    if (RL_SET_INTEGER >> dtype & 1) return limits_new(cls, dtype);
    if (dtype == RL_BOOL)
        PyErr_SetString(PyExc_TypeError, "torch.bool is not supported by torch.iinfo");
    else if (dtype >= RL_QI8 && dtype < RL_BITS1X8)
        PyErr_Format(PyExc_NotImplementedError, "\"dtype\" not implemented for '%s'", rl_dtype_title(dtype));
    else
        PyErr_SetString(
            PyExc_TypeError,
            "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'");
    return NULL;
}

static int is_unsigned(PyObject *self) {
    return RL_SET_UNSIGNED >> dtype_of(self) & 1;
}
static uint64_t largest(PyObject *self) {
    return UINT64_MAX >> (64 - 8 * rl_itemsize(dtype_of(self)) + !is_unsigned(self));
}
static int64_t smallest(PyObject *self) {
    return is_unsigned(self) ? 0 : -(int64_t)largest(self) - 1;
}
static PyObject *iinfo_max(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromUnsignedLongLong(largest(self));
}
static PyObject *iinfo_min(PyObject *self, void *c) {
    (void)c;
    return PyLong_FromLongLong(smallest(self));
}
static PyObject *iinfo_repr(PyObject *self) {
    char text[128];
    snprintf(text, sizeof text, "iinfo(min=%g, max=%g, dtype=%s)", (double)smallest(self),
             (double)largest(self), rl_dtype_name(dtype_of(self)));
    return PyUnicode_FromString(text);
}

static PyGetSetDef iinfo_getset[] = {{"max", iinfo_max, NULL, "The largest number.", NULL},
                                     {"min", iinfo_min, NULL, "The smallest number.", NULL},
                                     {"bits", limits_bits, NULL, "Bits of a number.", NULL},
                                     {"dtype", limits_dtype, NULL, "The name of the dtype.", NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot iinfo_slots[] = {
    {Py_tp_new, iinfo_new},
    {Py_tp_repr, iinfo_repr},
    {Py_tp_richcompare, limits_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_getset, iinfo_getset},
    {Py_tp_methods, limits_methods},
    {Py_tp_doc, "iinfo(type)\n--\n\nThe numerical limits of an integer dtype."},
    {0, NULL}};
static PyType_Spec iinfo_spec = {"rushlight.iinfo", sizeof(limits_object), 0, Py_TPFLAGS_DEFAULT,
                                 iinfo_slots};

int rl_limits_init(PyObject *m) {
    PyType_Spec *const specs[] = {&finfo_spec, &iinfo_spec};
    for (int i = 0; i < 2; i++) {
        RL_OWNED PyObject *type = PyType_FromSpec(specs[i]);
        if (!type || PyModule_AddType(m, (PyTypeObject *)type) < 0) return -1;
    }
    return 0;
}
