/* What the convolutions' kernels know of one. */
#ifndef RL_CUDA_CONV_H
#define RL_CUDA_CONV_H
#include "contract/window.h"
#include "gemm.h"

/* Sizes and steps of a tensor (N, channels, depth, height, width); what it lacks has size 1 and step 0. */
struct picture {
    int64_t images, channels, image_step, channel_step, size[PRODUCT_PLANE], step[PRODUCT_PLANE];
};
static inline picture picture_of(const rl_view *v, int spatial) {
    const int lead = v->ndim - spatial;
    picture x = {1, v->shape[lead - 1], 0, v->strides[lead - 1], {1, 1, 1}, {0, 0, 0}};
    if (lead == 2) x.images = v->shape[0], x.image_step = v->strides[0];
    for (int d = 0; d < spatial; d++) {
        x.size[PRODUCT_PLANE - spatial + d] = v->shape[lead + d];
        x.step[PRODUCT_PLANE - spatial + d] = v->strides[lead + d];
    }
    return x;
}

struct convolution {
    const rl_window *window;
    picture x, y, w; /* of w: images are rows */
};

/* Groups of one channel, by a thread for each output, or a block for each weight. RL_UNSUPPORTED: these are
 * not such groups, or too many outputs share one. x and y are what the forward one reads and writes. */
rl_status cuda_conv_depthwise(rl_call *k, const convolution &c, const rl_view *x, const rl_view *w,
                              const rl_view *bias);
rl_status cuda_conv_depthwise_input(rl_call *k, const convolution &c, const rl_view *y, const rl_view *w,
                                    const rl_view *bias);
rl_status cuda_conv_depthwise_weight(rl_call *k, const convolution &c, const rl_view *x, const rl_view *y);
#endif
