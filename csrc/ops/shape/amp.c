/* Shape rules of what a gradient scaler calls. */
#include "shape.h"

static rl_status must_be(const rl_view *v, const char *name, int dtype) {
    if (v->numel != 1) return rl_error_set(RL_RUNTIME, "%s must be a 1-element tensor.", name);
    if (v->dtype != dtype)
        return rl_error_set(RL_RUNTIME, "%s must be %s tensor.", name,
                            dtype == RL_F32 ? "a float" : "an int");
    return RL_OK;
}

/* (grads, found_inf, inv_scale) */
RL_SHAPE(amp_unscale) {
    const rl_value *grads = &k->arg[0];
    if (must_be(rl_in(k, 2), "inv_scale", RL_F32) != RL_OK ||
        must_be(rl_in(k, 1), "found_inf", RL_F32) != RL_OK)
        return RL_FAIL;
    for (int i = 0; i < grads->n; i++) {
        const rl_view *v = grads->u.ts[i];
        if (!rl_is_float(v->dtype))
            return rl_error_set(RL_NOTIMPL, "\"%scpu\" not implemented for '%s'", k->name,
                                rl_dtype_title(v->dtype));
        if (rl_view_expanded(v))
            return rl_error_set(RL_RUNTIME,
                                "unsupported operation: more than one element of the written-to tensor "
                                "refers to a single memory location. Please clone() the tensor before "
                                "performing the operation.");
    }
    return RL_OK;
}

/* (scale, growth_tracker, found_inf, growth, backoff, interval) */
RL_SHAPE(amp_update_scale) {
    if (must_be(rl_in(k, 1), "growth_tracker", RL_I32) != RL_OK ||
        must_be(rl_in(k, 0), "current_scale", RL_F32) != RL_OK ||
        must_be(rl_in(k, 2), "found_inf", RL_F32) != RL_OK)
        return RL_FAIL;
    return rl_out_as_input(k, 0);
}
