/* Which dtype a call computes in and answers with. */
#ifndef RL_OPS_PROMOTE_H
#define RL_OPS_PROMOTE_H
#include "table.h"

/* compute: cast the tensors to it before the kernel, -1 leaves them; out: dtype of the result. */
rl_status rl_types_resolve(const rl_operator *op, const rl_call *k, int *compute, int *out);
#endif
