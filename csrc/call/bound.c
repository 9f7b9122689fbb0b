/* What a call borrows from Python, until it ends. */
#include "call.h"

void rl_bound_drop(rl_bound *b) {
    while (b->n_keep > 0) Py_DECREF(b->keep[--b->n_keep]);
    while (b->lists) {
        rl_list *next = b->lists->next;
        PyMem_Free(b->lists);
        b->lists = next;
    }
}

rl_view **rl_bound_list(rl_bound *b, Py_ssize_t n) {
    rl_list *list = n > INT32_MAX ? NULL : PyMem_Malloc(sizeof *list + (size_t)n * sizeof *list->views);
    if (!list) {
        PyErr_NoMemory();
        return NULL;
    }
    list->next = b->lists;
    b->lists = list;
    return list->views;
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
