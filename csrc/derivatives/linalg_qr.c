/* The derivative of A == Q R (Walter and Lehmann, 2010; Roberts and Roberts, 2020 for wide matrices). */
#include "formula.h"

static V flipped(rl_vjp *g, V x) {
    return OP(transpose, x, INT(-2), INT(-1));
}
static V columns(rl_vjp *g, V x, int64_t from, int64_t n) {
    return OP(narrow, x, INT(-1), INT(from), INT(n));
}
static V block(rl_vjp *g, V x, int64_t row, int64_t rows, int64_t column) {
    return columns(g, OP(narrow, x, INT(-2), INT(row), INT(rows)), column, 1);
}
static V beside(rl_vjp *g, V left, V right) {
    return JOIN(left, right, -1);
}

/* X with X L == B, L lower triangular: its columns from the last to the first */
static V solved(rl_vjp *g, V l, V b, int64_t n) {
    V x = NONE;
    for (int64_t j = n - 1; j >= 0 && !FAILED; j--) {
        V rest = columns(g, b, j, 1);
        if (x.tag == RL_TENSOR) rest = OP(sub, rest, OP(matmul, x, block(g, l, j + 1, n - 1 - j, j)));
        V column = OP(div, rest, block(g, l, j, 1, j));
        x = x.tag == RL_TENSOR ? beside(g, column, x) : column;
    }
    return n ? x : b;
}

static void refuse(rl_vjp *g, const char *why) {
    PyErr_SetString(PyExc_RuntimeError, why);
    rl_vjp_fail(g);
}

/* dR R^T - Q^T dQ */
static V inner(rl_vjp *g, V q, V r) {
    V by_r = rl_vjp_has_grad(g, 1) ? OP(matmul, rl_vjp_grad(g, 1), flipped(g, r)) : NONE;
    if (!rl_vjp_has_grad(g, 0)) return by_r;
    V by_q = OP(matmul, flipped(g, q), G);
    return by_r.tag == RL_TENSOR ? OP(sub, by_r, by_q) : OP(neg, by_q);
}

FORMULA(linalg_qr) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_meta *a = rl_vjp_like(g, 0);
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1];
    char mode = TEXT(1)[0];
    if (mode == 'r' && !TEXT(1)[1]) {
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
        V x = OP(matmul, q, OP(add, OP(triu, skew), flipped(g, OP(triu, skew, INT(1)))));
        if (rl_vjp_has_grad(g, 0)) x = OP(add, x, G);
        rl_vjp_pass(g, 0, solved(g, flipped(g, r), x, n));
        return;
    }
    V x = OP(matmul, q, OP(tril, OP(sub, flipped(g, skew), skew)));
    x = solved(g, flipped(g, columns(g, r, 0, m)), x, m);
    x = beside(g, x, OP(zeros_like, columns(g, r, m, n - m)));
    if (rl_vjp_has_grad(g, 1)) x = OP(add, x, OP(matmul, q, rl_vjp_grad(g, 1)));
    rl_vjp_pass(g, 0, x);
}
