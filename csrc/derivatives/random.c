/* Derivatives of random numbers. */
#include "vjp.h"

VJP(dropout) { /* (input, p, train) */
    bool dropped = rl_vjp_int(g, 2) && rl_vjp_num(g, 1) != 0;
    GRAD_OF(0, dropped ? OP(mul, G, OUT(1)) : G);
}

VJP(overwritten) { /* in place, by numbers that it has no part in */
    GRAD_OF(0, ZEROS);
}

VJP(drawn) { /* by numbers that the arguments say */
    GRAD_OF(0, rl_vjp_zeros(g, 0));
    GRAD_OF(1, rl_vjp_zeros(g, 1));
}
VJP(drawn_second) {
    GRAD_OF(1, rl_vjp_zeros(g, 1));
}

VJP(standard_gamma) {
    GRAD_OF(0, OP(mul, G, OP(_standard_gamma_grad, X(0), OUT(0))));
}

VJP(native_dropout) { /* (input, p, train) */
    const double left = 1 - rl_vjp_num(g, 1);
    const bool train = GIVEN(2) && rl_vjp_int(g, 2);
    const double scale = !train ? 1 : left == 0 ? 0 : 1 / left;
    GRAD_OF(0, TIMES(OP(mul, G, OUT(1)), scale));
}
