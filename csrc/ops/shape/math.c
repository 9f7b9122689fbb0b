/* Shape rules of functions of one operand. */
#include "shape.h"

RL_SHAPE(neg) {
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(
            RL_RUNTIME, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                        "to invert a mask, use the `~` or `logical_not()` operator instead.");
    return shape_same(k);
}

RL_SHAPE(frexp) {
    const rl_view *x = k->arg[0].u.t;
    if (!rl_is_float(x->dtype))
        return rl_error_set(RL_RUNTIME, "torch.frexp() only supports floating-point dtypes");
    k->out[1]->dtype = RL_I32;
    if (rl_out_elementwise(k, 0, x->shape, x->ndim) != RL_OK) return RL_FAIL;
    return rl_out_elementwise(k, 1, x->shape, x->ndim);
}
