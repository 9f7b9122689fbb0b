/* UntypedStorage: object/storage.c for the other files. */
#ifndef RL_OBJECT_STORAGE_H
#define RL_OBJECT_STORAGE_H
#include "tensor.h"
extern PyTypeObject *rl_untyped_storage_type;
PyObject *rl_untyped_storage_new(rl_storage *s); /* keeps s */
rl_storage *rl_untyped_storage_peek(PyObject *o);
int rl_untyped_storage_init(PyObject *m);
#endif
