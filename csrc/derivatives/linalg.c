/* Derivatives of linear algebra. */
#include "vjp.h"
#include <math.h>

#define TRANSPOSE(x) OP(transpose, x, INT(-2), INT(-1))
/* X with T X == B (left) or X T == B */
#define TRIANGLE(t, b, upper, left, unit)                                                                    \
    OP(linalg_solve_triangular, t, b, BOOLEAN(upper), BOOLEAN(left), BOOLEAN(unit))
static inline V rl_matrix_columns(rl_vjp *g, V x, int64_t from, int64_t n) {
    return OP(narrow, x, INT(-1), INT(from), INT(n));
}
static inline V rl_matrix_rows(rl_vjp *g, V x, int64_t from, int64_t n) {
    return OP(narrow, x, INT(-2), INT(from), INT(n));
}
static inline V rl_matrix_identity(rl_vjp *g, V like) { /* of the dims of a batch of square matrices */
    return OP(triu, OP(tril, OP(ones_like, like)));
}
/* x or y, which may be absent */
static inline V rl_matrix_sum(rl_vjp *g, V x, V y) {
    return x.tag != RL_TENSOR ? y : y.tag != RL_TENSOR ? x : OP(add, x, y);
}
/* Is the gradient itself going to be differentiated? Then what only the call kept is found again. */
static inline bool rl_matrix_again(void) {
    return rl_tls.grad;
}

/* ---- inverses, determinants and LU, and of what is solved by them ---- */
VJP(linalg_inv) {
    V inverse = TRANSPOSE(OUT(0));
    GRAD_OF(0, OP(neg, OP(matmul, inverse, OP(matmul, G, inverse))));
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
    return rl_vjp_any(g, OP(le, pivots, TIMES(OP(amax, pivots, INT(-1), BOOLEAN(true)), limit)));
}

VJP(linalg_det) {
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
        rl_vjp_pass(g, 0, scaled(g, TRANSPOSE(OP_NTH(0, linalg_inv_ex, X(0))), factor));
        return;
    }
    V right = scaled(g, rl_matrix_identity(g, OUT(1)), factor);
    rl_vjp_pass(g, 0, OP(linalg_lu_solve, OUT(1), OUT(2), right, BOOLEAN(true), BOOLEAN(true)));
}

VJP(linalg_slogdet) {
    if (!rl_vjp_wants(g, 0) || !rl_vjp_has_grad(g, 1)) return;
    V factor = rl_vjp_grad(g, 1);
    if (NUMEL(factor) == 0)
        rl_vjp_pass(g, 0, rl_vjp_zeros(g, 0));
    else if (rl_matrix_again())
        rl_vjp_pass(g, 0, scaled(g, TRANSPOSE(OP_NTH(0, linalg_inv_ex, X(0))), factor));
    else
        rl_vjp_pass(g, 0,
                    OP(linalg_lu_solve, OUT(2), OUT(3), scaled(g, rl_matrix_identity(g, OUT(2)), factor),
                       BOOLEAN(true), BOOLEAN(true)));
}

/* ---- A == P L U ---- */
/* gl and gu may be absent; l: m x least, u: least x n */
static V lu_gradient(rl_vjp *g, V gl, V gu, V p, V l, V u) {
    int64_t m = SIZE(l, -2), n = SIZE(u, -1), k = m < n ? m : n;
    bool has_l = gl.tag == RL_TENSOR, has_u = gu.tag == RL_TENSOR;
    V first = NONE;
    V l1 = rl_matrix_rows(g, l, 0, k), u1 = rl_matrix_columns(g, u, 0, k);
    if (has_l) {
        first = OP(tril, OP(matmul, TRANSPOSE(l1), rl_matrix_rows(g, gl, 0, k)), INT(-1));
        if (m > k)
            first = OP(sub, first,
                       OP(triu, OP(matmul, TRANSPOSE(rl_matrix_rows(g, l, k, m - k)),
                                   rl_matrix_rows(g, gl, k, m - k))));
    }
    if (has_u) {
        first = rl_matrix_sum(g, first, OP(triu, OP(matmul, rl_matrix_columns(g, gu, 0, k), TRANSPOSE(u1))));
        if (n > k)
            first = OP(sub, first,
                       OP(tril,
                          OP(matmul, rl_matrix_columns(g, gu, k, n - k),
                             TRANSPOSE(rl_matrix_columns(g, u, k, n - k))),
                          INT(-1)));
    }
    if (m > n) {
        V top = TRIANGLE(TRANSPOSE(l1), first, true, true, true);
        V below = has_l ? rl_matrix_rows(g, gl, k, m - k) : OP(zeros_like, rl_matrix_rows(g, l, k, m - k));
        V both = JOIN(top, below, -2);
        return OP(matmul, p, TRIANGLE(TRANSPOSE(u1), both, false, false, false));
    }
    V left = TRIANGLE(TRANSPOSE(u1), first, false, false, false);
    if (n > m) {
        V beside =
            has_u ? rl_matrix_columns(g, gu, k, n - k) : OP(zeros_like, rl_matrix_columns(g, u, k, n - k));
        left = JOIN(left, beside, -1);
    }
    return OP(matmul, p, TRIANGLE(TRANSPOSE(l1), left, true, true, true));
}

