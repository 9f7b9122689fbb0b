/* torch.device: the object, the texts that name one, and the device on which new tensors lie. */
#include "tensor.h"
#include "core/device.h"
#include "core/error.h"
#include "ops/select.h"
#include <string.h>

/* ---- drivers of devices other than the CPU ----
 * their registration, and the loading of their extension when a tensor first asks for one */
/* The first RL_NDEVICES are real here; the rest can be named, as files and scripts do. */
static const char *const device_names[RL_DEVICE_NAMES] = {
    "cpu", "cuda", "meta", "ipu", "xpu",  "mkldnn", "opengl", "opencl", "ideep", "hip",
    "ve",  "fpga", "maia", "xla", "lazy", "vulkan", "mps",    "hpu",    "mtia",  "privateuseone"};

const char *rl_device_name(int device) {
    return device_names[device];
}

/* ---- others run Python while a device is waited for ---- */
static void *leave_python(void) {
    return PyGILState_Check() && !rl_tls.gil_kept ? PyEval_SaveThread() : NULL;
}
static void enter_python(void *thread) {
    PyEval_RestoreThread(thread);
}

/* The extension of a device registers itself when rushlight._device imports it. */
int rl_device_find(int device) {
    if (rl_device_driver_get(device)) return 1;
    if (device != RL_CUDA) return 0;
    RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._device");
    RL_OWNED PyObject *count = finder ? PyObject_CallMethod(finder, "cuda_driver", NULL) : NULL;
    if (!count) return -1;
    return rl_device_driver_get(device) != NULL;
}

int rl_device_need(int device, int index) {
    if (device == RL_CPU || device == RL_META) return 0;
    int found = rl_device_find(device);
    if (found < 0) return -1;
    if (!found && device == RL_CUDA) { /* which is always raised */
        RL_OWNED PyObject *finder = PyImport_ImportModule("rushlight._device");
        RL_OWNED PyObject *none = finder ? PyObject_CallMethod(finder, "refuse_cuda", NULL) : NULL;
        return -1;
    }
    if (!found) {
        const char *name = rl_device_name(device);
        if (strcmp(name, "xpu") == 0)
            PyErr_SetString(PyExc_AssertionError, "Torch not compiled with XPU enabled");
        else
            PyErr_Format(PyExc_RuntimeError, "PyTorch is not linked with support for %s devices", name);
        return -1;
    }
    const rl_device_driver *driver = rl_device_driver_get(device);
    if (index < driver->count()) return 0;
    rl_error_set(RL_DEVICE, "CUDA error: invalid device ordinal");
    rl_raise(NULL);
    return -1;
}

static PyObject *register_device(PyObject *m, PyObject *capsule) {
    (void)m;
    const rl_device_driver *driver = PyCapsule_GetPointer(capsule, "rushlight._cuda.driver");
    if (!driver) return NULL;
    if (rl_device_kernels(driver) != RL_OK) return rl_raise("_register_device");
    driver->python(leave_python, enter_python);
    Py_RETURN_NONE;
}

static PyMethodDef driver_functions[] = {
    {"_register_device", register_device, METH_O,
     "_register_device(capsule)\n--\n\nTakes the driver of a device extension: its memory and its kernels."},
    {NULL, NULL, 0, NULL}};

int rl_driver_init(PyObject *m) {
    return PyModule_AddFunctions(m, driver_functions);
}

/* ---- device objects ---- */
PyTypeObject *rl_device_type_object;
typedef struct {
    PyObject_HEAD int type, index; /* index -1: the current one */
} device_object;
enum { MAX_INDEX = 127 };

PyObject *rl_device_new(int device, int index) {
    device_object *d = PyObject_New(device_object, rl_device_type_object);
    if (!d) return NULL;
    d->type = device;
    d->index = index;
    return (PyObject *)d;
}

PyObject *rl_device_of(int device, int index) {
    return rl_device_new(device, device == RL_CUDA ? index : -1);
}

