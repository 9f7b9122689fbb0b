/* Operands that are one contiguous block. */
#ifndef RL_KERNELS_SHARED_PLAIN_H
#define RL_KERNELS_SHARED_PLAIN_H
#include "kernel_abi/kernel.h"
static inline bool rl_is_plain(const rl_view *v) {
    return v->dtype == RL_F32 && rl_is_contiguous(v);
}
/* The view's own memory when it is contiguous, else a copy in scratch; NULL (reported) without memory. */
const void *rl_dense_input(rl_call *k, const rl_view *v);
static inline const float *rl_plain_input(rl_call *k, const rl_view *v) { /* of float32 */
    return (const float *)rl_dense_input(k, v);
}
#endif
