/* Copies of one tensor into another place by place, for kernels that only set dims and strides. */
#ifndef RL_KERNELS_REF_ARRANGE_H
#define RL_KERNELS_REF_ARRANGE_H
#include "loops.h"

/* Operands output, input: two tensors of one shape. */
void rl_walk_pair(rl_walk *w, const rl_view *out, const rl_view *x);
/* Copies operand 1 into operand 0 in any order. */
void rl_copy_walk(rl_call *k, rl_walk *w, int64_t item);
#endif
