/* The block cache: allocates memory blocks for storages and scratch, and keeps freed blocks for reuse. */
#ifndef RL_CORE_BLOCKS_H
#define RL_CORE_BLOCKS_H
#include "fence.h"

enum { RL_BLOCK_HEAD = 16 }; /* the first bytes of a block are the cache's own; its user begins behind them */
typedef enum { RL_BLOCK_STORAGE, RL_BLOCK_SCRATCH, RL_BLOCK_USES } rl_block_use;

/* A block has a header of its user's, then data; both are 64-byte aligned and uninitialised. */
enum { RL_STORAGE_HEADER = 192, RL_SCRATCH_HEADER = 64 };
static inline int rl_block_header(rl_block_use use) {
    return use == RL_BLOCK_STORAGE ? RL_STORAGE_HEADER : RL_SCRATCH_HEADER;
}

/* At least so many bytes, the header among them; NULL and RL_MEMORY pending. Any thread, with or without the
 * GIL. */
void *rl_block_alloc_bytes(rl_count bytes, rl_block_use use);
static inline void *rl_block_alloc(rl_count data, rl_block_use use) {
    return rl_block_alloc_bytes(rl_count_plus(data, rl_block_header(use)), use);
}
/* The data of a block: behind its header, unless a fence is to stand in front of it. Then the header is an
 * allocation of its own, and a pointer to the data lies RL_BLOCK_LINK bytes in front of it. */
enum { RL_BLOCK_LINK = 64 };
static inline void *rl_block_data(void *block, rl_block_use use) {
    char *header = block;
    return RL_UNLIKELY(rl_fence_mode == RL_FENCE_FRONT) ? *(void **)(header - RL_BLOCK_LINK)
                                                        : header + rl_block_header(use);
}
void rl_block_free(void *block);
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
