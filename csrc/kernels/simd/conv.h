/* What the convolution kernels share: ways to compute, and the input made ready. */
#ifndef RL_KERNELS_SIMD_CONV_H
#define RL_KERNELS_SIMD_CONV_H
#include "kernels/shared/conv_read.h"

enum { RL_CONV_TAPS = 128 };             /* elements of a kernel that the direct way takes */
rl_status simd_conv_patches(rl_call *k); /* kernels/simd/conv_kinds.c */
/* The fastest of these ways. RL_UNSUPPORTED: none takes it, or it is better left to the vendor's library,
 * for which `may_leave` has a kernel that asks it. */
rl_status rl_conv_fastest(rl_call *k, bool may_leave);
/* The direct way on dense planes, at most RL_CONV_TAPS taps. `plain` weights are packed for this call only;
 * NULL takes c->weight. Padding may be negative. */
rl_status rl_conv_direct(rl_call *k, const rl_conv *c, const float *in, const float *plain, float *out);
/* One padded row of the input, its phases `step` apart: Note [Taps]. */
void rl_conv_row(const rl_conv *c, float *to, const float *from, int64_t phase, int64_t step);
static inline double rl_conv_work(const rl_conv *c) { /* multiply-adds */
    return (double)c->n * (double)(c->groups * c->oc) * (double)(c->oh * c->ow) * (double)c->depth;
}
#endif
