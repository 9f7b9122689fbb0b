/* linear by oneDNN's inner product. */
#include "load.h"
#include "kernels/shared/plain.h"

RL_CHOOSER
RL_KERNEL(dnnl_linear) {
    const rl_view *x = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    if (!rl_is_plain(x) || w->ndim != 2 || out->numel == 0 || x->numel == 0 || !rl_has_onednn(k))
        return RL_UNSUPPORTED;
    if (bias && (!rl_is_plain(bias) || bias->numel != w->shape[0])) return RL_UNSUPPORTED; /* one for all */
    int64_t n = w->shape[0], depth = w->shape[1], rows = out->numel / n;
    rl_dnnl_spec s = {.kind = RL_DNNL_LINEAR,
                      .ndim = 2,
                      .weight_ndim = 2,
                      .bias = bias ? n : 0,
                      .threads = k->threads,
                      .src = {rows, depth},
                      .weight = {n, depth},
                      .dst = {rows, n}};
    return rl_dnnl_run(k, &s, rl_const_data(x), w, bias ? rl_const_data(bias) : NULL, out);
}
