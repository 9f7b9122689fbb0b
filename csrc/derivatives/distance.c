/* Derivatives of distances between rows. */
#include "formula.h"

static V turned(rl_vjp *g, V x) {
    return OP(transpose, x, INT(-2), INT(-1));
}

FORMULA(cdist) {
    TO(0, OP(_cdist_backward, G, X(0), X(1), X(2), OUT(0)));
    TO(1, OP(_cdist_backward, turned(g, G), X(1), X(0), X(2), turned(g, OUT(0))));
}

/* PyTorch has none, either */
static void refuse(rl_vjp *g, const char *name) {
    PyErr_Format(PyExc_NotImplementedError, "the derivative for '%s' is not implemented.", name);
    rl_vjp_fail(g);
}
FORMULA(cdist_backward) {
    refuse(g, "_cdist_backward");
}
FORMULA(pdist_backward) {
    refuse(g, "_pdist_backward");
}

FORMULA(pdist) {
    TO(0, OP(_pdist_backward, G, X(0), X(1), OUT(0)));
}

/* d = |a - b|     da = sum (a - b) * grad / d, and nothing comes from where d is 0 */
static V ratio(rl_vjp *g) {
    return OP(masked_fill, OP(div, G, OUT(0)), OP(eq, OUT(0), INT(0)), INT(0));
}
static V side(rl_vjp *g, V ratio, V own, V other) {
    return OP(sub, OP(mul, own, OP(sum, ratio, INT(-1), TRUTH(true))), OP(matmul, ratio, other));
}
FORMULA(euclidean_dist) {
    V r = ratio(g);
    TO(0, side(g, r, X(0), X(1)));
    TO(1, side(g, turned(g, r), X(1), X(0)));
}
