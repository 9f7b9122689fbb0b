/* The shape rule of the product of vectors of three. */
#include "linalg.h"

RL_SHAPE(cross) { /* attr[0]: the dim */
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    int64_t dim = k->arg[2].u.i;
    if (a->ndim != b->ndim)
        return rl_error_set(RL_RUNTIME, "linalg.cross: inputs must have the same number of dimensions.");
    if (rl_dim_wrap(&dim, a->ndim) != RL_OK) return RL_FAIL;
    if (rl_size_along(a, dim) != 3 || rl_size_along(b, dim) != 3)
        return rl_error_set(
            RL_RUNTIME, "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
            (long long)k->arg[2].u.i, (long long)rl_size_along(a, dim), (long long)rl_size_along(b, dim));
    k->attr[0] = dim;
    int64_t shape[RL_MAX_DIMS];
    if (shape_broadcast(k) != RL_OK) return RL_FAIL;
    memcpy(shape, k->out[0]->shape, (size_t)a->ndim * sizeof *shape);
    return rl_out_dims(k, 0, shape, a->ndim); /* dense, in the usual order */
}