/* ---- understanding ---- */
static int device_named(const char *text, size_t n, int *device) {
    for (*device = 0; *device < RL_DEVICE_NAMES; ++*device)
        if (strlen(rl_device_name(*device)) == n && memcmp(rl_device_name(*device), text, n) == 0) return 0;
    RL_OWNED PyObject *name = PyUnicode_FromStringAndSize(text, (Py_ssize_t)n);
    if (name)
        PyErr_Format(PyExc_RuntimeError,
                     "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, "
                     "maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of "
                     "device string: %U",
                     name);
    return -1;
}

static int device_from_text(const char *text, int *device, int *index) {
    size_t n = strcspn(text, ":");
    *index = -1;
    if (!*text) {
        PyErr_SetString(PyExc_RuntimeError, "Device string must not be empty");
        return -1;
    }
    if (n && device_named(text, n, device) < 0) return -1;
    if (n && !text[n]) return 0;
    const char *digits = text + n + 1;
    size_t len = n ? strspn(digits, "0123456789") : 0;
    if (len > 3 && !digits[len]) {
        PyErr_Format(PyExc_RuntimeError, "Could not parse device index '%.100s' in device string '%.100s'",
                     digits, text);
        return -1;
    }
    int number = 0;
    for (size_t i = 0; i < len && len <= 3; i++) number = 10 * number + digits[i] - '0';
    if (len == 0 || digits[len] || (len > 1 && *digits == '0') || number > MAX_INDEX) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%.100s'", text);
        return -1;
    }
    *index = number;
    return 0;
}

static int index_from(PyObject *o, int *index) {
    int overflow;
    long i = PyLong_AsLongAndOverflow(o, &overflow);
    if (i == -1 && !overflow && PyErr_Occurred()) return -1;
    if (i < 0 || overflow || i > MAX_INDEX) {
        PyErr_SetString(PyExc_RuntimeError, i < 0 && overflow <= 0
                                                ? "Device index must not be negative"
                                                : "Device index must not be greater than 127");
        return -1;
    }
    *index = (int)i;
    return 0;
}

/* torch.device(1): the second GPU */
static int device_from_number(PyObject *o, int *device, int *index) {
    *device = RL_CUDA;
    if (index_from(o, index) < 0) return -1;
    int found = rl_device_find(RL_CUDA);
    if (found == 0)
        PyErr_SetString(PyExc_RuntimeError, "Cannot access accelerator device when none is available.");
    return found > 0 ? 0 : -1;
}

/* 1; 0 when o is nothing that names a device; -1 raised */
static int device_read(PyObject *o, int *device, int *index) {
    if (Py_IS_TYPE(o, rl_device_type_object)) {
        *device = ((device_object *)o)->type;
        *index = ((device_object *)o)->index;
        return 1;
    }
    if (PyLong_Check(o) && !PyBool_Check(o)) return device_from_number(o, device, index) < 0 ? -1 : 1;
    if (!PyUnicode_Check(o) && !PyBytes_Check(o)) return 0;
    Py_ssize_t n = PyBytes_Check(o) ? PyBytes_GET_SIZE(o) : 0;
    const char *text = PyBytes_Check(o) ? PyBytes_AS_STRING(o) : PyUnicode_AsUTF8AndSize(o, &n);
    if (text && strlen(text) != (size_t)n) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: %R", o);
        return -1;
    }
    return text && device_from_text(text, device, index) == 0 ? 1 : -1;
}

int rl_device_parse(PyObject *o, int *device, int *index) {
    int rc = device_read(o, device, index);
    if (rc == 0)
        PyErr_Format(PyExc_TypeError, "device must be torch.device, str or int, not %.100s",
                     Py_TYPE(o)->tp_name);
    return rc > 0 ? 0 : -1;
}

/* ---- the constructor ---- */
static PyObject *device_refuse(PyObject *given, bool positional) {
    static const char forms[] =
        "expected one of:\n * (torch.device device)\n%s * (str type, int index = -1)\n";
    RL_OWNED PyObject *got = PyUnicode_FromString(given ? Py_TYPE(given)->tp_name : "");
    RL_OWNED PyObject *why =
        !got ? NULL
        : given && positional
            ? PyUnicode_FromFormat(
                  "      didn't match because some of the arguments have invalid types: (!%U!)\n", got)
            : PyUnicode_FromString("");
    RL_OWNED PyObject *tail = why ? PyUnicode_FromFormat(forms, PyUnicode_AsUTF8(why)) : NULL;
    if (tail)
        PyErr_Format(PyExc_TypeError,
                     "device() received an invalid combination of arguments - got (%s%U%s), but %U",
                     given && !positional ? "type=" : "", got, given && !positional ? ", " : "", tail);
    return NULL;
}

