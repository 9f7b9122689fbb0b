/* What each file brings to the type. */
#ifndef RL_MODULE_METHODS_H
#define RL_MODULE_METHODS_H
#include "object/tensor.h"

extern PyMethodDef rl_module_attr_methods[], rl_module_register_methods[], rl_module_call_methods[],
    rl_module_iter_methods[], rl_module_walk_methods[], rl_module_save_methods[], rl_module_load_methods[],
    rl_module_load_own_methods[];
int rl_module_iter_init(PyObject *m);
/* A method of `type` that Python shows as a function. */
PyObject *rl_module_method_new(PyTypeObject *type, PyMethodDef *def);
int rl_module_method_init(void);
#endif
