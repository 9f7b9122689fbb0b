/* One argument of a call. */
#ifndef RL_CALL_BIND_VALUE_H
#define RL_CALL_BIND_VALUE_H
#include "call.h"

/* 1 it fits, 0 it does not, -1 raised */
int rl_value_bind(rl_bound *b, const rl_arg *a, PyObject *o, rl_slot *slot);
/* n items as an int[] */
int rl_value_ints(rl_bound *b, PyObject *const *items, Py_ssize_t n, const rl_arg *a, rl_slot *slot);
#endif
