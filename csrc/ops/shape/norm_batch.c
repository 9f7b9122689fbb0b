/* The shape rule of batch_norm. */
#include "shape.h"

rl_status rl_one_dim(const rl_view *v) {
    if (!v || v->ndim == 1 || v->numel <= 1) return RL_OK;
    return rl_error_set(RL_RUNTIME, "TensorAccessor expected 1 dims but tensor has %d", v->ndim);
}

RL_SHAPE(batch_norm) { /* args 1 to 4: weight, bias, running_mean, running_var */
    static const char *const names[] = {"", "weight", "bias", "running_mean", "running_var"};
    const rl_view *x = k->arg[0].u.t;
    bool training = k->arg[5].u.i != 0;
    if (x->ndim < 2)
        return rl_error_set(RL_RUNTIME, "batch_norm: expected an input of at least 2 dimensions, got %dD",
                            x->ndim);
    if (!training && (!rl_in(k, 3) || !rl_in(k, 4)))
        return rl_error_set(RL_RUNTIME, "running_mean must be defined in evaluation mode");
    if (!rl_in(k, 3) != !rl_in(k, 4))
        return rl_error_set(RL_RUNTIME,
                            "running_mean and running_var must either both be None or neither be None");
    for (int at = 0; at < 4; at++) { /* the statistics first */
        const int i = (at + 2) % 4 + 1;
        const rl_view *v = rl_in(k, i);
        if (v && v->numel != x->shape[1])
            return rl_error_set(RL_RUNTIME, "%s should contain %lld elements not %lld", names[i],
                                (long long)x->shape[1], (long long)v->numel);
        if (rl_one_dim(v) != RL_OK) return RL_FAIL;
        if (v && v->dtype != x->dtype && x->dtype == RL_F64)
            return rl_error_set(RL_RUNTIME, "mixed dtype (CPU): all inputs must share same datatype.");
        if (v && v->dtype != x->dtype && v->dtype != RL_F32)
            return rl_error_set(RL_RUNTIME,
                                "mixed dtype (CPU): expect parameter to have scalar type of Float");
    }
    if (rl_out_dims(k, 0, x->shape, x->ndim) != RL_OK) return RL_FAIL;
    if (rl_looks_channels_last(x) && rl_is_dense(x)) rl_strides_as(k->out[0], x);
    /* for the derivative: mean and 1 / deviation; without training they are known */
    const rl_view *weight = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 2);
    int64_t kept = training ? x->shape[1] : 0;
    for (int i = 1; i < k->n_out; i++) {
        if (weight) k->out[i]->dtype = weight->dtype;
        if (rl_out_dims(k, i, &kept, 1) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}
