/* What the shape rules of convolutions and pooling leave in attr[] for the kernels: one layout for one to
 * three dimensions. Triples are depth, height and width; what an operator lacks has kernel 1, stride 1,
 * dilation 1 and no padding. */
#ifndef RL_KERNEL_ABI_WINDOW_H
#define RL_KERNEL_ABI_WINDOW_H
#include "kernel.h"

typedef struct {
    int64_t kernel[3]; /* of pooling; that of a convolution is in the shape of its weight */
    int64_t stride[3], dilation[3];
    int64_t before[3], after[3]; /* padding; pooling has one for both; transposed: after is output_padding */
    int64_t groups;              /* of a convolution */
    int64_t count_padding, divisor; /* of means; divisor 0: as many as there are elements */
    int64_t spatial;                /* how many of the three the operator has: the last ones */
} rl_window;
/* a negative size: RL_MAX_ATTR is too small for the layout */
typedef char rl_window_fits[sizeof(rl_window) <= RL_MAX_ATTR * sizeof(int64_t) ? 1 : -1];

static inline const rl_window *rl_window_of(const rl_call *k) {
    return (const rl_window *)k->attr;
}
static inline rl_window *rl_window_made(rl_call *k) { /* the shape rule writes it */
    return (rl_window *)k->attr;
}
#endif
