/* conv2d by oneDNN: dense float32 in plain layout, any groups. */
#include "load.h"
#include "kernel_abi/window.h"
#include "kernels/shared/conv_read.h"

RL_CHOOSER
RL_KERNEL(dnnl_conv2d) {
    rl_conv c;
    if (!rl_conv_read(k, &c) || !rl_is_contiguous(c.in) || !rl_has_onednn(k)) return RL_UNSUPPORTED;
    const rl_window *a = rl_window_of(k);
    int64_t oc = c.groups * c.oc;
    rl_dnnl_spec s = {.kind = RL_DNNL_CONV,
                      .ndim = 4,
                      .weight_ndim = c.groups > 1 ? 5 : 4,
                      .bias = c.bias ? oc : 0,
                      .threads = k->threads,
                      .src = {c.n, c.groups * c.ic, c.h, c.w},
                      .weight = {oc, c.ic, c.kh, c.kw},
                      .dst = {c.n, oc, c.oh, c.ow},
                      .stride = {a->stride[1], a->stride[2]}, /* the library checks sizes by it */
                      .dilation = {c.dh - 1, c.dw - 1},
                      .pad_before = {c.pt, c.pl},
                      .pad_after = {a->after[1], a->after[2]}};
    if (c.groups > 1) {
        s.weight[0] = c.groups, s.weight[1] = c.oc, s.weight[2] = c.ic;
        s.weight[3] = c.kh, s.weight[4] = c.kw;
    }
    return rl_dnnl_run(k, &s, rl_const_data(c.in), c.weight, c.bias ? rl_const_data(c.bias) : NULL, c.out);
}
