/* Shape rules of losses. Reductions: 0 none, 1 mean, 2 sum. */
#include "shape.h"

enum { NONE, MEAN, SUM };

/* ---- differences ---- */
RL_SHAPE(mse_loss) {
    int64_t shape[RL_MAX_DIMS];
    int ndim;
    if (rl_dims_broadcast(k->arg[0].u.t, k->arg[1].u.t, shape, &ndim) != RL_OK) return RL_FAIL;
    return k->arg[2].u.i == NONE ? rl_out_dims(k, 0, shape, ndim) : rl_out_dims(k, 0, NULL, 0);
}

RL_SHAPE(mse_loss_backward) {
    int64_t shape[RL_MAX_DIMS];
    int ndim;
    const rl_view *grad = k->arg[0].u.t;
    if (rl_dims_broadcast(k->arg[1].u.t, k->arg[2].u.t, shape, &ndim) != RL_OK) return RL_FAIL;
    rl_view whole = {.shape = shape, .ndim = (uint8_t)ndim};
    int64_t common[RL_MAX_DIMS];
    int n;
    if (rl_dims_broadcast(grad, &whole, common, &n) != RL_OK) return RL_FAIL;
    if (n != ndim || memcmp(common, shape, (size_t)n * sizeof *shape) != 0)
        return rl_error_set(RL_RUNTIME, "mse_loss_backward: grad_output has more elements than the loss");
    return rl_out_dims(k, 0, shape, ndim);
}
