/* Shape rules of embeddings. */
#include "shape.h"

RL_SHAPE(embedding) {
    const rl_view *weight = k->arg[0].u.t, *index = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS];
    if (weight->ndim != 2) return rl_error_set(RL_RUNTIME, "'weight' must be 2-D");
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #1 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding)",
                            rl_dtype_title(index->dtype));
    if (index->ndim == RL_MAX_DIMS)
        return rl_error_set(RL_RUNTIME, "embedding: indices with %d dimensions", RL_MAX_DIMS);
    for (int d = 0; d < index->ndim; d++) shape[d] = index->shape[d];
    shape[index->ndim] = weight->shape[1];
    return rl_out_dims(k, 0, shape, index->ndim + 1);
}

RL_SHAPE(embedding_dense_backward) {
    const rl_view *grad = k->arg[0].u.t, *index = k->arg[1].u.t;
    int64_t shape[2] = {k->arg[2].u.i, grad->ndim ? grad->shape[grad->ndim - 1] : 0};
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding_backward)",
                            rl_dtype_title(index->dtype));
    rl_view lead = {.shape = grad->shape, .ndim = (uint8_t)(grad->ndim ? grad->ndim - 1 : 0)};
    if (grad->ndim == 0 || !rl_dims_same(&lead, index))
        return rl_error_set(RL_RUNTIME, "embedding_dense_backward: grad_output does not fit the indices");
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(embedding_renorm) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[1].u.t;
    if (x->ndim != 2)
        return rl_error_set(RL_RUNTIME,
                            "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 "
                            "'self' (while checking arguments for embedding_renorm_)",
                            x->ndim);
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding_renorm_)",
                            rl_dtype_title(index->dtype));
    return rl_out_as_input(k, 0);
}
