/* Functions over lists of tensors, `_foreach_<name>`: what optimizers are written with. */
#ifndef RL_FOREACH_FOREACH_H
#define RL_FOREACH_FOREACH_H
#include "object/tensor.h"

int rl_foreach_init(PyObject *m);
#endif
