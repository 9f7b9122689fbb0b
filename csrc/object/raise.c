/* The one place that raises what the rooms below left pending, with a note of what was called. */
#include "call/call.h"

static PyObject *error_class(rl_error kind) {
    switch (kind) {
    case RL_VALUE: return PyExc_ValueError;
    case RL_TYPE: return PyExc_TypeError;
    case RL_INDEX: return PyExc_IndexError;
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

/* add_note() on the exception in flight: operator, shapes and dtypes */
static void error_note(const rl_row *row, const rl_call *k) {
    char text[900], dims[RL_DIMS_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "rushlight: in %s(", row->name);
    for (int i = 0, shown = 0; i < k->n_arg && used + 330 < sizeof text; i++) {
        if (k->arg[i].tag != RL_TENSOR) continue;
        const rl_view *v = k->arg[i].u.t;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s", shown++ ? ", " : "",
                                 rl_dtype_name(v->dtype), rl_dims_text(dims, v->shape, v->ndim));
    }
    snprintf(text + used, sizeof text - used, ")");
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *value = PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
#endif
    RL_OWNED PyObject *done = value ? PyObject_CallMethod(value, "add_note", "s", text) : NULL;
    if (!done) PyErr_Clear();
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(value);
#else
    PyErr_Restore(type, value, trace);
#endif
}

PyObject *rl_raise_call(const rl_bound *b) {
    rl_raise(b->schema->row->name);
    error_note(b->schema->row, &b->k);
    return NULL;
}
