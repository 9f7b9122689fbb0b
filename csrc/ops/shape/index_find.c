/* Shape rules of elements that are not zero, or under a mask; how many there are was counted before. */
#include "shape.h"

RL_SHAPE(nonzero_count) {
    return rl_out_dims(k, 0, NULL, 0);
}

RL_SHAPE(nonzero_static) {
    const int64_t shape[2] = {k->arg[1].u.i, rl_tensor_arg(k, 0)->ndim};
    if (shape[0] < 0)
        return rl_error_set(RL_RUNTIME, "nonzero_static: 'size' must be an non-negative integer");
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(nonzero_places) { /* one dimension after the other, as PyTorch's */
    if (shape_nonzero_static(k) != RL_OK) return RL_FAIL;
    k->out[0]->strides[0] = 1;
    k->out[0]->strides[1] = k->arg[1].u.i ? k->arg[1].u.i : 1;
    return RL_OK;
}

RL_SHAPE(masked_select_counted) {
    return rl_out_dims(k, 0, &k->arg[2].u.i, 1);
}
