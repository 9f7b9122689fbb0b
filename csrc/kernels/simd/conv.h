/* What the convolution kernels share: the shape of a call, and its input made ready. */
#ifndef RL_SIMD_CONV_H
#define RL_SIMD_CONV_H
#include "contract/kernel.h"

typedef struct {
    int64_t n, h, w, oh, ow; /* images, input and output size */
    int64_t groups, ic, oc;  /* channels per group */
    int64_t kh, kw, pt, pl, sh, sw, dh, dw;
    int64_t depth; /* ic * kh * kw */
    const rl_view *in, *weight, *bias, *out;
} rl_conv;
enum { RL_CONV_TAPS = 128 }; /* elements of a kernel that the direct way takes */
/* False when the call is not a dense float32 one with something to compute. */
bool rl_conv_read(const rl_call *k, rl_conv *c);
/* Are all sizes below 2^31, so that the product of two cannot overflow? */
static inline bool rl_conv_in_range(const rl_conv *c) {
    int64_t all = c->n | c->h | c->w | c->oh | c->ow | c->depth | c->groups | c->oc | c->pt | c->pl;
    return (all | c->sh | c->sw | c->dh | c->dw | (c->oh - 1) * c->sh | (c->ow - 1) * c->sw) <= INT32_MAX;
}
rl_status simd_conv2d_gemm(rl_call *k);
/* The direct way on dense planes, at most RL_CONV_TAPS taps. `plain` weights are packed for this call only;
 * NULL takes c->weight. Padding may be negative. */
rl_status rl_conv_direct(rl_call *k, const rl_conv *c, const float *in, const float *plain, float *out);
/* One padded row of the input, its phases `step` apart: Note [Taps]. */
void rl_conv_row(const rl_conv *c, float *to, const float *from, int64_t phase, int64_t step);
/* The convolution of a backward row, its attr[] as ops/shape/conv.c leaves it: false when it is not one of
 * float32 in up to two dimensions with something to compute. */
bool rl_conv_back_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *grad,
                       rl_conv *c);
static inline double rl_conv_work(const rl_conv *c) { /* multiply-adds */
    return (double)c->n * (double)(c->groups * c->oc) * (double)(c->oh * c->ow) * (double)c->depth;
}
#endif
