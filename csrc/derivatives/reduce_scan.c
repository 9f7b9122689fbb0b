/* Derivatives of running sums and products. */
#include "common.h"
#include <float.h>

/* the size along dim (wrapped); 1 for a number */
static int64_t dim_size(const rl_vjp *g, int64_t *dim) {
    const rl_meta *out = &g->node->meta[0];
    *dim = rl_dim_wrapped(*dim, out->ndim);
    return out->ndim ? out->shape[*dim] : 1;
}

FORMULA(cumsum) { /* an element counts in all sums from its own on */
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1) {
        rl_vjp_pass(g, 0, G);
        return;
    }
    V dims = INTS(&dim, 1);
    rl_vjp_pass(g, 0, OP(flip, OP(cumsum, OP(flip, G, dims), INT(dim)), dims));
}

/* Note [Products without a division]
 * dx_k = x_0 .. x_(k-1) * S_k,  S_k = g_k + x_(k+1) g_(k+1) + x_(k+1) x_(k+2) g_(k+2) + ...
 * S grows by doubling: the first s terms are those of k and, times F_k = x_(k+1) .. x_(k+s), those of k + s.
 * Zeros need no case of their own. */
static V later_terms(rl_vjp *g, V x, int64_t dim, int64_t size) {
    V sum = G, factor = OP(narrow, x, INT(dim), INT(1), INT(size - 1));
    for (int64_t s = 1; s < size && !FAILED; s *= 2) {
        int64_t left = size - s, next = left - s;
        V more = OP(mul, factor, OP(narrow, sum, INT(dim), INT(s), INT(left)));
        V grown = OP(add, OP(narrow, sum, INT(dim), INT(0), INT(left)), more);
        sum = JOIN(grown, OP(narrow, sum, INT(dim), INT(left), INT(s)), dim);
        if (next <= 0) break;
        V near = OP(narrow, factor, INT(dim), INT(0), INT(next));
        factor = OP(mul, near, OP(narrow, factor, INT(dim), INT(s), INT(next)));
    }
    return sum;
}
FORMULA(cumprod) {
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    int64_t size = dim_size(g, &dim);
    if (size <= 1) {
        rl_vjp_pass(g, 0, G);
        return;
    }
    V before = OP(narrow, OUT(0), INT(dim), INT(0), INT(size - 1));
    V one = OP(ones_like, OP(narrow, OUT(0), INT(dim), INT(0), INT(1)));
    rl_vjp_pass(g, 0, OP(mul, JOIN(one, before, dim), later_terms(g, X(0), dim, size)));
}

static double lowest(int dtype) {
    return dtype == RL_F16 ? -65504 : dtype == RL_BF16 ? -0x1.fep127 : dtype == RL_F32 ? -FLT_MAX : -DBL_MAX;
}

/* dx_k = exp(x_k) * (sum over i >= k of g_i exp(-y_i)): once for the gradients above 0, once for those below
 * it. What is left out has the lowest logarithm, not -inf, which would become NaN in second derivatives. */
static V later_powers(rl_vjp *g, V size, V dims, int64_t dim) {
    V counts = OP(gt, size, INT(0)), logs = OP(log, OP(where, counts, size, INT(1)));
    double least = lowest(g->node->meta[0].dtype);
    logs = OP(sub, OP(where, counts, logs, NUM(least)), OUT(0));
    V later = OP(flip, OP(logcumsumexp, OP(flip, logs, dims), INT(dim)), dims);
    return OP(exp, OP(add, later, X(0)));
}
FORMULA(logcumsumexp) {
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1) {
        rl_vjp_pass(g, 0, G);
        return;
    }
    V dims = INTS(&dim, 1), above = later_powers(g, G, dims, dim);
    rl_vjp_pass(g, 0, OP(sub, above, later_powers(g, OP(neg, G), dims, dim)));
}

FORMULA(cumextreme) { /* to where each result stands */
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1)
        rl_vjp_pass(g, 0, G);
    else
        rl_vjp_pass(g, 0, OP(scatter_add, rl_vjp_zeros(g, 0), INT(dim), OUT(1), G));
}
