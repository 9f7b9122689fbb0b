/* Shape rules of arithmetic beyond broadcasting. */
#include "shape.h"

RL_SHAPE(div) {
    const rl_value *mode = &k->arg[2];
    k->attr[0] = 0;
    if (mode->tag == RL_STRING) {
        bool floor = strcmp(mode->u.s, "floor") == 0;
        if (!floor && strcmp(mode->u.s, "trunc") != 0)
            return rl_error_set(
                RL_RUNTIME,
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
                mode->u.s);
        k->attr[0] = floor ? 2 : 1;
    }
    return shape_broadcast(k);
}

/* Of a number, PyTorch's powers are contiguous whatever the exponents are. */
RL_SHAPE(powers) {
    return rl_out_dims(k, 0, rl_tensor_arg(k, 1)->shape, rl_tensor_arg(k, 1)->ndim);
}

RL_SHAPE(where) {
    int64_t shape[RL_MAX_DIMS];
    rl_view first = {.shape = shape}, *condition = k->arg[0].u.t;
    int n;
    if (condition->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                            rl_dtype_title(condition->dtype));
    if (rl_dims_broadcast(k->arg[1].u.t, k->arg[2].u.t, shape, &n) != RL_OK) return RL_FAIL;
    first.ndim = (uint8_t)n;
    int64_t whole[RL_MAX_DIMS];
    if (rl_dims_broadcast(condition, &first, whole, &n) != RL_OK) return RL_FAIL;
    return rl_out_elementwise(k, 0, whole, n);
}

RL_SHAPE(integer_pair) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    k->attr[0] = a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0;
    return rl_out_dims(k, 0, NULL, 0);
}

/* ---- three operands ---- */
RL_SHAPE(broadcast3) {
    int64_t shape[RL_MAX_DIMS], whole[RL_MAX_DIMS];
    int n;
    if (rl_dims_broadcast(k->arg[0].u.t, k->arg[1].u.t, shape, &n) != RL_OK) return RL_FAIL;
    rl_view both = {.shape = shape, .ndim = (uint8_t)n};
    const rl_view *third = rl_in(k, 2);
    if (!third) return rl_out_elementwise(k, 0, shape, n);
    if (rl_dims_broadcast(&both, third, whole, &n) != RL_OK) return RL_FAIL;
    return rl_out_elementwise(k, 0, whole, n);
}

RL_SHAPE(lerp) {
    const rl_view *x = k->arg[0].u.t, *end = k->arg[1].u.t, *weight = rl_in(k, 2);
    if (end->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected dtype %s for `end` but got dtype %s",
                            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(end->dtype));
    if (weight && weight->ndim && weight->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected dtype %s for `weight` but got dtype %s",
                            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(weight->dtype));
    return shape_broadcast3(k);
}
