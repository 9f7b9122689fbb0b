/* Derivatives of random numbers. */
#include "formula.h"

FORMULA(dropout) { /* (input, p, train) */
    bool dropped = rl_vjp_int(g, 2) && rl_vjp_num(g, 1) != 0;
    TO(0, dropped ? OP(mul, G, OUT(1)) : G);
}

FORMULA(overwritten) { /* in place, by numbers that it has no part in */
    TO(0, ZEROS);
}

FORMULA(drawn) { /* by numbers that the arguments say */
    TO(0, rl_vjp_zeros(g, 0));
    TO(1, rl_vjp_zeros(g, 1));
}
FORMULA(drawn_second) {
    TO(1, rl_vjp_zeros(g, 1));
}

FORMULA(standard_gamma) {
    TO(0, OP(mul, G, OP(_standard_gamma_grad, X(0), OUT(0))));
}

FORMULA(native_dropout) { /* (input, p, train) */
    const double left = 1 - rl_vjp_num(g, 1);
    const bool train = GIVEN(2) && rl_vjp_int(g, 2);
    const double scale = !train ? 1 : left == 0 ? 0 : 1 / left;
    TO(0, TIMES(OP(mul, G, OUT(1)), scale));
}
