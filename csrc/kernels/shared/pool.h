/* Windows of pooling, forward and backward. */
#ifndef RL_KERNELS_SHARED_POOL_H
#define RL_KERNELS_SHARED_POOL_H
#include "kernel_abi/window.h"

/* Note [Windows]
 * An output index of a dimension sees the input indices start, start + dilation, ... below end. `full` counts
 * padding, too. Depth, height and width; what an operator lacks has size 1. */
typedef struct {
    int64_t start, end, full;
} rl_span;
/* of output `at` of dimension i (0 to 2) of a call, or of adaptive pooling */
rl_span rl_pool_span(const rl_call *k, int i, int64_t at, int64_t size);
rl_span rl_pool_adaptive(int64_t at, int64_t size, int64_t out);

typedef struct {
    int64_t size[3], out[3], dilation[3];
    int64_t volume, places; /* elements of a plane of the input, of the output */
    bool adaptive;
    rl_span *spans[3];
} rl_pool_plan;
/* of the planes of input and output; the spans lie in scratch */
rl_status rl_pool_plan_read(rl_call *k, rl_pool_plan *p, const rl_view *input, const rl_view *output,
                            bool adaptive);
/* by how much a mean along dimension i divides; never 0 */
int64_t rl_pool_count(const rl_call *k, const rl_pool_plan *p, int i, int64_t at);
#endif
