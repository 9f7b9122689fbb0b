/* Derivatives of order: each element goes where it stood. */
#include "vjp.h"

static void put_back(rl_vjp *g, int dim_arg, V where) {
    GRAD_OF(0, OP(scatter, rl_vjp_zeros(g, 0), INT(rl_vjp_int(g, dim_arg)), where, G));
}
VJP(sort) {
    put_back(g, 1, OUT(1));
}
VJP(sort_stable) {
    put_back(g, 2, OUT(1));
}
VJP(topk) {
    put_back(g, 2, OUT(1));
}

/* one element of each line was chosen */
static void put_back_one(rl_vjp *g, int dim_arg, V where) {
    V grad = G, dim = INT(rl_vjp_int(g, dim_arg));
    if (!rl_vjp_wants(g, 0)) return;
    if (!rl_vjp_int(g, dim_arg + 1) && rl_vjp_like(g, 0)->ndim)
        grad = OP(unsqueeze, grad, dim), where = OP(unsqueeze, where, dim);
    rl_vjp_pass(g, 0, OP(scatter, rl_vjp_zeros(g, 0), dim, where, grad));
}
VJP(kthvalue) {
    put_back_one(g, 2, OUT(1));
}
VJP(median_dim) {
    put_back_one(g, 1, OUT(1));
}
VJP(median) {
    GRAD_OF(0, rl_vjp_shared(g));
}
