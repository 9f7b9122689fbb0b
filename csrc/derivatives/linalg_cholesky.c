/* Derivatives of Cholesky's factor and of triangles. */
#include "linalg.h"

/* L^-T (lower triangle of L^T gL, mirrored) L^-1 / 2 */
FORMULA(linalg_cholesky) {
    if (!rl_vjp_wants(g, 0)) return;
    bool upper = rl_vjp_int(g, 1) != 0;
    V l = upper ? TURN(OUT(0)) : OUT(0), grad = upper ? TURN(G) : G;
    V inner = OP(matmul, TURN(l), grad);
    V both = OP(add, OP(tril, inner), TURN(OP(tril, inner, INT(-1))));
    V left = TRIANGLE(TURN(l), both, true, true, false);
    rl_vjp_pass(g, 0, TIMES(TRIANGLE(l, left, false, false, false), 0.5));
}

FORMULA(cholesky_inverse) {
    if (!rl_vjp_wants(g, 0)) return;
    V inverse = OUT(0), both = OP(add, G, TURN(G)), inner = OP(matmul, inverse, OP(matmul, both, inverse));
    bool upper = rl_vjp_int(g, 1) != 0;
    rl_vjp_pass(g, 0, OP(neg, upper ? OP(matmul, X(0), inner) : OP(matmul, inner, X(0))));
}

FORMULA(cholesky_solve) {
    bool upper = rl_vjp_int(g, 2) != 0;
    V factor = X(1), gb = OP(cholesky_solve, G, factor, TRUTH(upper));
    TO(0, gb);
    if (!rl_vjp_wants(g, 1)) return;
    V inner = OP(matmul, gb, TURN(OUT(0))), both = OP(add, inner, TURN(inner));
    rl_vjp_pass(g, 1, OP(neg, upper ? OP(matmul, factor, both) : OP(matmul, both, factor)));
}

static V triangle_part(rl_vjp *g, V x, bool upper, bool unit) {
    return upper ? OP(triu, x, INT(unit)) : OP(tril, x, INT(unit ? -1 : 0));
}

FORMULA(linalg_solve_triangular) {
    bool upper = rl_vjp_int(g, 2) != 0, left = rl_vjp_int(g, 3) != 0, unit = rl_vjp_int(g, 4) != 0;
    V gb = TRIANGLE(TURN(X(0)), G, !upper, left, unit);
    TO(1, gb);
    if (!rl_vjp_wants(g, 0)) return;
    V inner = left ? OP(matmul, gb, TURN(OUT(0))) : OP(matmul, TURN(OUT(0)), gb);
    rl_vjp_pass(g, 0, OP(neg, triangle_part(g, inner, upper, unit)));
}

FORMULA(triangular_solve) {
    if (!rl_vjp_has_grad(g, 0)) { /* only the copy of A */
        TO(1, rl_vjp_grad(g, 1));
        return;
    }
    bool upper = rl_vjp_int(g, 2) != 0, turned = rl_vjp_int(g, 3) != 0, unit = rl_vjp_int(g, 4) != 0;
    V gb = OP_NTH(0, _triangular_solve, G, X(1), TRUTH(upper), TRUTH(!turned), TRUTH(unit));
    TO(0, gb);
    if (!rl_vjp_wants(g, 1)) return;
    V inner = turned ? OP(matmul, OUT(0), TURN(gb)) : OP(matmul, gb, TURN(OUT(0)));
    inner = OP(neg, triangle_part(g, inner, upper, unit));
    rl_vjp_pass(g, 1, rl_vjp_has_grad(g, 1) ? OP(add, inner, rl_vjp_grad(g, 1)) : inner);
}
