/* Shape rules that others than the table use. */
#ifndef RL_OPS_SHAPES_H
#define RL_OPS_SHAPES_H
#include "kernel_abi/kernel.h"

/* A size as view() and reshape() take it, with one -1 replaced. */
rl_status rl_view_size(const rl_view *x, const rl_value *s, int64_t *shape);
/* of operators that work element by element */
rl_status shape_same(rl_call *k);
rl_status shape_broadcast(rl_call *k);
#endif
