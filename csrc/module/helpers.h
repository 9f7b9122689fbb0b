/* What Python code says in a word and the C API does not. */
#ifndef RL_MODULE_HELPERS_H
#define RL_MODULE_HELPERS_H
#include "names.h"

int rl_hasattr(PyObject *o, PyObject *name); /* hasattr(o, name): 1, 0, -1 */
PyObject *rl_typename(PyObject *o);          /* torch.typename */
/* o.method(*args, **{names: values}): the last PyTuple_GET_SIZE(names) of the n `args` have names. */
PyObject *rl_method_call(PyObject *o, PyObject *method, PyObject *const *args, size_t n, PyObject *names);
/* The raised exception as an object with its traceback, and back again. */
PyObject *rl_raised_take(void);
void rl_raised_put_steal(PyObject *exception);
#endif
