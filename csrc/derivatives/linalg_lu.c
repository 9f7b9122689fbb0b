/* Derivatives of inverses, determinants and LU, and of what is solved by them. */
#include "linalg.h"

FORMULA(linalg_inv) {
    V inverse = TURN(OUT(0));
    TO(0, OP(neg, OP(matmul, inverse, OP(matmul, G, inverse))));
}

static V scaled(rl_vjp *g, V matrix, V factor) { /* a number for each matrix */
    return OP(mul, matrix, OP(unsqueeze, OP(unsqueeze, factor, INT(-1)), INT(-1)));
}

/* U diag(d) Vh times det(U) det(Vh), where d_i is the product of the other singular values */
static V cofactors(rl_vjp *g, V a) {
    V part[3];
    OPS(part, 3, linalg_svd, a);
    V one = OP(gt, rl_matrix_identity(g, a), INT(0));
    V others = OP(masked_fill, OP(add, OP(unsqueeze, part[1], INT(-2)), OP(zeros_like, a)), one, INT(1));
    V d = OP(prod, others, INT(-1));
    V turn = OP(mul, OP(linalg_det, part[0]), OP(linalg_det, part[2]));
    return scaled(g, OP(matmul, OP(mul, part[0], OP(unsqueeze, d, INT(-2))), part[2]), turn);
}

/* Is a pivot of one of them as good as zero? */
static bool nearly_singular(rl_vjp *g, V lu, double limit) {
    if (NUMEL(lu) == 0) return false;
    V pivots = OP(abs, OP(diagonal, lu, INT(0), INT(-2), INT(-1)));
    return rl_vjp_any(g, OP(le, pivots, TIMES(OP(amax, pivots, INT(-1), TRUTH(true)), limit)));
}

FORMULA(linalg_det) {
    if (!rl_vjp_wants(g, 0)) return;
    V det = OUT(0);
    if (NUMEL(det) == 0) {
        rl_vjp_pass(g, 0, rl_vjp_zeros(g, 0));
        return;
    }
    if (nearly_singular(g, OUT(1), rl_matrix_again() ? 1e-10 : 0)) {
        rl_vjp_pass(g, 0, scaled(g, cofactors(g, X(0)), G));
        return;
    }
    V factor = OP(mul, G, det);
    if (rl_matrix_again()) {
        rl_vjp_pass(g, 0, scaled(g, TURN(OP_NTH(0, linalg_inv_ex, X(0))), factor));
        return;
    }
    V right = scaled(g, rl_matrix_identity(g, OUT(1)), factor);
    rl_vjp_pass(g, 0, OP(linalg_lu_solve, OUT(1), OUT(2), right, TRUTH(true), TRUTH(true)));
}

FORMULA(linalg_slogdet) {
    if (!rl_vjp_wants(g, 0) || !rl_vjp_has_grad(g, 1)) return;
    V factor = rl_vjp_grad(g, 1);
    if (NUMEL(factor) == 0)
        rl_vjp_pass(g, 0, rl_vjp_zeros(g, 0));
    else if (rl_matrix_again())
        rl_vjp_pass(g, 0, scaled(g, TURN(OP_NTH(0, linalg_inv_ex, X(0))), factor));
    else
        rl_vjp_pass(g, 0,
                    OP(linalg_lu_solve, OUT(2), OUT(3), scaled(g, rl_matrix_identity(g, OUT(2)), factor),
                       TRUTH(true), TRUTH(true)));
}

/* ---- A == P L U ---- */
/* gl and gu may be absent; l: m x least, u: least x n */
static V lu_gradient(rl_vjp *g, V gl, V gu, V p, V l, V u) {
    int64_t m = SIZE(l, -2), n = SIZE(u, -1), k = m < n ? m : n;
    bool has_l = gl.tag == RL_TENSOR, has_u = gu.tag == RL_TENSOR;
    V first = NONE;
    V l1 = rl_matrix_rows(g, l, 0, k), u1 = rl_matrix_columns(g, u, 0, k);
    if (has_l) {
        first = OP(tril, OP(matmul, TURN(l1), rl_matrix_rows(g, gl, 0, k)), INT(-1));
        if (m > k)
            first = OP(
                sub, first,
                OP(triu, OP(matmul, TURN(rl_matrix_rows(g, l, k, m - k)), rl_matrix_rows(g, gl, k, m - k))));
    }
    if (has_u) {
        first = rl_matrix_sum(g, first, OP(triu, OP(matmul, rl_matrix_columns(g, gu, 0, k), TURN(u1))));
        if (n > k)
            first =
                OP(sub, first,
                   OP(tril,
                      OP(matmul, rl_matrix_columns(g, gu, k, n - k), TURN(rl_matrix_columns(g, u, k, n - k))),
                      INT(-1)));
    }
    if (m > n) {
        V top = TRIANGLE(TURN(l1), first, true, true, true);
        V below = has_l ? rl_matrix_rows(g, gl, k, m - k) : OP(zeros_like, rl_matrix_rows(g, l, k, m - k));
        V both = JOIN(top, below, -2);
        return OP(matmul, p, TRIANGLE(TURN(u1), both, false, false, false));
    }
    V left = TRIANGLE(TURN(u1), first, false, false, false);
    if (n > m) {
        V beside =
            has_u ? rl_matrix_columns(g, gu, k, n - k) : OP(zeros_like, rl_matrix_columns(g, u, k, n - k));
        left = JOIN(left, beside, -1);
    }
    return OP(matmul, p, TRIANGLE(TURN(l1), left, true, true, true));
}

