/* The one place that raises what the components without Python left pending. */
#include "tensor.h"
#include "core/error.h"

static PyObject *linalg_error; /* RuntimeError's child, as PyTorch's */

int rl_raise_init(PyObject *m) {
    linalg_error = PyErr_NewExceptionWithDoc("rushlight._C._LinAlgError",
                                             "A factorisation failed: the matrix is singular, say.",
                                             PyExc_RuntimeError, NULL);
    return linalg_error ? PyModule_AddObjectRef(m, "_LinAlgError", linalg_error) : -1;
}

static PyObject *error_class(rl_error kind) {
    switch (kind) {
    case RL_VALUE: return PyExc_ValueError;
    case RL_TYPE: return PyExc_TypeError;
    case RL_INDEX: return PyExc_IndexError;
    case RL_LINALG: return linalg_error;
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
