/* The one place that raises what the components without Python left pending. */
#include "tensor.h"
#include "core/error.h"
#include "core/device.h"

static PyObject *linalg_error, *device_error,
    *device_memory_error; /* RuntimeError's children, as PyTorch's */

int rl_raise_init(PyObject *m) {
    linalg_error = PyErr_NewExceptionWithDoc("rushlight._C._LinAlgError",
                                             "A factorisation failed: the matrix is singular, say.",
                                             PyExc_RuntimeError, NULL);
    device_error =
        PyErr_NewExceptionWithDoc("rushlight.AcceleratorError", "A device failed.", PyExc_RuntimeError, NULL);
    device_memory_error = PyErr_NewExceptionWithDoc("rushlight.OutOfMemoryError",
                                                    "A device has no memory left.", PyExc_RuntimeError, NULL);
    if (!linalg_error || !device_error || !device_memory_error) return -1;
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
    PyErr_SetString(error_class(kind), rl_error_text());
    rl_error_clear();
    return NULL;
}
