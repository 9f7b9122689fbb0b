/* Derivatives of eigenvalues, singular values and what stands on them. Vectors are known up to their sign, so
 * that what a loss makes of them must not depend on it. */
#include "linalg.h"

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
    V turned = TURN(vectors);
    if (of_vectors.tag != RL_TENSOR) return OP(matmul, by_columns(g, vectors, of_values), turned);
    V inner = off_diagonal(g, OP(div, OP(matmul, turned, of_vectors), gaps(g, values)));
    if (of_values.tag == RL_TENSOR) inner = OP(add, inner, on_diagonal(g, of_values));
    V whole = OP(matmul, vectors, OP(matmul, inner, turned));
    return TIMES(OP(add, whole, TURN(whole)), 0.5);
}

FORMULA(linalg_eigh) {
    V of_values = rl_vjp_has_grad(g, 0) ? rl_vjp_grad(g, 0) : NONE;
    V of_vectors = rl_vjp_has_grad(g, 1) ? rl_vjp_grad(g, 1) : NONE;
    TO(0, eigh_gradient(g, OUT(0), OUT(1), of_values, of_vectors));
}

FORMULA(linalg_eigvalsh) {
    if (!rl_vjp_wants(g, 0)) return;
    V vectors = rl_matrix_again() ? OP_NTH(1, linalg_eigh, X(0), WORD(TEXT(1))) : OUT(1);
    rl_vjp_pass(g, 0, eigh_gradient(g, NONE, vectors, G, NONE));
}

static V skew(rl_vjp *g, V x) {
    return OP(sub, x, TURN(x));
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
    if (has_u) inner = by_columns(g, OP(div, skew(g, OP(matmul, TURN(f.left), of.left)), apart), f.values);
    if (has_v)
        inner = rl_matrix_sum(
            g, inner, by_rows(g, f.values, OP(div, skew(g, OP(matmul, f.right, TURN(of.right))), apart)));
    if (of.values.tag == RL_TENSOR) inner = OP(add, inner, on_diagonal(g, of.values));
    V left = OP(matmul, f.left, inner);
    if (m > k && has_u) {
        V out = OP(div, of.left, OP(unsqueeze, f.values, INT(-2)));
        left = OP(add, left, OP(sub, out, OP(matmul, f.left, OP(matmul, TURN(f.left), out))));
    }
    whole = OP(matmul, left, f.right);
    if (n > k && has_v) {
        V out = OP(div, of.right, OP(unsqueeze, f.values, INT(-1)));
        V rest = OP(sub, out, OP(matmul, OP(matmul, out, TURN(f.right)), f.right));
        whole = OP(add, whole, OP(matmul, f.left, rest));
    }
    return whole;
}

FORMULA(linalg_svd) {
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

FORMULA(linalg_svdvals) {
    if (!rl_vjp_wants(g, 0)) return;
    V part[3] = {NONE, NONE, NONE};
    if (rl_matrix_again())
        OPS(part, 3, linalg_svd, X(0), TRUTH(false));
    else
        part[0] = OUT(1), part[2] = OUT(2);
    rl_vjp_pass(g, 0, svd_gradient(g, (factors){part[0], part[1], part[2]}, (factors){NONE, G, NONE}));
}

/* Golub and Pereyra, 1973 */
static V pinv_gradient(rl_vjp *g, V grad, V p, V a) {
    V grad_t = TURN(grad), p_t = TURN(p);
    if (SIZE(a, -2) <= SIZE(a, -1)) {
        V k = OP(matmul, grad_t, p), kp = OP(matmul, k, p_t);
        V x = OP(sub, kp, TURN(OP(matmul, p, k)));
        x = OP(sub, x, OP(matmul, OP(matmul, a, p), kp));
        return OP(add, x, OP(matmul, OP(matmul, p_t, p), OP(sub, grad_t, OP(matmul, k, a))));
    }
    V k = OP(matmul, p, grad_t), pk = OP(matmul, p_t, k);
    V x = OP(sub, pk, TURN(OP(matmul, k, p)));
    x = OP(add, x, OP(matmul, OP(matmul, OP(sub, grad_t, OP(matmul, a, k)), p), p_t));
    return OP(sub, x, OP(matmul, OP(matmul, pk, p), a));
}

FORMULA(linalg_pinv) {
    TO(0, pinv_gradient(g, G, OUT(0), X(0)));
}

/* the solution is pinv(A) B; at the least square the residual does not change with it */
FORMULA(linalg_lstsq) {
    V a = X(0), b = X(1), x = OUT(0), ga = NONE, gb = NONE;
    bool vector = NDIM(x) == NDIM(b) && NDIM(b) == NDIM(a) - 1 && NDIM(b) > 0;
    if (vector) {
        b = OP(unsqueeze, b, INT(-1));
        x = OP(unsqueeze, x, INT(-1));
    }
    if (rl_vjp_has_grad(g, 0)) {
        V grad = vector ? OP(unsqueeze, rl_vjp_grad(g, 0), INT(-1)) : rl_vjp_grad(g, 0);
        V p = OP(_linalg_pinv, a, NONE, NONE, TRUTH(false));
        gb = OP(matmul, TURN(p), grad);
        if (rl_vjp_wants(g, 0)) ga = pinv_gradient(g, OP(matmul, grad, TURN(b)), p, a);
    }
    if (rl_vjp_has_grad(g, 1) && NUMEL(rl_vjp_grad(g, 1)) > 0) {
        V grad = rl_vjp_grad(g, 1), rest = OP(sub, OP(matmul, a, x), b);
        grad = OP(unsqueeze, grad, INT(-2));
        V twice = TIMES(OP(mul, rest, grad), 2);
        ga = rl_matrix_sum(g, ga, OP(matmul, twice, TURN(x)));
        gb = rl_matrix_sum(g, gb, OP(neg, twice));
    }
    if (rl_vjp_wants(g, 0) && ga.tag == RL_TENSOR) rl_vjp_pass(g, 0, ga);
    if (rl_vjp_wants(g, 1) && gb.tag == RL_TENSOR)
        rl_vjp_pass(g, 1, vector ? OP(squeeze_dim, gb, INT(-1)) : gb);
}

/* exp([A^T G; 0 A^T]) has the gradient in its corner (Mathias, 1996) */
FORMULA(linalg_matrix_exp) {
    if (!rl_vjp_wants(g, 0)) return;
    V a = TURN(X(0)), grad = G;
    int64_t n = SIZE(a, -1);
    V whole = JOIN(JOIN(a, grad, -1), JOIN(OP(zeros_like, a), a, -1), -2);
    V exponential = OP(linalg_matrix_exp, whole);
    rl_vjp_pass(g, 0, rl_matrix_columns(g, rl_matrix_rows(g, exponential, 0, n), n, n));
}

FORMULA(linalg_cross) {
    TO(0, OP(linalg_cross, X(1), G, INT(rl_vjp_int(g, 2))));
    TO(1, OP(linalg_cross, G, X(0), INT(rl_vjp_int(g, 2))));
}
