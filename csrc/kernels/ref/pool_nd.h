/* Windows of pooling rows, forward and backward. */
#ifndef RL_KERNELS_REF_POOL_ND_H
#define RL_KERNELS_REF_POOL_ND_H
#include "contract/window.h"
#include "loops.h"

/* Note [Windows]
 * An output index of a dimension sees the input indices start, start + dilation, ... below end. `full` counts
 * padding, too. Depth, height and width; what a row lacks has size 1. */
typedef struct {
    int64_t start, end, full;
} rl_span;
/* of output `at` of dimension i (0 to 2) of a call, or of adaptive pooling */
rl_span rl_pool_span(const rl_call *k, int i, int64_t at, int64_t size);
rl_span rl_pool_adaptive(int64_t at, int64_t size, int64_t out);
/* Where the largest elements of x stand in their flat planes, for an output of the dims of `out`. */
rl_status rl_pool_indices(rl_call *k, const rl_view *x, const rl_view *out, int64_t *indices);
#endif
