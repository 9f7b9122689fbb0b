/* Masks, counted before they are used.
 *
 * Note [Counting first]
 *     elements   [ block 0 | block 1 | block 2 ... ]
 *     counts     [    n0   |    n1   |    n2   ... ]     of those not zero; added up: where a block's own
 * begin Blocks are counted by several threads, then searched by several threads. None finds more than was
 * counted: a mask that another thread changes meanwhile may leave places unfilled, but nothing is written
 * elsewhere. */
#ifndef RL_KERNELS_REF_INDEX_MASK_H
#define RL_KERNELS_REF_INDEX_MASK_H
#include "index.h"

typedef struct {
    int64_t (*count)(const char *p, int64_t step, int64_t n, uint64_t telling);
    /* the numbers of those that are not zero, from `first` on; at most `room` */
    int64_t (*find)(const char *p, int64_t step, int64_t n, uint64_t telling, int64_t first, int64_t *to,
                    int64_t room);
    uint64_t telling; /* the bits that tell: all but the signs of floats */
} rl_truths;
rl_truths rl_truths_of(int dtype);

typedef struct {
    const rl_walk *walk; /* operand 0 is asked */
    rl_truths asked;
    int64_t *begin; /* of each block, and of what would follow them */
} rl_counting;
int64_t rl_count_all(rl_call *k, rl_counting *c); /* how many in all; -1: no memory */

/* Elements [begin, end) of the walk, of which those in [found, room) may be found. */
typedef struct {
    int64_t begin, end, found, room;
} rl_block;
int64_t rl_blocks(const rl_counting *c);
rl_block rl_block_at(const rl_counting *c, int64_t block, int64_t most); /* most: there is room for, in all */
enum { RL_BLOCK = 16384 };
#endif
