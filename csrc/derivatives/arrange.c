/* Derivatives of what moves elements to other places: gradients move back. */
#include "autograd/autograd.h"

static int64_t wrapped(int64_t d, int n) {
    return d < 0 ? d + n : d;
}

/* ---- there and back ---- */
FORMULA(tril) {
    TO(0, OP(tril, G, X(1)));
}
FORMULA(triu) {
    TO(0, OP(triu, G, X(1)));
}
FORMULA(flip) {
    TO(0, OP(flip, G, X(1)));
}
FORMULA(roll) {
    if (!rl_back_wants(g, 0)) return;
    int64_t back[RL_MAX_DIMS];
    int n = rl_value_list(X(1), back, RL_MAX_DIMS);
    for (int i = 0; i < n; i++) back[i] = back[i] == INT64_MIN ? 0 : -back[i]; /* refused going forward */
    rl_back_pass(g, 0, OP(roll, G, INTS(back, n), MAYBE(2)));
}
FORMULA(pixel_shuffle) {
    TO(0, OP(pixel_unshuffle, G, X(1)));
}
FORMULA(pixel_unshuffle) {
    TO(0, OP(pixel_shuffle, G, X(1)));
}

/* Each dimension falls into (copies, size); the copies are added. */
FORMULA(repeat) {
    if (!rl_back_wants(g, 0)) return;
    const rl_meta *in = rl_back_like(g, 0), *out = &g->node->meta[0];
    int64_t shape[2 * RL_MAX_DIMS], copies[RL_MAX_DIMS], times[RL_MAX_DIMS];
    int given = rl_value_list(X(1), times, RL_MAX_DIMS), lead = out->ndim - in->ndim, n = 0, n_copies = 0;
    for (int d = 0; d < out->ndim; d++) {
        int i = d - (out->ndim - given);
        int64_t often = i < 0 ? 1 : times[i];
        if (often != 1) {
            copies[n_copies++] = n;
            shape[n++] = often;
        }
        if (d >= lead) shape[n++] = in->shape[d - lead];
    }
    V grad = OP(reshape, G, INTS(shape, n));
    rl_back_pass(g, 0, n_copies ? OP(sum, grad, INTS(copies, n_copies)) : grad);
}

/* ---- order: each element goes where it stood ---- */
static void put_back(rl_back *g, int dim_arg, V where) {
    TO(0, OP(scatter, rl_back_zeros(g, 0), INT(rl_back_int(g, dim_arg)), where, G));
}
FORMULA(sort) {
    put_back(g, 1, OUT(1));
}
FORMULA(sort_stable) {
    put_back(g, 2, OUT(1));
}
FORMULA(topk) {
    put_back(g, 2, OUT(1));
}

/* ---- running sums and products ---- */
/* the size along dim (wrapped); 1 for a number */
static int64_t dim_size(const rl_back *g, int64_t *dim) {
    const rl_meta *out = &g->node->meta[0];
    *dim = wrapped(*dim, out->ndim);
    return out->ndim ? out->shape[*dim] : 1;
}

FORMULA(cumsum) { /* an element counts in all sums from its own on */
    int64_t dim = rl_back_int(g, 1);
    if (!rl_back_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1) {
        rl_back_pass(g, 0, G);
        return;
    }
    V dims = INTS(&dim, 1);
    rl_back_pass(g, 0, OP(flip, OP(cumsum, OP(flip, G, dims), INT(dim)), dims));
}

/* Note [Products without a division]
 * dx_k = x_0 .. x_(k-1) * S_k,  S_k = g_k + x_(k+1) g_(k+1) + x_(k+1) x_(k+2) g_(k+2) + ...
 * S grows by doubling: the first s terms are those of k and, times F_k = x_(k+1) .. x_(k+s), those of k + s.
 * Zeros need no case of their own. */
static V later_terms(rl_back *g, V x, int64_t dim, int64_t size) {
    V sum = G, factor = OP(narrow, x, INT(dim), INT(1), INT(size - 1));
    for (int64_t s = 1; s < size && !g->failed; s *= 2) {
        int64_t left = size - s, next = left - s;
        V more = OP(mul, factor, OP(narrow, sum, INT(dim), INT(s), INT(left)));
        V grown = OP(add, OP(narrow, sum, INT(dim), INT(0), INT(left)), more);
        sum = rl_back_join(g, grown, OP(narrow, sum, INT(dim), INT(left), INT(s)), dim);
        if (next <= 0) break;
        V near = OP(narrow, factor, INT(dim), INT(0), INT(next));
        factor = OP(mul, near, OP(narrow, factor, INT(dim), INT(s), INT(next)));
    }
    return sum;
}
FORMULA(cumprod) {
    int64_t dim = rl_back_int(g, 1);
    if (!rl_back_wants(g, 0)) return;
    int64_t size = dim_size(g, &dim);
    if (size <= 1) {
        rl_back_pass(g, 0, G);
        return;
    }
    V before = OP(narrow, OUT(0), INT(dim), INT(0), INT(size - 1));
    V one = OP(ones_like, OP(narrow, OUT(0), INT(dim), INT(0), INT(1)));
    rl_back_pass(g, 0, OP(mul, rl_back_join(g, one, before, dim), later_terms(g, X(0), dim, size)));
}