VJP(linalg_lu) {
    if (!rl_vjp_wants(g, 0) || (!rl_vjp_has_grad(g, 1) && !rl_vjp_has_grad(g, 2))) return;
    V gl = rl_vjp_has_grad(g, 1) ? rl_vjp_grad(g, 1) : NONE,
      gu = rl_vjp_has_grad(g, 2) ? rl_vjp_grad(g, 2) : NONE;
    rl_vjp_pass(g, 0, lu_gradient(g, gl, gu, OUT(0), OUT(1), OUT(2)));
}

VJP(linalg_lu_factor) {
    if (!rl_vjp_wants(g, 0)) return;
    V part[3], grad = G;
    OPS(part, 3, lu_unpack, OUT(0), OUT(1));
    int64_t k = SIZE(part[1], -1);
    V gl = OP(tril, rl_matrix_columns(g, grad, 0, k), INT(-1)), gu = OP(triu, rl_matrix_rows(g, grad, 0, k));
    rl_vjp_pass(g, 0, lu_gradient(g, gl, gu, part[0], part[1], part[2]));
}

VJP(lu_unpack) {
    if (!rl_vjp_wants(g, 0) || !rl_vjp_int(g, 2)) return; /* P is a constant */
    const rl_tensor_meta *a = rl_vjp_like(g, 0);
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
        gb = OP(linalg_solve, TRANSPOSE(a), grad, BOOLEAN(left));
    else
        gb = OP(linalg_lu_solve, OUT(lu), OUT(lu + 1), grad, BOOLEAN(left), BOOLEAN(true));
    GRAD_OF(0, OP(neg, left ? OP(matmul, gb, TRANSPOSE(x)) : OP(matmul, TRANSPOSE(x), gb)));
    GRAD_OF(1, vector ? OP(squeeze_dim, gb, INT(-1)) : gb);
}
VJP(linalg_solve) {
    solve(g, 1);
}
VJP(linalg_solve_ex) {
    solve(g, 2);
}

/* by LU of A^T X^T == B^T where it is X A == B */
VJP(linalg_lu_solve) {
    bool left = rl_vjp_int(g, 3) != 0, adjoint = rl_vjp_int(g, 4) != 0;
    V grad = G, lu = X(0), pivots = X(1);
    GRAD_OF(2, OP(linalg_lu_solve, lu, pivots, grad, BOOLEAN(left), BOOLEAN(!adjoint)));
    if (!rl_vjp_wants(g, 0)) return;
    V part[3], x = left ? OUT(0) : TRANSPOSE(OUT(0));
    OPS(part, 3, lu_unpack, lu, pivots);
    V p = part[0], l = part[1], u = part[2], gl, gu;
    grad = left ? grad : TRANSPOSE(grad);
    if (left != adjoint) { /* X = U^-1 L^-1 P^T B */
        V inner = TRIANGLE(TRANSPOSE(u), grad, false, true, false);
        gu = OP(matmul, inner, TRANSPOSE(x));
        gl = OP(matmul, TRIANGLE(TRANSPOSE(l), inner, true, true, true), TRANSPOSE(OP(matmul, u, x)));
    } else { /* X = P L^-T U^-T B */
        V y = OP(matmul, TRANSPOSE(p), x), z = OP(matmul, TRANSPOSE(l), y);
        V gz = TRIANGLE(l, OP(matmul, TRANSPOSE(p), grad), false, true, true);
        gl = OP(matmul, y, TRANSPOSE(gz));
        gu = OP(matmul, z, TRANSPOSE(TRIANGLE(u, gz, true, true, false)));
    }
    rl_vjp_pass(g, 0, OP(neg, OP(add, OP(tril, gl, INT(-1)), OP(triu, gu))));
}

