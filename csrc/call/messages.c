/* The note on an exception that leaves a call: operator, shapes and dtypes. */
#include "call.h"
#include "core/dtype.h"
#include "core/error.h"

/* add_note() on the exception in flight: operator, shapes and dtypes */
static void error_note(const rl_operator *op, const rl_call *k) {
    char text[900], dims[RL_DIMS_TEXT];
    size_t used = (size_t)snprintf(text, sizeof text, "rushlight: in %s(", op->name);
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
    rl_raise(b->schema->op->name);
    error_note(b->schema->op, &b->k);
    return NULL;
}

int rl_refuse_expanded(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: more than one element of the written-to tensor refers to "
                    "a single memory "
                    "location. Please clone() the tensor before performing the operation.");
    return -1;
}

int rl_refuse_overlap(void) {
    PyErr_SetString(PyExc_RuntimeError,
                    "unsupported operation: some elements of the input tensor and the written-to tensor "
                    "refer to a single memory location. Please clone() the tensor before performing the "
                    "operation.");
    return -1;
}
