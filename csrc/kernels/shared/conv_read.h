/* The shape of a convolution in up to two dimensions, as its call gives it. */
#ifndef RL_KERNELS_SHARED_CONV_READ_H
#define RL_KERNELS_SHARED_CONV_READ_H
#include "kernel_abi/kernel.h"

typedef struct {
    int64_t n, h, w, oh, ow; /* images, input and output size */
    int64_t groups, ic, oc;  /* channels per group */
    int64_t kh, kw, pt, pl, sh, sw, dh, dw;
    int64_t k; /* ic * kh * kw */
    const rl_view *in, *weight, *bias, *out;
} rl_conv;
/* False when the call is not a dense float32 one with something to compute. */
bool rl_conv_read(const rl_call *k, rl_conv *c);
/* Are all sizes below 2^31, so that the product of two cannot overflow? */
static inline bool rl_conv_in_range(const rl_conv *c) {
    int64_t all = c->n | c->h | c->w | c->oh | c->ow | c->k | c->groups | c->oc | c->pt | c->pl;
    return (all | c->sh | c->sw | c->dh | c->dw | (c->oh - 1) * c->sh | (c->ow - 1) * c->sw) <= INT32_MAX;
}
/* The convolution of a gradient, of any dtype: false when it is not one in up to two dimensions with
 * something to compute. */
bool rl_conv_back_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *grad,
                       rl_conv *c);
#endif