static PyObject *device_numbered(PyObject *what, PyObject *number) {
    int device, index;
    if (!PyUnicode_Check(what) && !PyBytes_Check(what)) {
        bool one = Py_IS_TYPE(what, rl_device_type_object);
        return PyErr_Format(PyExc_TypeError, "device(): argument 'type' (position 1) must be str, not %s",
                            one ? "torch.device" : Py_TYPE(what)->tp_name);
    }
    if (!PyLong_Check(number) || PyBool_Check(number))
        return PyErr_Format(PyExc_TypeError, "device(): argument 'index' (position 2) must be int, not %s",
                            Py_TYPE(number)->tp_name);
    if (device_read(what, &device, &index) < 0) return NULL;
    if (index >= 0)
        return PyErr_Format(PyExc_RuntimeError,
                            "type (string) must not include an index because index was passed explicitly: %S",
                            what);
    return index_from(number, &index) < 0 ? NULL : rl_device_new(device, index);
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"type", "index", NULL}, *other_names[] = {"device", NULL};
    PyObject *what = NULL, *number = Py_None;
    int device, index;
    (void)type;
    if (kwargs && PyDict_GET_SIZE(kwargs) == 1 && PyTuple_GET_SIZE(args) == 0 &&
        PyDict_GetItemString(kwargs, "device")) {
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:device", other_names, rl_device_type_object,
                                         &what))
            return NULL;
    } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:device", names, &what, &number)) {
        return NULL;
    }
    if (what && number != Py_None) return device_numbered(what, number);
    int rc = what ? device_read(what, &device, &index) : 0;
    if (rc == 0) return device_refuse(what, PyTuple_GET_SIZE(args) > 0);
    return rc < 0 ? NULL : rl_device_new(device, index);
}

/* ---- what it says of itself ---- */
static PyObject *device_str(PyObject *self) {
    device_object *d = (device_object *)self;
    return d->index < 0 ? PyUnicode_FromString(rl_device_name(d->type))
                        : PyUnicode_FromFormat("%s:%d", rl_device_name(d->type), d->index);
}
static PyObject *device_repr(PyObject *self) {
    device_object *d = (device_object *)self;
    return d->index < 0
               ? PyUnicode_FromFormat("device(type='%s')", rl_device_name(d->type))
               : PyUnicode_FromFormat("device(type='%s', index=%d)", rl_device_name(d->type), d->index);
}
static PyObject *device_compare(PyObject *a, PyObject *b, int op) {
    if (!Py_IS_TYPE(b, rl_device_type_object)) Py_RETURN_NOTIMPLEMENTED;
    if (op != Py_EQ && op != Py_NE) {
        PyErr_SetString(PyExc_TypeError, "comparison not implemented");
        return NULL;
    }
    device_object *x = (device_object *)a, *y = (device_object *)b;
    return PyBool_FromLong((x->type == y->type && x->index == y->index) == (op == Py_EQ));
}
static Py_hash_t device_hash(PyObject *self) {
    return ((device_object *)self)->type * 1000 + ((device_object *)self)->index + 2;
}
static PyObject *device_get_type(PyObject *self, void *c) {
    (void)c;
    return PyUnicode_FromString(rl_device_name(((device_object *)self)->type));
}
static PyObject *device_get_index(PyObject *self, void *c) {
    (void)c;
    int i = ((device_object *)self)->index;
    if (i < 0) Py_RETURN_NONE;
    return PyLong_FromLong(i);
}
static PyObject *device_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    device_object *d = (device_object *)self;
    return d->index < 0 ? Py_BuildValue("(O(s))", rl_device_type_object, rl_device_name(d->type))
                        : Py_BuildValue("(O(si))", rl_device_type_object, rl_device_name(d->type), d->index);
}

