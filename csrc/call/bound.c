/* What a call borrows from Python, until it ends. */
#include "call.h"

void rl_bound_drop(rl_bound *b) {
    while (b->n_keep > 0) Py_DECREF(b->keep[--b->n_keep]);
    PyMem_Free(b->list);
    b->list = NULL;
}

int rl_bound_keep_steal(rl_bound *b, PyObject *o) {
    if (!o) return -1;
    if (b->n_keep == RL_KEEP) {
        Py_DECREF(o);
        PyErr_SetString(PyExc_SystemError, "an operator keeps too many temporaries");
        return -1;
    }
    b->keep[b->n_keep++] = o;
    return 0;
}