/* ---- Cholesky's factor and of triangles ---- */
/* L^-T (lower triangle of L^T gL, mirrored) L^-1 / 2 */
VJP(linalg_cholesky) {
    if (!rl_vjp_wants(g, 0)) return;
    bool upper = rl_vjp_int(g, 1) != 0;
    V l = upper ? TRANSPOSE(OUT(0)) : OUT(0), grad = upper ? TRANSPOSE(G) : G;
    V inner = OP(matmul, TRANSPOSE(l), grad);
    V both = OP(add, OP(tril, inner), TRANSPOSE(OP(tril, inner, INT(-1))));
    V left = TRIANGLE(TRANSPOSE(l), both, true, true, false);
    rl_vjp_pass(g, 0, TIMES(TRIANGLE(l, left, false, false, false), 0.5));
}

VJP(cholesky_inverse) {
    if (!rl_vjp_wants(g, 0)) return;
    V inverse = OUT(0), both = OP(add, G, TRANSPOSE(G)),
      inner = OP(matmul, inverse, OP(matmul, both, inverse));
    bool upper = rl_vjp_int(g, 1) != 0;
    rl_vjp_pass(g, 0, OP(neg, upper ? OP(matmul, X(0), inner) : OP(matmul, inner, X(0))));
}

VJP(cholesky_solve) {
    bool upper = rl_vjp_int(g, 2) != 0;
    V factor = X(1), gb = OP(cholesky_solve, G, factor, BOOLEAN(upper));
    GRAD_OF(0, gb);
    if (!rl_vjp_wants(g, 1)) return;
    V inner = OP(matmul, gb, TRANSPOSE(OUT(0))), both = OP(add, inner, TRANSPOSE(inner));
    rl_vjp_pass(g, 1, OP(neg, upper ? OP(matmul, factor, both) : OP(matmul, both, factor)));
}

static V triangle_part(rl_vjp *g, V x, bool upper, bool unit) {
    return upper ? OP(triu, x, INT(unit)) : OP(tril, x, INT(unit ? -1 : 0));
}

VJP(linalg_solve_triangular) {
    bool upper = rl_vjp_int(g, 2) != 0, left = rl_vjp_int(g, 3) != 0, unit = rl_vjp_int(g, 4) != 0;
    V gb = TRIANGLE(TRANSPOSE(X(0)), G, !upper, left, unit);
    GRAD_OF(1, gb);
    if (!rl_vjp_wants(g, 0)) return;
    V inner = left ? OP(matmul, gb, TRANSPOSE(OUT(0))) : OP(matmul, TRANSPOSE(OUT(0)), gb);
    rl_vjp_pass(g, 0, OP(neg, triangle_part(g, inner, upper, unit)));
}

VJP(triangular_solve) {
    if (!rl_vjp_has_grad(g, 0)) { /* only the copy of A */
        GRAD_OF(1, rl_vjp_grad(g, 1));
        return;
    }
    bool upper = rl_vjp_int(g, 2) != 0, turned = rl_vjp_int(g, 3) != 0, unit = rl_vjp_int(g, 4) != 0;
    V gb = OP_NTH(0, _triangular_solve, G, X(1), BOOLEAN(upper), BOOLEAN(!turned), BOOLEAN(unit));
    GRAD_OF(0, gb);
    if (!rl_vjp_wants(g, 1)) return;
    V inner = turned ? OP(matmul, OUT(0), TRANSPOSE(gb)) : OP(matmul, gb, TRANSPOSE(OUT(0)));
    inner = OP(neg, triangle_part(g, inner, upper, unit));
    rl_vjp_pass(g, 1, rl_vjp_has_grad(g, 1) ? OP(add, inner, rl_vjp_grad(g, 1)) : inner);
}

/* ---- A == Q R (Walter and Lehmann, 2010; Roberts and Roberts, 2020 for wide matrices) ---- */
static void refuse(rl_vjp *g, const char *why) {
    PyErr_SetString(PyExc_RuntimeError, why);
    rl_vjp_fail(g);
}

/* dR R^T - Q^T dQ */
static V inner(rl_vjp *g, V q, V r) {
    V by_r = rl_vjp_has_grad(g, 1) ? OP(matmul, rl_vjp_grad(g, 1), TRANSPOSE(r)) : NONE;
    if (!rl_vjp_has_grad(g, 0)) return by_r;
    V by_q = OP(matmul, TRANSPOSE(q), G);
    return by_r.tag == RL_TENSOR ? OP(sub, by_r, by_q) : OP(neg, by_q);
}

