/* Shape rules of embedding_bag. */
#include "shape.h"

enum { SUM, MEAN, MAX };

static rl_status has_type(const rl_view *v, bool right, const char *what, const char *types,
                          const char *where) {
    if (right) return RL_OK;
    const bool truth = v->dtype == RL_BOOL;
    return rl_error_set(RL_RUNTIME,
                        "Expected tensor for argument #1 '%s' to have one of the following scalar types: %s; "
                        "but got %s%s%s instead (while checking arguments for %s)",
                        what, types, truth ? "CPU" : "torch.", rl_dtype_title(v->dtype),
                        truth ? "Type" : "Tensor", where);
}
static rl_status has_integers(const rl_view *v, const char *what) {
    return has_type(v, v->dtype == RL_I64 || v->dtype == RL_I32, what, "Long, Int", "embedding_bag");
}

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last, padding) */
static rl_status arguments_suit(rl_call *k) {
    const rl_view *weight = k->arg[0].u.t, *index = k->arg[1].u.t, *offsets = k->arg[2].u.t;
    const rl_view *scale = rl_in(k, 6);
    const int64_t mode = k->arg[4].u.i;
    if (index->ndim != 1)
        return rl_error_set(RL_RUNTIME, "input has to be a 1D Tensor, but got Tensor of dimension %d",
                            index->ndim);
    if (offsets->ndim != 1)
        return rl_error_set(RL_RUNTIME, "offsets has to be a 1D Tensor, but got Tensor of dimension %d",
                            offsets->ndim);
    if (weight->ndim != 2)
        return rl_error_set(RL_RUNTIME, "weight has to be a 2D Tensor, but got Tensor of dimension %d",
                            weight->ndim);
    if (has_integers(index, "indices") != RL_OK || has_integers(offsets, "indices") != RL_OK ||
        has_type(weight, rl_is_float(weight->dtype), "weight", "Half, BFloat16, Float, Double",
                 "embedding_bag") != RL_OK)
        return RL_FAIL;
    if (mode < SUM || mode > MAX) return rl_error_set(RL_RUNTIME, "`mode` must be sum, mean, or max.");
    if (k->arg[7].u.i && offsets->numel == 0)
        return rl_error_set(RL_RUNTIME, "include_last_offset: number of offset should be at least 1");
    if (!scale) return RL_OK;
    if (mode != SUM)
        return rl_error_set(RL_RUNTIME, "embedding_bag: per_sample_weights only supported with mode='sum'");
    if (scale->dtype != weight->dtype)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #1 'weight' to have the same type as tensor for "
                            "argument #1 'per_sample_weights'; but type torch.%sTensor does not equal "
                            "torch.%sTensor (while checking arguments for embedding_bag)",
                            rl_dtype_title(weight->dtype), rl_dtype_title(scale->dtype));
    if (scale->ndim == 1 && scale->numel == index->numel) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "Expected per_sample_weights.value().%s to be true, but got false.  (Could this "
                        "error message be improved?  If so, please report an enhancement request to "
                        "PyTorch.)",
                        scale->ndim == 1 ? "numel() == indices.numel()" : "dim() == 1");
}

static rl_status integer_out(rl_call *k, int i, int dtype, const int64_t *shape, int ndim) {
    k->out[i]->dtype = (uint8_t)dtype;
    return rl_out_dims(k, i, shape, ndim);
}

RL_SHAPE(embedding_bag) {
    if (arguments_suit(k) != RL_OK) return RL_FAIL;
    const rl_view *weight = k->arg[0].u.t, *index = k->arg[1].u.t, *offsets = k->arg[2].u.t;
    const int dtype = index->dtype == offsets->dtype ? index->dtype : RL_I64;
    const bool largest = k->arg[4].u.i == MAX;
    const int64_t shape[2] = {offsets->numel - (k->arg[7].u.i != 0), weight->shape[1]};
    if (rl_out_dims(k, 0, shape, 2) != RL_OK || integer_out(k, 1, dtype, &index->numel, 1) != RL_OK ||
        integer_out(k, 2, dtype, shape, 1) != RL_OK)
        return RL_FAIL;
    return integer_out(k, 3, dtype, shape, largest ? 2 : 1);
}

/* ---- gradients: what they read must look like what the forward operator saw and answered ---- */
static rl_status differs(const char *what) {
    return rl_error_set(RL_RUNTIME, "embedding_bag: the gradient operator's %s does not fit", what);
}
static bool is_list(const rl_view *v) {
    return v->ndim == 1 && (v->dtype == RL_I64 || v->dtype == RL_I32);
}

/* (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
 * sparse, per_sample_weights, padding_idx) */
RL_SHAPE(embedding_bag_backward) {
    const rl_view *grad = k->arg[0].u.t, *most = k->arg[5].u.t, *scale = rl_in(k, 10);
    const int64_t mode = k->arg[8].u.i, rows = k->arg[6].u.i;
    if (grad->ndim != 2) return differs("gradient");
    for (int i = 1; i < 5; i++)
        if (!is_list(k->arg[i].u.t)) return differs("list of numbers");
    if (rl_tensor_arg(k, 2)->numel < grad->shape[0]) return differs("offsets");
    if (rl_tensor_arg(k, 4)->numel < grad->shape[0]) return differs("bag_size");
    if (mode == MAX && (!rl_dims_same(most, grad) || (most->dtype != RL_I64 && most->dtype != RL_I32)))
        return differs("maximum_indices");
    if (scale &&
        (scale->ndim != 1 || scale->numel != rl_tensor_arg(k, 1)->numel || scale->dtype != grad->dtype))
        return differs("per_sample_weights");
    const int64_t shape[2] = {rows, grad->shape[1]};
    return rl_out_dims(k, 0, shape, 2);
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx) */
RL_SHAPE(embedding_bag_weights_backward) {
    const rl_view *grad = k->arg[0].u.t, *weight = k->arg[1].u.t;
    for (int i = 2; i < 5; i++)
        if (!is_list(k->arg[i].u.t)) return differs("list of numbers");
    if (grad->ndim != 2 || weight->ndim != 2 || grad->shape[1] != weight->shape[1] ||
        grad->dtype != weight->dtype || rl_tensor_arg(k, 3)->numel < grad->shape[0])
        return differs("gradient");
    if (k->arg[5].u.i != SUM)
        return rl_error_set(RL_RUNTIME,
                            "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
    return rl_out_dims(k, 0, &rl_tensor_arg(k, 2)->numel, 1);
}
