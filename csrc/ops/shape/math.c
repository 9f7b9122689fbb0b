/* Shape rules of functions of one operand. */
#include "shape.h"

RL_SHAPE(neg) {
    if (k->arg[0].u.t->dtype == RL_BOOL)
        return rl_error_set(
            RL_RUNTIME, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
                        "to invert a mask, use the `~` or `logical_not()` operator instead.");
    return shape_same(k);
}

RL_SHAPE(clamp) {
    if (k->arg[1].tag == RL_NONE && k->arg[2].tag == RL_NONE)
        return rl_error_set(RL_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    return shape_same(k);
}
