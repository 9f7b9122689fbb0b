/* Registering a parameter, buffer or child: what setattr and the register_ methods share. */
#ifndef RL_MODULE_REGISTER_H
#define RL_MODULE_REGISTER_H
#include "object/tensor.h"

int rl_module_buffer_check(PyObject *value); /* isinstance(value, Buffer) */
int rl_module_set_parameter(PyObject *m, PyObject *name, PyObject *value);
/* What rl_module_set_parameter does once the name is known to be good. */
int rl_module_put_parameter(PyObject *m, PyObject *map, PyObject *name, PyObject *value);
int rl_module_set_buffer(PyObject *m, PyObject *name, PyObject *value, int persistent);
/* hooks, then map[name] */
int rl_module_set_child(PyObject *m, PyObject *map, PyObject *name, PyObject *value);
#endif
