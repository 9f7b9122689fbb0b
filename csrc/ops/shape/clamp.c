/* Shape rules of limits. */
#include "shape.h"

RL_SHAPE(clamp) {
    if (k->arg[1].tag == RL_NONE && k->arg[2].tag == RL_NONE)
        return rl_error_set(RL_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL, "\"clamp_%sscalar_cpu\" not implemented for 'Bool'",
                            k->arg[1].tag == RL_NONE   ? "max_"
                            : k->arg[2].tag == RL_NONE ? "min_"
                                                       : "");
    return shape_same(k);
}

/* Limits that are tensors; either may be absent. */
RL_SHAPE(clamp_tensor) {
    int64_t shape[RL_MAX_DIMS], whole[RL_MAX_DIMS];
    const rl_view *x = k->arg[0].u.t, *low = rl_in(k, 1), *high = rl_in(k, 2);
    int n;
    if (!low && !high)
        return rl_error_set(RL_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (rl_dims_broadcast(x, low ? low : high, shape, &n) != RL_OK) return RL_FAIL;
    if (!low || !high) return rl_out_elementwise(k, 0, shape, n);
    if (x->dtype == RL_BOOL) return rl_error_set(RL_NOTIMPL, "\"clamp_cpu\" not implemented for 'Bool'");
    rl_view both = {.shape = shape, .ndim = (uint8_t)n};
    if (rl_dims_broadcast(&both, high, whole, &n) != RL_OK) return RL_FAIL;
    return rl_out_elementwise(k, 0, whole, n);
}