FORMULA(linalg_lu) {
    if (!rl_vjp_wants(g, 0) || (!rl_vjp_has_grad(g, 1) && !rl_vjp_has_grad(g, 2))) return;
    V gl = rl_vjp_has_grad(g, 1) ? rl_vjp_grad(g, 1) : NONE,
      gu = rl_vjp_has_grad(g, 2) ? rl_vjp_grad(g, 2) : NONE;
    rl_vjp_pass(g, 0, lu_gradient(g, gl, gu, OUT(0), OUT(1), OUT(2)));
}

FORMULA(linalg_lu_factor) {
    if (!rl_vjp_wants(g, 0)) return;
    V part[3], grad = G;
    OPS(part, 3, lu_unpack, OUT(0), OUT(1));
    int64_t k = SIZE(part[1], -1);
    V gl = OP(tril, rl_matrix_columns(g, grad, 0, k), INT(-1)), gu = OP(triu, rl_matrix_rows(g, grad, 0, k));
    rl_vjp_pass(g, 0, lu_gradient(g, gl, gu, part[0], part[1], part[2]));
}

FORMULA(lu_unpack) {
    if (!rl_vjp_wants(g, 0) || !rl_vjp_int(g, 2)) return; /* P is a constant */
    const rl_meta *a = rl_vjp_like(g, 0);
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1], k = m < n ? m : n;
    V l = NONE, u = NONE;
    if (rl_vjp_has_grad(g, 1)) {
        l = OP(tril, rl_vjp_grad(g, 1), INT(-1));
        if (n > k) l = JOIN(l, OP(zeros_like, rl_matrix_columns(g, X(0), k, n - k)), -1);
    }
    if (rl_vjp_has_grad(g, 2)) {
        u = OP(triu, rl_vjp_grad(g, 2));
        if (m > k) u = JOIN(u, OP(zeros_like, rl_matrix_rows(g, X(0), k, m - k)), -2);
    }
    if (l.tag == RL_TENSOR || u.tag == RL_TENSOR) rl_vjp_pass(g, 0, rl_matrix_sum(g, l, u));
}

/* ---- equations ---- */
/* lu: which result is LU, the pivots behind it */
static void solve(rl_vjp *g, int lu) {
    V x = OUT(0), grad = G, a = X(0), gb;
    bool left = rl_vjp_int(g, 2) != 0;
    bool vector = left && NDIM(x) == NDIM(a) - 1; /* of a batch: there is none of matrices with so few dims */
    if (vector) {
        grad = OP(unsqueeze, grad, INT(-1));
        x = OP(unsqueeze, x, INT(-1));
    }
    if (rl_matrix_again())
        gb = OP(linalg_solve, TURN(a), grad, TRUTH(left));
    else
        gb = OP(linalg_lu_solve, OUT(lu), OUT(lu + 1), grad, TRUTH(left), TRUTH(true));
    TO(0, OP(neg, left ? OP(matmul, gb, TURN(x)) : OP(matmul, TURN(x), gb)));
    TO(1, vector ? OP(squeeze_dim, gb, INT(-1)) : gb);
}
FORMULA(linalg_solve) {
    solve(g, 1);
}
FORMULA(linalg_solve_ex) {
    solve(g, 2);
}

/* by LU of A^T X^T == B^T where it is X A == B */
FORMULA(linalg_lu_solve) {
    bool left = rl_vjp_int(g, 3) != 0, adjoint = rl_vjp_int(g, 4) != 0;
    V grad = G, lu = X(0), pivots = X(1);
    TO(2, OP(linalg_lu_solve, lu, pivots, grad, TRUTH(left), TRUTH(!adjoint)));
    if (!rl_vjp_wants(g, 0)) return;
    V part[3], x = left ? OUT(0) : TURN(OUT(0));
    OPS(part, 3, lu_unpack, lu, pivots);
    V p = part[0], l = part[1], u = part[2], gl, gu;
    grad = left ? grad : TURN(grad);
    if (left != adjoint) { /* X = U^-1 L^-1 P^T B */
        V inner = TRIANGLE(TURN(u), grad, false, true, false);
        gu = OP(matmul, inner, TURN(x));
        gl = OP(matmul, TRIANGLE(TURN(l), inner, true, true, true), TURN(OP(matmul, u, x)));
    } else { /* X = P L^-T U^-T B */
        V y = OP(matmul, TURN(p), x), z = OP(matmul, TURN(l), y);
        V gz = TRIANGLE(l, OP(matmul, TURN(p), grad), false, true, true);
        gl = OP(matmul, y, TURN(gz));
        gu = OP(matmul, z, TURN(TRIANGLE(u, gz, true, true, false)));
    }
    rl_vjp_pass(g, 0, OP(neg, OP(add, OP(tril, gl, INT(-1)), OP(triu, gu))));
}
