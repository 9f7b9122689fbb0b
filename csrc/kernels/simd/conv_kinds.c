/* Convolutions that the faster ways leave: in one to three dimensions, transposed, of any floats. */
#include "conv_patches.h"

static rl_status by_patches(rl_call *k, bool transposed) {
    rl_patches p;
    if (!k->svc->isa || !rl_patches_read(k, rl_in(k, 0), rl_in(k, 1), rl_in(k, 2), k->out[0], transposed, &p))
        return RL_UNSUPPORTED;
    return rl_patches_run(k, &p);
}

RL_KERNEL(simd_conv_patches) {
    return by_patches(k, false);
}
RL_KERNEL(simd_conv_transpose) {
    return by_patches(k, true);
}
