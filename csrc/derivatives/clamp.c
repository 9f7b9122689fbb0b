/* Derivatives of limits: nothing gets through where they are. */
#include "vjp.h"

VJP(clamp) {
    GRAD_OF(0, OP(clamp_backward, G, X(0), MAYBE(1), MAYBE(2)));
}
static V where_true(rl_vjp *g, V mask) {
    return OP(where, mask, G, INT(0));
}
VJP(clamp_min) {
    GRAD_OF(0, where_true(g, OP(ge, X(0), X(1))));
}
VJP(clamp_max) {
    GRAD_OF(0, where_true(g, OP(le, X(0), X(1))));
}
VJP(clamp_min_tensor) {
    GRAD_OF(0, where_true(g, OP(ge, X(0), X(1))));
    GRAD_OF(1, where_true(g, OP(lt, X(0), X(1))));
}
VJP(clamp_max_tensor) {
    GRAD_OF(0, where_true(g, OP(le, X(0), X(1))));
    GRAD_OF(1, where_true(g, OP(gt, X(0), X(1))));
}
VJP(clamp_tensor) { /* of limits that cross, the upper one counts */
    const bool low = GIVEN(1), high = GIVEN(2);
    if (rl_vjp_wants(g, 0)) {
        V above = low ? OP(ge, X(0), X(1)) : NONE, below = high ? OP(le, X(0), X(2)) : NONE;
        rl_vjp_pass(g, 0, where_true(g, !high ? above : !low ? below : OP(logical_and, above, below)));
    }
    if (rl_vjp_wants(g, 1)) {
        V under = OP(lt, X(0), X(1));
        rl_vjp_pass(g, 1, where_true(g, high ? OP(logical_and, under, OP(lt, X(1), X(2))) : under));
    }
    if (rl_vjp_wants(g, 2)) {
        V over = OP(gt, X(0), X(2));
        rl_vjp_pass(g, 2, where_true(g, low ? OP(logical_or, over, OP(lt, X(2), X(1))) : over));
    }
}
VJP(kept_backward) { /* no gradient goes to what chose */
    GRAD_OF(0, rl_vjp_again(g));
}
