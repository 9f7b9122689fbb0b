/* Elements that are not zero, numbered in row-major order.
 *
 * Note [CUDA ranks]
 *     elements   [ tile 0 | tile 1 | tile 2 ... ]     a block of threads for each tile
 *     counts     [   n0   |   n1   |   n2   ... ]     of those not zero; then added up: where a tile's own
 * begin Within a tile the lanes of a warp vote, and the warps of the block add up. */
#ifndef RL_CUDA_INDEX_MASK_H
#define RL_CUDA_INDEX_MASK_H
#include "moves.h"
#include "reduce.h"

enum { CUDA_TILE_STEPS = 8, CUDA_TILE = CUDA_TILE_STEPS * CUDA_THREADS };
typedef struct {
    const void *at;
    int item;         /* bytes of an element */
    uint64_t telling; /* the bits that tell: all but the signs of floats */
} cuda_truths;
typedef struct {
    unsigned tiles;
    int64_t *begin; /* of each tile, and of what would follow them: how many there are */
} cuda_ranks;

cuda_truths cuda_truths_of(const rl_view *v);
/* operand `op` of the walk is asked; after rl_cuda_begin */
rl_status cuda_ranks_make(rl_call *k, cuda_ranks *r, const cuda_walk &w, int op, const cuda_truths &asked);

__device__ inline bool cuda_truth(const cuda_truths &t, int64_t i) {
    switch (t.item) {
    case 1: return ((const uint8_t *)t.at)[i] != 0;
    case 2: return ((const uint16_t *)t.at)[i] & t.telling;
    case 4: return ((const uint32_t *)t.at)[i] & t.telling;
    default: return ((const uint64_t *)t.at)[i] & t.telling;
    }
}

/* The number of this thread's element among those of the block that are `chosen`, from *next on, which moves
 * on behind them. All threads of the block take part. */
__device__ inline int64_t cuda_block_rank(bool chosen, int64_t *next) {
    CUDA_SHARED(int, of_warp, [CUDA_THREADS / CUDA_WARP]);
    const int lane = threadIdx.x % CUDA_WARP, warp = threadIdx.x / CUDA_WARP;
    const unsigned votes = __ballot_sync((unsigned)CUDA_FULL_MASK, chosen);
    int64_t rank = *next + __popc(votes & ((1u << lane) - 1));
    __syncthreads(); /* of_warp may still be read, from the step before */
    if (lane == 0) of_warp[warp] = __popc(votes);
    __syncthreads();
    for (int i = 0; i < CUDA_THREADS / CUDA_WARP; i++) {
        if (i < warp) rank += of_warp[i];
        *next += of_warp[i];
    }
    return rank;
}

/* for each element of the block's tile, those behind the end included; `step` is any name */
#define CUDA_EACH_OF_TILE(i, step)                                                                           \
    for (int64_t step = 0, i = blockIdx.x * (int64_t)CUDA_TILE + threadIdx.x; step < CUDA_TILE_STEPS;        \
         step++, i += CUDA_THREADS)
#endif
