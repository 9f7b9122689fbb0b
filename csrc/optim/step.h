/* Steps over whole groups. */
#ifndef RL_OPTIM_STEP_H
#define RL_OPTIM_STEP_H
#include "call/call.h"

int rl_step_init(PyObject *m);
#endif
