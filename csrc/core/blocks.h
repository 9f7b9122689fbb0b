/* Blocks of memory of any size, kept when they are given back: storages and scratch stand on them. */
#ifndef RL_CORE_BLOCKS_H
#define RL_CORE_BLOCKS_H
#include "fence.h"

enum { RL_BLOCK_HEAD = 16 }; /* the first bytes of a block are the cache's own; its user begins behind them */
typedef enum { RL_BLOCK_STORAGE, RL_BLOCK_SCRATCH, RL_BLOCK_USES } rl_block_use;

/* A block with a head of the caller's, a multiple of 64 bytes, and at least so many bytes of data; both are
 * 64-byte aligned and uninitialised; NULL and RL_MEMORY pending. Any thread, with or without the GIL. */
void *rl_block_take(rl_count bytes, int head, rl_block_use use);
void *rl_block_data_apart(void *block);
/* The data of a block that was taken with this head: behind it, unless a fence stands in between. */
static inline void *rl_block_data(void *block, int head) {
    if (RL_UNLIKELY(rl_fence_mode == RL_FENCE_FRONT)) return rl_block_data_apart(block);
    return (char *)block + head;
}
void rl_block_give(void *block);
/* What is written behind the first `used` bytes of a large block is needed no more: its pages go back to the
 * system until somebody writes there again. */
void rl_block_hollow(void *block, size_t used);
size_t rl_blocks_empty(void); /* gives all that is kept back to the system; how many bytes that were */

typedef struct {
    size_t in_use, kept, cap;           /* bytes */
    size_t used[RL_BLOCK_USES], n_kept; /* blocks */
    uint64_t hits, misses, evicted;     /* takes that a kept block served; others; blocks that gave way */
} rl_block_stats;
rl_block_stats rl_blocks_stats(void);
void rl_blocks_init(void); /* once, at start: the cap, and the rule for forks */
#endif
