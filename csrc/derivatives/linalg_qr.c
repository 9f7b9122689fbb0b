/* The derivative of A == Q R (Walter and Lehmann, 2010; Roberts and Roberts, 2020 for wide matrices). */
#include "linalg.h"

static void refuse(rl_vjp *g, const char *why) {
    PyErr_SetString(PyExc_RuntimeError, why);
    rl_vjp_fail(g);
}

/* dR R^T - Q^T dQ */
static V inner(rl_vjp *g, V q, V r) {
    V by_r = rl_vjp_has_grad(g, 1) ? OP(matmul, rl_vjp_grad(g, 1), TURN(r)) : NONE;
    if (!rl_vjp_has_grad(g, 0)) return by_r;
    V by_q = OP(matmul, TURN(q), G);
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
        V x = OP(matmul, q, OP(add, OP(triu, skew), TURN(OP(triu, skew, INT(1)))));
        if (rl_vjp_has_grad(g, 0)) x = OP(add, x, G);
        rl_vjp_pass(g, 0, TRIANGLE(TURN(r), x, false, false, false));
        return;
    }
    V x = OP(matmul, q, OP(tril, OP(sub, TURN(skew), skew)));
    x = TRIANGLE(TURN(rl_matrix_columns(g, r, 0, m)), x, false, false, false);
    x = JOIN(x, OP(zeros_like, rl_matrix_columns(g, r, m, n - m)), -1);
    if (rl_vjp_has_grad(g, 1)) x = OP(add, x, OP(matmul, q, rl_vjp_grad(g, 1)));
    rl_vjp_pass(g, 0, x);
}
