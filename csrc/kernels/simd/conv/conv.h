/* What the convolution kernels share: the choice of algorithm, and the prepared input. */
#ifndef RL_KERNELS_SIMD_CONV_CONV_H
#define RL_KERNELS_SIMD_CONV_CONV_H
#include "kernels/shared/conv_read.h"

enum { RL_CONV_TAPS = 128 };           /* elements of a kernel that the direct way takes */
rl_status simd_conv_igemm(rl_call *k); /* kernels/simd/conv/igemm.c */
/* The direct way on dense planes, at most RL_CONV_TAPS taps. `plain` weights are packed for this call only;
 * NULL takes c->weight. Padding may be negative. */
rl_status rl_conv_direct(rl_call *k, const rl_conv *c, const float *in, const float *plain, float *out);
/* One padded row of the input, its phases `step` apart: Note [Taps]. */
void rl_conv_row(const rl_conv *c, float *to, const float *from, int64_t phase, int64_t step);
/* The gradient by the input, with stride 1 by the direct way, else as a product and sums; of dense floats. */
rl_status rl_conv_input_direct(rl_call *k, const rl_conv *c, const float *grad, const float *w);
rl_status rl_conv_input_product(rl_call *k, const rl_conv *c, const float *grad, const float *w);
/* The gradient by the weight as a correlation of planes. Sets the only result, which is dense floats. */
rl_status rl_conv_weight_correlate(rl_call *k, const rl_conv *c);
static inline double rl_conv_work(const rl_conv *c) { /* multiply-adds */
    return (double)c->n * (double)(c->groups * c->oc) * (double)(c->oh * c->ow) * (double)c->k;
}
#endif
