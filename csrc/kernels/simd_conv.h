/* What the convolution kernels share: the shape of a call, and its input made ready. */
#ifndef RL_SIMD_CONV_H
#define RL_SIMD_CONV_H
#include "rl_kernel.h"

typedef struct {
    int64_t n, h, w, oh, ow; /* images, input and output size */
    int64_t groups, ic, oc;  /* channels per group */
    int64_t kh, kw, pt, pl, sh, sw, dh, dw;
    int64_t depth; /* ic * kh * kw */
    const rl_view *in, *weight, *bias, *out;
} rl_conv;
/* False when the call is not a dense float32 one with something to compute. */
bool rl_conv_read(const rl_call *k, rl_conv *c);
rl_status simd_conv2d_gemm(rl_call *k);
static inline double rl_conv_work(const rl_conv *c) { /* multiply-adds */
    return (double)c->n * (double)(c->groups * c->oc) * (double)(c->oh * c->ow) * (double)c->depth;
}
#endif