VJP(linalg_qr) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *a = rl_vjp_like(g, 0);
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1];
    char mode = STRING_ARG(1)[0];
    if (mode == 'r' && !STRING_ARG(1)[1]) {
        refuse(g, "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                  "linalg.qr(A, mode='reduced') if you are going to require gradients");
        return;
    }
    if (mode == 'c' && m > n) {
        refuse(g, "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
        return;
    }
    V q = OUT(0), r = OUT(1), skew = inner(g, q, r);
    if (m >= n) {
        V x = OP(matmul, q, OP(add, OP(triu, skew), TRANSPOSE(OP(triu, skew, INT(1)))));
        if (rl_vjp_has_grad(g, 0)) x = OP(add, x, G);
        rl_vjp_pass(g, 0, TRIANGLE(TRANSPOSE(r), x, false, false, false));
        return;
    }
    V x = OP(matmul, q, OP(tril, OP(sub, TRANSPOSE(skew), skew)));
    x = TRIANGLE(TRANSPOSE(rl_matrix_columns(g, r, 0, m)), x, false, false, false);
    x = JOIN(x, OP(zeros_like, rl_matrix_columns(g, r, m, n - m)), -1);
    if (rl_vjp_has_grad(g, 1)) x = OP(add, x, OP(matmul, q, rl_vjp_grad(g, 1)));
    rl_vjp_pass(g, 0, x);
}

/* ---- eigenvalues, singular values and what stands on them ----
 * Vectors are known up to their sign, so
 * that what a loss makes of them must not depend on it. */
/* x_j - x_i off the diagonal, 1 on it */
static V gaps(rl_vjp *g, V x) {
    V apart = OP(sub, OP(unsqueeze, x, INT(-2)), OP(unsqueeze, x, INT(-1)));
    return OP(add, apart, rl_matrix_identity(g, apart));
}
static V off_diagonal(rl_vjp *g, V x) {
    return OP(add, OP(tril, x, INT(-1)), OP(triu, x, INT(1)));
}
static V on_diagonal(rl_vjp *g, V x) {
    V square = OP(mul, OP(unsqueeze, x, INT(-1)), OP(ones_like, OP(unsqueeze, x, INT(-2))));
    return OP(triu, OP(tril, square));
}
static V by_columns(rl_vjp *g, V x, V s) {
    return OP(mul, x, OP(unsqueeze, s, INT(-2)));
}
static V by_rows(rl_vjp *g, V s, V x) {
    return OP(mul, OP(unsqueeze, s, INT(-1)), x);
}

static V eigh_gradient(rl_vjp *g, V values, V vectors, V of_values, V of_vectors) {
    V turned = TRANSPOSE(vectors);
    if (of_vectors.tag != RL_TENSOR) return OP(matmul, by_columns(g, vectors, of_values), turned);
    V inner = off_diagonal(g, OP(div, OP(matmul, turned, of_vectors), gaps(g, values)));
    if (of_values.tag == RL_TENSOR) inner = OP(add, inner, on_diagonal(g, of_values));
    V whole = OP(matmul, vectors, OP(matmul, inner, turned));
    return TIMES(OP(add, whole, TRANSPOSE(whole)), 0.5);
}

VJP(linalg_eigh) {
    V of_values = rl_vjp_has_grad(g, 0) ? rl_vjp_grad(g, 0) : NONE;
    V of_vectors = rl_vjp_has_grad(g, 1) ? rl_vjp_grad(g, 1) : NONE;
    GRAD_OF(0, eigh_gradient(g, OUT(0), OUT(1), of_values, of_vectors));
}

VJP(linalg_eigvalsh) {
    if (!rl_vjp_wants(g, 0)) return;
    V vectors = rl_matrix_again() ? OP_NTH(1, linalg_eigh, X(0), STRING(STRING_ARG(1))) : OUT(1);
    rl_vjp_pass(g, 0, eigh_gradient(g, NONE, vectors, G, NONE));
}

static V skew(rl_vjp *g, V x) {
    return OP(sub, x, TRANSPOSE(x));
}

typedef struct {
    V left, values, right; /* U, S and Vh */
} factors;

/* f: the reduced factors; of: their gradients, which may be absent */
static V svd_gradient(rl_vjp *g, factors f, factors of) {
    bool has_u = of.left.tag == RL_TENSOR, has_v = of.right.tag == RL_TENSOR;
    if (!has_u && !has_v) return OP(matmul, by_columns(g, f.left, of.values), f.right);
    int64_t m = SIZE(f.left, -2), n = SIZE(f.right, -1), k = SIZE(f.values, -1);
    V squares = OP(mul, f.values, f.values), apart = gaps(g, squares), inner = NONE, whole;
    if (has_u)
        inner = by_columns(g, OP(div, skew(g, OP(matmul, TRANSPOSE(f.left), of.left)), apart), f.values);
    if (has_v)
        inner = rl_matrix_sum(
            g, inner,
            by_rows(g, f.values, OP(div, skew(g, OP(matmul, f.right, TRANSPOSE(of.right))), apart)));
    if (of.values.tag == RL_TENSOR) inner = OP(add, inner, on_diagonal(g, of.values));
    V left = OP(matmul, f.left, inner);
    if (m > k && has_u) {
        V out = OP(div, of.left, OP(unsqueeze, f.values, INT(-2)));
        left = OP(add, left, OP(sub, out, OP(matmul, f.left, OP(matmul, TRANSPOSE(f.left), out))));
    }
    whole = OP(matmul, left, f.right);
    if (n > k && has_v) {
        V out = OP(div, of.right, OP(unsqueeze, f.values, INT(-1)));
        V rest = OP(sub, out, OP(matmul, OP(matmul, out, TRANSPOSE(f.right)), f.right));
        whole = OP(add, whole, OP(matmul, f.left, rest));
    }
    return whole;
}

VJP(linalg_svd) {
    if (!rl_vjp_wants(g, 0)) return;
    factors f = {OUT(0), OUT(1), OUT(2)}, of = {NONE, NONE, NONE};
    int64_t k = SIZE(f.values, -1);
    if (rl_vjp_has_grad(g, 0)) of.left = rl_matrix_columns(g, rl_vjp_grad(g, 0), 0, k);
    if (rl_vjp_has_grad(g, 1)) of.values = rl_vjp_grad(g, 1);
    if (rl_vjp_has_grad(g, 2)) of.right = rl_matrix_rows(g, rl_vjp_grad(g, 2), 0, k);
    f.left = rl_matrix_columns(g, f.left, 0, k);
    f.right = rl_matrix_rows(g, f.right, 0, k);
    rl_vjp_pass(g, 0, svd_gradient(g, f, of));
}

VJP(linalg_svdvals) {
    if (!rl_vjp_wants(g, 0)) return;
    V part[3] = {NONE, NONE, NONE};
    if (rl_matrix_again())
        OPS(part, 3, linalg_svd, X(0), BOOLEAN(false));
    else
        part[0] = OUT(1), part[2] = OUT(2);
    rl_vjp_pass(g, 0, svd_gradient(g, (factors){part[0], part[1], part[2]}, (factors){NONE, G, NONE}));
}

/* Golub and Pereyra, 1973 */
static V pinv_gradient(rl_vjp *g, V grad, V p, V a) {
    V grad_t = TRANSPOSE(grad), p_t = TRANSPOSE(p);
    if (SIZE(a, -2) <= SIZE(a, -1)) {
        V k = OP(matmul, grad_t, p), kp = OP(matmul, k, p_t);
        V x = OP(sub, kp, TRANSPOSE(OP(matmul, p, k)));
        x = OP(sub, x, OP(matmul, OP(matmul, a, p), kp));
        return OP(add, x, OP(matmul, OP(matmul, p_t, p), OP(sub, grad_t, OP(matmul, k, a))));
    }
    V k = OP(matmul, p, grad_t), pk = OP(matmul, p_t, k);
    V x = OP(sub, pk, TRANSPOSE(OP(matmul, k, p)));
    x = OP(add, x, OP(matmul, OP(matmul, OP(sub, grad_t, OP(matmul, a, k)), p), p_t));
    return OP(sub, x, OP(matmul, OP(matmul, pk, p), a));
}

VJP(linalg_pinv) {
    GRAD_OF(0, pinv_gradient(g, G, OUT(0), X(0)));
}

/* the solution is pinv(A) B; at the least square the residual does not change with it */
VJP(linalg_lstsq) {
    V a = X(0), b = X(1), x = OUT(0), ga = NONE, gb = NONE;
    bool vector = NDIM(x) == NDIM(b) && NDIM(b) == NDIM(a) - 1 && NDIM(b) > 0;
    if (vector) {
        b = OP(unsqueeze, b, INT(-1));
        x = OP(unsqueeze, x, INT(-1));
    }
    if (rl_vjp_has_grad(g, 0)) {
        V grad = vector ? OP(unsqueeze, rl_vjp_grad(g, 0), INT(-1)) : rl_vjp_grad(g, 0);
        V p = OP(_linalg_pinv, a, NONE, NONE, BOOLEAN(false));
        gb = OP(matmul, TRANSPOSE(p), grad);
        if (rl_vjp_wants(g, 0)) ga = pinv_gradient(g, OP(matmul, grad, TRANSPOSE(b)), p, a);
    }
    if (rl_vjp_has_grad(g, 1) && NUMEL(rl_vjp_grad(g, 1)) > 0) {
        V grad = rl_vjp_grad(g, 1), rest = OP(sub, OP(matmul, a, x), b);
        grad = OP(unsqueeze, grad, INT(-2));
        V twice = TIMES(OP(mul, rest, grad), 2);
        ga = rl_matrix_sum(g, ga, OP(matmul, twice, TRANSPOSE(x)));
        gb = rl_matrix_sum(g, gb, OP(neg, twice));
    }
    if (rl_vjp_wants(g, 0) && ga.tag == RL_TENSOR) rl_vjp_pass(g, 0, ga);
    if (rl_vjp_wants(g, 1) && gb.tag == RL_TENSOR)
        rl_vjp_pass(g, 1, vector ? OP(squeeze_dim, gb, INT(-1)) : gb);
}

/* exp([A^T G; 0 A^T]) has the gradient in its corner (Mathias, 1996) */
VJP(linalg_matrix_exp) {
    if (!rl_vjp_wants(g, 0)) return;
    V a = TRANSPOSE(X(0)), grad = G;
    int64_t n = SIZE(a, -1);
    V whole = JOIN(JOIN(a, grad, -1), JOIN(OP(zeros_like, a), a, -1), -2);
    V exponential = OP(linalg_matrix_exp, whole);
    rl_vjp_pass(g, 0, rl_matrix_columns(g, rl_matrix_rows(g, exponential, 0, n), n, n));
}

VJP(linalg_cross) {
    GRAD_OF(0, OP(linalg_cross, X(1), G, INT(rl_vjp_int(g, 2))));
    GRAD_OF(1, OP(linalg_cross, G, X(0), INT(rl_vjp_int(g, 2))));
}

/* ---- norms of vectors ---- */
/* sign(x) * |x|^power */
static V signed_power(rl_vjp *g, V x, double power) {
    return OP(mul, OP(sign, x), OP(pow, OP(abs, x), NUM(power)));
}
static V without(rl_vjp *g, V x, V zero) {
    return OP(masked_fill, x, OP(eq, zero, INT(0)), INT(0));
}
static V norm_slope(rl_vjp *g, const rl_span *s, V grad, double p) {
    V x = X(0), norm = rl_span_restored(g, s, OUT(0));
    if (p == 1) return OP(mul, OP(sign, x), grad);
    if (p == 2) return OP(mul, grad, without(g, OP(div, x, norm), norm));
    if (isinf(p)) {
        V size = OP(abs, x), hit = OP(logical_or, OP(eq, size, norm), OP(isnan, size));
        V many = OP(sum, hit, rl_span_dims(s), BOOLEAN(true));
        return OP(mul, OP(sign, x), OP(mul, OP(div, grad, many), hit));
    }
    if (p < 1) {
        V scaled = without(g, signed_power(g, x, p - 1), x);
        return OP(mul, OP(mul, scaled, grad), OP(pow, norm, NUM(1 - p)));
    }
    V scale = without(g, OP(div, grad, OP(pow, norm, NUM(p - 1))), norm);
    return OP(mul, p < 2 ? signed_power(g, x, p - 1) : OP(mul, x, OP(pow, OP(abs, x), NUM(p - 2))), scale);
}
VJP(vector_norm) {
    if (!rl_vjp_wants(g, 0)) return;
    V order = MAYBE(1);
    double p = order.tag == RL_INT || order.tag == RL_FLOAT ? rl_number(order) : 2; /* None and 'fro' */
    rl_span s = rl_span_of(g, 2, rl_vjp_int(g, 3));
    if (p != 0) rl_vjp_pass(g, 0, norm_slope(g, &s, rl_span_restored(g, &s, G), p));
}
