/* Calling a module that has hooks, its own or global ones. */
#ifndef RL_MODULE_HOOKS_H
#define RL_MODULE_HOOKS_H
#include "forward.h"

/* args is a tuple, kwargs a dict or NULL */
PyObject *rl_module_call_hooked(PyObject *m, const rl_forward *f, PyObject *args, PyObject *kwargs);
#endif
