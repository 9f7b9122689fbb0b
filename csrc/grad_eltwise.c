/* Derivatives of arithmetic: https://docs.pytorch.org/docs/2.13/torch.html#pointwise-ops */
#include "grad.h"

FORMULA(same) {
    TO(0, G);
}
FORMULA(add) { /* input + alpha * other */
    TO(0, G);
    TO(1, rl_back_scaled(g, G, X(2)));
}
FORMULA(sub) {
    TO(0, G);
    TO(1, OP(neg, rl_back_scaled(g, G, X(2))));
}
FORMULA(neg) {
    TO(0, OP(neg, G));
}
FORMULA(mul) {
    TO(0, OP(mul, G, X(1)));
    TO(1, OP(mul, G, X(0)));
}
FORMULA(div) { /* rounded quotients are flat */
    if (X(2).tag == RL_TEXT) {
        TO(0, OP(zeros_like, G));
        TO(1, OP(zeros_like, G));
        return;
    }
    TO(0, OP(div, G, X(1)));
    TO(1, OP(mul, OP(neg, G), OP(div, OP(div, X(0), X(1)), X(1))));
}
FORMULA(exp) {
    TO(0, OP(mul, G, OUT(0)));
}
FORMULA(copy) { /* what was there before has no influence */
    TO(0, OP(zeros_like, G));
    TO(1, G);
}
FORMULA(fill) {
    TO(0, OP(zeros_like, G));
    TO(1, OP(sum, G));
}
