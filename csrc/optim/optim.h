/* Steps of optimizers, called from rushlight.optim. */
#ifndef RL_OPTIM_OPTIM_H
#define RL_OPTIM_OPTIM_H
#include "object/tensor.h"

int rl_optim_init(PyObject *m);
#endif
