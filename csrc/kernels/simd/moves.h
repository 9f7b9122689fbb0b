/* Rows of elements moved from one place to another, of one dtype or from one to the other. */
#ifndef RL_KERNELS_SIMD_MOVES_H
#define RL_KERNELS_SIMD_MOVES_H
#include "common.h"

/* n elements that lie side by side, in other memory than before */
typedef void (*simd_convert)(void *to, const void *from, int64_t n);
/* Note [Movers]
 * Halves and what is not float32 meet in float32: `convert` makes that in a buffer, `then` goes on from it.
 * Without `convert` only the place changes. */
typedef struct {
    simd_convert convert, then;
    int to_item, from_item; /* bytes of an element */
} simd_mover;

/* between any two dtypes that kernels compute with */
simd_mover simd_mover_between(const rl_call *k, int to, int from);
/* The steps are bytes; from_step 0 repeats one element. */
void simd_move(const simd_mover *m, void *to, int64_t to_step, const void *from, int64_t from_step,
               int64_t n);
#endif
