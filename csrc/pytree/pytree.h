/* Trees of Python's containers, as `utils._pytree` has them: flattened, mapped and built again. */
#ifndef RL_PYTREE_PYTREE_H
#define RL_PYTREE_PYTREE_H
#include "object/tensor.h"

int rl_pytree_init(PyObject *m);
#endif
