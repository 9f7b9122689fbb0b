/* Where the elements of a resized dim come from. */
#ifndef RL_KERNELS_SHARED_RESIZE_H
#define RL_KERNELS_SHARED_RESIZE_H
#include "kernel_abi/resize.h"

/* Note [Taps]
 * Resizing works dim by dim: output element i of a dim is the sum of a run of input elements, each times its
 * weight. The gradient is the same thing with the table turned around.
 *
 *   input     . . a b c . .         start[i]: the place of a
 *                  \|/              weight + first[i]: those of a, b and c, first[i + 1] - first[i] of them
 *   output         i
 *
 * Of three dims: sums of rows first, over depth and height at once, then along the row. */
typedef struct {
    int64_t in, out;
    int64_t *start, *first; /* out of them; one more */
    double *weight;
    int64_t most; /* the longest run */
    bool copies;  /* each output is one input */
} rl_taps;

/* The tables of depth, height and width, turned around for a gradient; RL_FAIL: no memory. */
rl_status rl_resize_taps(rl_call *k, rl_taps taps[3]);
static inline int64_t rl_taps_count(const rl_taps *t, int64_t i) {
    return t->first[i + 1] - t->first[i];
}
#endif
