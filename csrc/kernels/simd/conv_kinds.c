/* Convolutions and gradients that the faster ways leave: in one to three dimensions, transposed, of any
 * floats. Note [Patches] in kernels/simd/conv_patches.h. */
#include "conv_patches.h"

RL_CHOOSER
static rl_status by_patches(rl_call *k, const rl_view *bias, bool transposed) {
    rl_patches p;
    if (!k->svc->isa || !rl_is_contiguous(k->out[0]) ||
        !rl_patches_read(k, rl_in(k, 0), rl_in(k, 1), bias, k->out[0], transposed, &p))
        return RL_UNSUPPORTED;
    return rl_patches_run(k, &p);
}

RL_KERNEL(simd_conv_patches) {
    return by_patches(k, rl_in(k, 2), false);
}
RL_KERNEL(simd_conv_transpose) {
    return by_patches(k, rl_in(k, 2), true);
}

/* the gradient of a convolution by its input is a transposed one */
RL_KERNEL(simd_conv_input_patches) {
    return by_patches(k, NULL, true);
}

RL_CHOOSER
RL_KERNEL(simd_conv_weight_patches) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    rl_patches p;
    if (!k->svc->isa || !rl_is_contiguous(out) || !rl_patches_read(k, in, out, NULL, grad, false, &p))
        return RL_UNSUPPORTED;
    return rl_patches_weight(k, &p);
}
