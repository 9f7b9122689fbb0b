/* Shape rules of images in another size. */
#include "contract/window.h"
#include "shape.h"

static rl_status resize_out(rl_call *k) {
    const rl_view *x = k->arg[0].u.t;
    char text[RL_DIMS_TEXT];
    if (k->arg[1].tag == RL_INTS && k->arg[1].n != 2)
        return rl_error_set(RL_RUNTIME, "It is expected output_size equals to 2, but got size %d",
                            k->arg[1].n);
    if (x->ndim != 4)
        return rl_error_set(RL_RUNTIME, "It is expected input_size equals to 4, but got size %d", x->ndim);
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    if (rl_ints_read(k, 1, 2, shape + 2) != RL_OK) return RL_FAIL;
    if (x->shape[2] <= 0 || x->shape[3] <= 0 || shape[2] <= 0 || shape[3] <= 0)
        return rl_error_set(
            RL_RUNTIME,
            "Input and output sizes should be greater than 0, but got input (H: %lld, W: %lld) output (H: "
            "%lld, W: %lld)",
            (long long)x->shape[2], (long long)x->shape[3], (long long)shape[2], (long long)shape[3]);
    if (x->shape[1] == 0)
        return rl_error_set(RL_RUNTIME, "Non-empty 4D data tensor expected but got a tensor with sizes %s",
                            rl_dims_text(text, x->shape, 4));
    return rl_out_dims(k, 0, shape, 4);
}

RL_SHAPE(upsample2d) {
    return resize_out(k);
}
RL_SHAPE(upsample2d_nearest) {
    return resize_out(k);
}

RL_SHAPE(upsample2d_backward) { /* args 1, 2: output size, input size */
    const rl_view *grad = k->arg[0].u.t;
    rl_view x;
    char text[RL_DIMS_TEXT];
    int64_t sizes[2];
    if (rl_sizes_read(k, 2, &x) != RL_OK || rl_ints_read(k, 1, 2, sizes) != RL_OK) return RL_FAIL;
    bool fits =
        x.ndim == 4 && grad->ndim == 4 && grad->shape[0] == x.shape[0] && grad->shape[1] == x.shape[1];
    for (int i = 0; fits && i < 2; i++)
        fits = grad->shape[2 + i] == sizes[i] && grad->shape[2 + i] > 0 && x.shape[2 + i] > 0;
    if (!fits)
        return rl_error_set(RL_RUNTIME,
                            "%s: grad_output with sizes %s does not fit output_size and input_size", k->name,
                            rl_dims_text(text, grad->shape, grad->ndim));
    rl_window_made(k)->spatial = 2;
    return rl_out_dims(k, 0, x.shape, 4);
}
