/* Where the largest elements of windows stand. */
#ifndef RL_KERNELS_REF_POOL_H
#define RL_KERNELS_REF_POOL_H
#include "kernels/shared/pool.h"
#include "loops.h"
/* ... of x in its flat planes, for an output of the dims of `out` */
rl_status rl_pool_indices(rl_call *k, const rl_view *x, const rl_view *out, int64_t *indices);
#endif
