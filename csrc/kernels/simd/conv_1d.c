/* conv1d as conv2d of pictures of height 1: the fast kernels serve it as they are. */
#include "contract/window.h"
#include "conv.h"
#include <string.h>

/* (.., L) becomes (.., 1, L) */
static rl_view lifted(const rl_view *v, int64_t shape[4], int64_t strides[4]) {
    rl_view picture = *v;
    int last = v->ndim - 1;
    memcpy(shape, v->shape, (size_t)last * sizeof *shape);
    memcpy(strides, v->strides, (size_t)last * sizeof *strides);
    shape[last] = 1;
    shape[last + 1] = v->shape[last];
    strides[last + 1] = v->strides[last];
    strides[last] = v->strides[last] * v->shape[last];
    picture.shape = shape;
    picture.strides = strides;
    picture.ndim = (uint8_t)(v->ndim + 1);
    return picture;
}

RL_CHOOSER
RL_KERNEL(simd_conv1d) {
    int64_t shape[3][4], strides[3][4];
    if (!k->svc->isa || rl_tensor_arg(k, 0)->dtype != RL_F32) return RL_UNSUPPORTED;
    rl_view x = lifted(k->arg[0].u.t, shape[0], strides[0]), w = lifted(k->arg[1].u.t, shape[1], strides[1]),
            out = lifted(k->out[0], shape[2], strides[2]);
    rl_view *const own[3] = {k->arg[0].u.t, k->arg[1].u.t, k->out[0]};
    rl_window *window = rl_window_made(k);
    k->arg[0].u.t = &x, k->arg[1].u.t = &w, k->out[0] = &out, window->spatial = 2;
    rl_status status = rl_conv_fastest(k, false);
    k->arg[0].u.t = own[0], k->arg[1].u.t = own[1], k->out[0] = own[2], window->spatial = 1;
    return status;
}
