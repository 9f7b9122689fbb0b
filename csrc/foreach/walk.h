/* An operator over whole lists. */
#ifndef RL_FOREACH_WALK_H
#define RL_FOREACH_WALK_H
#include "call/call.h"

/* Brings the arguments of a call into the order of the operator that is run for each tensor; -1: raised. */
typedef int (*rl_foreach_prepare)(rl_bound *b);
int rl_foreach_scalar(rl_bound *b); /* the second argument is a tensor of one element */
int rl_foreach_packed(rl_bound *b); /* the fourth one holds a number for each tensor */
int rl_foreach_zero(rl_bound *b);
int rl_foreach_norm(rl_bound *b);
int rl_foreach_powsum(rl_bound *b);
int rl_foreach_max(rl_bound *b);
int rl_foreach_mm(rl_bound *b);

/* op(the i-th tensors and numbers of the lists among the arguments, the others as they are) for each i: a
 * tuple of the results, or, in place, None */
PyObject *rl_foreach_walk(rl_bound *b, int op, bool inplace);
#endif
