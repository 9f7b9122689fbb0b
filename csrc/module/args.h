/* Python's own rules and texts for binding arguments. */
#ifndef RL_MODULE_ARGS_H
#define RL_MODULE_ARGS_H
#include "names.h"

typedef struct {
    const char *function;
    int required, count; /* of `names`, self not counted */
    const char *names[7];
} rl_signature;
int rl_method_bind(const rl_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                   PyObject **out);
/* The Module that a method bound by a method object is given as args[0]; borrowed. */
PyObject *rl_method_self(const char *function, PyObject *const *args, Py_ssize_t nargs);
#endif
