/* Derivatives of products: https://docs.pytorch.org/docs/2.13/torch.html#blas-and-lapack-operations
 *
 *   C = A B      dA = dC B^T      dB = A^T dC        transposes are views: the kernels take any strides */
#include "vjp.h"

static V flipped(rl_vjp *g, V x) {
    return NDIM(x) == 2 ? OP(t, x) : OP(transpose, x, INT(-2), INT(-1));
}
/* all but the last dimension become one */
static V rows(rl_vjp *g, V x) {
    if (NDIM(x) == 2 || !NDIM(x)) return x;
    int64_t last = SIZE(x, -1), n = 1, size[2];
    for (int d = 0; d < NDIM(x) - 1; d++) n *= SIZE(x, d);
    size[0] = n, size[1] = last;
    return OP(reshape, x, INTS(size, 2));
}
static V column(rl_vjp *g, V x) {
    return OP(unsqueeze, x, INT(-1));
}

/* ---- two matrices, or batches of them ---- */
VJP(mm) {
    GRAD_OF(0, OP(mm, G, flipped(g, X(1))));
    GRAD_OF(1, OP(mm, flipped(g, X(0)), G));
}
VJP(bmm) {
    GRAD_OF(0, OP(bmm, G, flipped(g, X(1))));
    GRAD_OF(1, OP(bmm, flipped(g, X(0)), G));
}
VJP(addmm) { /* beta * input + alpha * mat1 @ mat2 */
    GRAD_OF(0, rl_vjp_scaled(g, G, X(3)));
    GRAD_OF(1, rl_vjp_scaled(g, OP(matmul, G, flipped(g, X(2))), X(4)));
    GRAD_OF(2, rl_vjp_scaled(g, OP(matmul, flipped(g, X(1)), G), X(4)));
}
VJP(addmv) { /* beta * input + alpha * mat @ vec */
    GRAD_OF(0, rl_vjp_scaled(g, G, X(3)));
    GRAD_OF(1, rl_vjp_scaled(g, OP(outer, G, X(2)), X(4)));
    GRAD_OF(2, rl_vjp_scaled(g, OP(mv, flipped(g, X(1)), G), X(4)));
}
VJP(addr) { /* beta * input + alpha * outer(vec1, vec2) */
    GRAD_OF(0, rl_vjp_scaled(g, G, X(3)));
    GRAD_OF(1, rl_vjp_scaled(g, OP(mv, G, X(2)), X(4)));
    GRAD_OF(2, rl_vjp_scaled(g, OP(mv, flipped(g, G), X(1)), X(4)));
}
VJP(dot) {
    GRAD_OF(0, OP(mul, G, X(1)));
    GRAD_OF(1, OP(mul, G, X(0)));
}
VJP(mv) {
    GRAD_OF(0, OP(outer, G, X(1)));
    GRAD_OF(1, OP(mv, flipped(g, X(0)), G));
}

/* ---- matmul: the engine sums what was stretched ---- */
/* by A, of which `like` tells the shape */
static V left_of(rl_vjp *g, int like, V b, V grad) {
    int m = rl_vjp_like(g, like)->ndim;
    int n = NDIM(b);
    if (n == 1) return OP(mul, m == 1 ? grad : column(g, grad), b);
    if (m > 1) return OP(matmul, grad, flipped(g, b));
    if (n == 2) return OP(mv, b, grad);
    return OP(squeeze_dim, OP(matmul, b, column(g, grad)), INT(-1));
}
static V right_of(rl_vjp *g, int like, V a, V grad) {
    int n = rl_vjp_like(g, like)->ndim;
    int m = NDIM(a);
    if (m == 1 && n == 1) return OP(mul, grad, a);
    if (m == 1) return OP(mul, column(g, a), n == 2 ? grad : OP(unsqueeze, grad, INT(-2)));
    if (n == 1)
        return OP(mv, flipped(g, rows(g, a)), m == 2 ? grad : OP(reshape, grad, INTS(&(int64_t){-1}, 1)));
    if (n == 2) return OP(mm, flipped(g, rows(g, a)), rows(g, grad));
    return OP(matmul, flipped(g, a), grad);
}
VJP(matmul) {
    GRAD_OF(0, left_of(g, 0, X(1), G));
    GRAD_OF(1, right_of(g, 1, X(0), G));
}

/* input @ weight^T + bias, so that the gradient of the weight needs no transposed copy */
VJP(linear) {
    bool vector = rl_vjp_wants(g, 1) ? rl_vjp_like(g, 1)->ndim == 1 : rl_vjp_wants(g, 0) && NDIM(X(1)) == 1;
    if (vector) {
        GRAD_OF(0, left_of(g, 0, X(1), G));
        GRAD_OF(1, right_of(g, 1, X(0), G));
    } else {
        GRAD_OF(0, OP(matmul, G, X(1)));
        GRAD_OF(1, NDIM(G) == 1 ? OP(outer, G, X(0)) : OP(mm, flipped(g, rows(g, G)), rows(g, X(0))));
    }
    GRAD_OF(2, G);
}
