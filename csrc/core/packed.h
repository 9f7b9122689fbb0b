/* Packed weights: the values of a storage in the layout of a kernel. Note [Writes]. */
#ifndef RL_CORE_PACKED_H
#define RL_CORE_PACKED_H
#include "kernel_abi/kernel.h"

void *rl_packed_find(rl_call *k, const rl_view *v, uint64_t key);
void *rl_packed_new(rl_call *k, const rl_view *v, uint64_t key, rl_count n, size_t itemsize);
void rl_packed_ready(rl_call *k, const rl_view *v, uint64_t key);
void rl_packed_free(rl_packed *list);
void rl_packed_guard_fork(void);
void rl_packed_leave(
    rl_call *k); /* the call reads no packed weights any more; those never published are freed */
#endif
