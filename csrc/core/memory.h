/* Allocations, counts of what lives, and failures made on purpose. */
#ifndef RL_CORE_MEMORY_H
#define RL_CORE_MEMORY_H
#include "kernel_abi/kernel.h"

void *rl_alloc(rl_count n, size_t itemsize); /* 64-byte aligned; NULL and RL_MEMORY pending */
void *rl_alloc_zero(rl_count n, size_t itemsize);
void rl_free(void *p);
void *rl_alloc_pages(rl_count bytes); /* the same from the system itself, on huge pages where it has them */
void rl_free_pages(void *p, size_t bytes);

extern int64_t rl_alloc_left_;       /* allocations until one fails; negative: none is to */
void rl_alloc_fail_after(int64_t n); /* the n-th allocation from now fails; negative: never */
/* one is to fail: no cache may serve instead */
static inline bool rl_alloc_armed(void) {
    return __atomic_load_n(&rl_alloc_left_, __ATOMIC_RELAXED) >= 0;
}

/* of objects; they come and go with the GIL held. core/blocks.h counts memory. */
enum { RL_LIVE_TENSORS, RL_LIVE_NODES, RL_LIVE_KINDS };
extern int64_t rl_live_count[RL_LIVE_KINDS];
#define rl_live_add(kind, n) ((void)(rl_live_count[kind] += (n)))
#endif
