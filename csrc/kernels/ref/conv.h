/* What convolutions of one to three dimensions read from a call. */
#ifndef RL_KERNELS_REF_CONV_H
#define RL_KERNELS_REF_CONV_H
#include "contract/window.h"
#include "product_gemm.h"

/* Depth, height and width; what a row lacks has size 1. Steps in bytes. */
typedef struct {
    const char *x, *w, *y;
    int64_t groups, channels; /* input channels of a group */
    int64_t x_batch, x_channel, x_step[3], w_row, w_channel, w_step[3], y_batch, y_channel, y_step[3];
    int64_t size[3], out[3], kernel[3], pad[3], stride[3], dilation[3], taps, places; /* places: of out */
} rl_conv_nd;
/* y: the output of the convolution, or its gradient */
void rl_conv_nd_read(const rl_call *k, const rl_view *x, const rl_view *w, const rl_view *y, rl_conv_nd *c);

/* number `at` of a block of these sizes as depth, height, width */
static inline void rl_conv_split(const int64_t sizes[3], int64_t number, int64_t at[3]) {
    at[2] = number % sizes[2];
    at[1] = number / sizes[2] % sizes[1];
    at[0] = number / sizes[2] / sizes[1];
}
#endif
