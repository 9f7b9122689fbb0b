/* What type.c puts into the type slots of Module and its subclasses. */
#ifndef RL_MODULE_SLOTS_H
#define RL_MODULE_SLOTS_H
#include "object/tensor.h"

PyObject *rl_module_call(PyObject *m, PyObject *args, PyObject *kwargs);
PyObject *rl_module_getattro(PyObject *m, PyObject *name);      /* no user __getattr__ */
PyObject *rl_module_getattro_user(PyObject *m, PyObject *name); /* a user __getattr__ sees the misses */
#endif
