/* The one place that raises what the components without Python left pending. */
#include "tensor.h"
#include "core/error.h"
#include "core/device.h"
#include <string.h>

static PyObject *linalg_error, *device_error,
    *device_memory_error; /* RuntimeError's children, as PyTorch's */

static PyObject *raise_from_device(PyObject *m, PyObject *args);
static PyMethodDef functions[] = {
    {"_raise_device", raise_from_device, METH_VARARGS,
     "_raise_device(kind, code, text)\n--\n\nRaises what a device's extension has to say."},
    {NULL, NULL, 0, NULL}};

int rl_raise_init(PyObject *m) {
    linalg_error = PyErr_NewExceptionWithDoc("rushlight._C._LinAlgError",
                                             "A factorisation failed: the matrix is singular, say.",
                                             PyExc_RuntimeError, NULL);
    device_error =
        PyErr_NewExceptionWithDoc("rushlight.AcceleratorError", "A device failed.", PyExc_RuntimeError, NULL);
    device_memory_error = PyErr_NewExceptionWithDoc("rushlight.OutOfMemoryError",
                                                    "A device has no memory left.", PyExc_RuntimeError, NULL);
    if (!linalg_error || !device_error || !device_memory_error) return -1;
    if (PyModule_AddFunctions(m, functions) < 0) return -1;
    return PyModule_AddObjectRef(m, "_LinAlgError", linalg_error) < 0 ||
                   PyModule_AddObjectRef(m, "AcceleratorError", device_error) < 0
               ? -1
               : PyModule_AddObjectRef(m, "OutOfMemoryError", device_memory_error);
}

static PyObject *error_class(rl_error kind) {
    switch ((int)kind) {
    case RL_VALUE: return PyExc_ValueError;
    case RL_TYPE: return PyExc_TypeError;
    case RL_INDEX: return PyExc_IndexError;
    case RL_LINALG: return linalg_error;
    case RL_DEVICE: return device_error;
    case RL_DEVICE_MEMORY: return device_memory_error;
    case RL_NOTIMPL: return PyExc_NotImplementedError;
    default: return PyExc_RuntimeError; /* PyTorch's out of memory is one, too */
    }
}

/* as PyTorch's, with the number of CUDA's error */
static void raise_device(const char *text, int code) {
    RL_OWNED PyObject *error = PyObject_CallFunction(device_error, "s", text);
    RL_OWNED PyObject *number = error ? PyLong_FromLong(code) : NULL;
    if (number && PyObject_SetAttrString(error, "error_code", number) == 0)
        PyErr_SetObject(device_error, error);
}

/* the number of this thread's last error, if that is the one; else of a device that is not there */
static int code_of(const char *text) {
    enum { INVALID_DEVICE = 101 };
    const rl_device_driver *driver = rl_device_driver_get(RL_CUDA);
    const char *last = "";
    int code = INVALID_DEVICE;
    if (driver) driver->last_error(&last, &code);
    return strcmp(last, text) == 0 ? code : INVALID_DEVICE;
}

/* _raise_device(kind, code, text): what a device's extension has to say */
static PyObject *raise_from_device(PyObject *m, PyObject *args) {
    int kind, code;
    const char *text;
    (void)m;
    if (!PyArg_ParseTuple(args, "iis:_raise_device", &kind, &code, &text)) return NULL;
    if (kind == (int)RL_DEVICE)
        raise_device(text, code);
    else
        PyErr_SetString(error_class((rl_error)kind), text);
    return NULL;
}

PyObject *rl_raise(const char *where) {
    rl_error kind = rl_error_kind();
    if (PyErr_Occurred()) {
        rl_error_clear();
        return NULL;
    }
    if (!kind) {
        PyErr_Format(PyExc_SystemError, "%s failed without a reason", where ? where : "rushlight");
        return NULL;
    }
    if (kind == RL_DEVICE)
        raise_device(rl_error_text(), code_of(rl_error_text()));
    else
        PyErr_SetString(error_class(kind), rl_error_text());
    rl_error_clear();
    return NULL;
}