/* ---- the device of new tensors ----
 *
 *   with torch.device("meta"):   push the thread's device, take this one ... give the pushed one back
 *
 * Factories read one thread-local number; the list below it lives with Python's thread. */
static PyObject *outer_devices_peek(void) {
    PyObject *of_thread = PyThreadState_GetDict();
    PyObject *outer = of_thread ? PyDict_GetItemString(of_thread, "rushlight.devices") : NULL;
    if (outer || !of_thread) return outer;
    RL_OWNED PyObject *fresh = PyList_New(0);
    if (!fresh || PyDict_SetItemString(of_thread, "rushlight.devices", fresh) < 0) return NULL;
    return fresh; /* the dict keeps it */
}

static int device_code(PyObject *self) {
    return ((device_object *)self)->type * 256 + ((device_object *)self)->index + 1;
}

static PyObject *device_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *outer = outer_devices_peek();
    RL_OWNED PyObject *here = PyLong_FromLong(rl_tls.device);
    if (!outer || !here || PyList_Append(outer, here) < 0) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    rl_tls.device = device_code(self);
    return Py_NewRef(self);
}

static PyObject *device_exit(PyObject *self, PyObject *error) {
    (void)self, (void)error;
    PyObject *outer = outer_devices_peek();
    Py_ssize_t n = outer ? PyList_GET_SIZE(outer) : 0;
    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "trying to pop from empty mode stack");
        return NULL;
    }
    rl_tls.device = (int)PyLong_AsLong(PyList_GET_ITEM(outer, n - 1));
    if (PyList_SetSlice(outer, n - 1, n, NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_default(PyObject *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"device", NULL};
    PyObject *o;
    (void)m;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:set_default_device", names, &o)) return NULL;
    RL_OWNED PyObject *device =
        o == Py_None ? Py_NewRef(o) : PyObject_CallOneArg((PyObject *)rl_device_type_object, o);
    if (!device) return NULL;
    rl_tls.device = o == Py_None ? RL_DEVICE_UNASKED : device_code(device);
    Py_RETURN_NONE;
}

static PyObject *get_default(PyObject *m, PyObject *unused) {
    (void)m, (void)unused;
    int code = rl_tls.device == RL_DEVICE_UNASKED ? 0 : rl_tls.device, index = code % 256 - 1;
    return rl_device_new(code / 256, code / 256 == RL_CUDA ? rl_device_index(RL_CUDA, index) : index);
}

static PyGetSetDef device_getset[] = {
    {"type", device_get_type, NULL, "'cpu', 'cuda' ...", NULL},
    {"index", device_get_index, NULL, "The device's number, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {"__enter__", device_enter, METH_NOARGS, "New tensors lie there from now on."},
    {"__exit__", device_exit, METH_VARARGS, "New tensors lie where they did before."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot device_slots[] = {
    {Py_tp_new, device_new},
    {Py_tp_str, device_str},
    {Py_tp_repr, device_repr},
    {Py_tp_richcompare, device_compare},
    {Py_tp_hash, device_hash},
    {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc,
     "device(type, index=None)\n--\n\nA device that holds tensors: 'cpu', 'cuda:0' or 'meta'. In a `with` "
     "statement new tensors are made there."},
    {0, NULL}};
static PyType_Spec device_spec = {"rushlight.device", sizeof(device_object), 0, Py_TPFLAGS_DEFAULT,
                                  device_slots};
static PyMethodDef device_functions[] = {
    {"set_default_device", (PyCFunction)(void (*)(void))set_default, METH_VARARGS | METH_KEYWORDS,
     "set_default_device(device)\n--\n\nSet the device of this thread's new tensors; None is the CPU."},
    {"get_default_device", get_default, METH_NOARGS,
     "get_default_device()\n--\n\nReturn the device of this thread's new tensors."},
    {NULL, NULL, 0, NULL}};

int rl_device_type_init(PyObject *m) {
    rl_device_type_object = (PyTypeObject *)PyType_FromSpec(&device_spec);
    if (!rl_device_type_object || PyModule_AddType(m, rl_device_type_object) < 0) return -1;
    return PyModule_AddFunctions(m, device_functions);
}
