/* The step of SGD. */
#ifndef RL_OPTIM_SGD_H
#define RL_OPTIM_SGD_H
#include "call/call.h"

int rl_sgd_init(PyObject *m);
#endif
