/* A module's forward: usually a plain function of its class, called with self in front. */
#ifndef RL_MODULE_FORWARD_H
#define RL_MODULE_FORWARD_H
#include "facts.h"

typedef struct {
    PyObject *callable; /* owned */
    int unbound;        /* self goes in front of the arguments */
} rl_forward;
int rl_forward_get(PyObject *m, rl_forward *f);
PyObject *rl_forward_call(const rl_forward *f, PyObject *m, PyObject *args, PyObject *kwargs);
#endif
