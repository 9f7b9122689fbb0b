/* Convolutions of every kind as products of weights and patches: one to three dimensions, transposed or not,
 * any floats.
 *
 * Note [Patches]
 *   The input is made ready once: floats or doubles, its padding in place, columns in phases (Note [Taps] in
 *   kernels/simd/conv.c), so that the input of a tap lies one offset away from that of the first, for all
 *   places of the output. A tile of patches is then copied run by run:
 *
 *       place    0 1 2 3 4 5 6 ...        a run: places side by side in a row of the output
 *       tap 0    a b c d│g h i            rows of the tile: (channel, tap), RL_GEMM_KB of them at a time
 *       tap 1    b c d e│h i j            the tile may hold places of several small images
 *
 *   A transposed convolution with stride s is s convolutions with stride 1 for each dimension, each with the
 *   taps that reach output places q * s + r from whole inputs: a phase r. Nothing is multiplied by zero and
 *   nothing is added to memory. The column phases of a tile are computed together and woven into its rows.
 */
#ifndef RL_KERNELS_SIMD_CONV_PATCHES_H
#define RL_KERNELS_SIMD_CONV_PATCHES_H
#include "contract/kernel.h"

typedef struct {
    const rl_view *in, *weight, *bias, *out;   /* bias may be NULL */
    bool transposed;                           /* weight is (in, out / groups, ...) */
    int64_t images, groups, channels, outputs; /* of a group */
    int64_t size[3], places[3], kernel[3], stride[3], dilation[3], before[3];
    int64_t image, channel, step[3]; /* of the input, in elements */
} rl_patches;

/* False when it is not one of floats with something to compute. */
bool rl_patches_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *bias,
                     const rl_view *out, bool transposed, rl_patches *p);
/* The output is contiguous. RL_UNSUPPORTED: without AVX2, or where the padding is out of all proportion. */
rl_status rl_patches_run(rl_call *k, const rl_patches *p);
/* The gradient by the weight, to p->weight, where p->out is the gradient by the output. p->weight is
 * contiguous. */
rl_status rl_patches_weight(rl_call *k, const rl_patches *p);
#endif
