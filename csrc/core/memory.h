/* Allocations, counts of what lives, and failures made on purpose. */
#ifndef RL_CORE_MEMORY_H
#define RL_CORE_MEMORY_H
#include "contract/kernel.h"

void *rl_alloc(rl_count n, size_t itemsize); /* 64-byte aligned; NULL and RL_MEMORY pending */
void *rl_alloc_zero(rl_count n, size_t itemsize);
void rl_free(void *p);
void rl_alloc_fail_after(int64_t n); /* the n-th allocation from now fails; negative: never */
bool rl_alloc_armed(void);           /* one is to fail: no cache may serve instead */
enum { RL_LIVE_TENSORS, RL_LIVE_STORAGES, RL_LIVE_NODES, RL_LIVE_BYTES, RL_LIVE_KINDS };
extern int64_t rl_live_count[RL_LIVE_KINDS];
#define rl_live_add(kind, n) ((void)__atomic_add_fetch(&rl_live_count[kind], (n), __ATOMIC_RELAXED))
#endif
