/* Operators that are made of operators. */
#ifndef RL_COMPOSITE_COMPOSITE_H
#define RL_COMPOSITE_COMPOSITE_H
#include "call/call.h"

PyObject *rl_composite_run(int op, rl_op_call *b);
#endif
