/* Derivatives of reductions: a gradient gets its lost dimensions back as 1 and stretches over them. */
#include "vjp.h"
#include <math.h>

/* which dims an int[]? dim argument means; all when it is None or empty */
static uint64_t dims_of(rl_vjp *g, int arg, int ndim) {
    int64_t dims[RL_MAX_DIMS];
    uint64_t mask = 0;
    int n = rl_value_list(MAYBE(arg), dims, RL_MAX_DIMS);
    for (int i = 0; i < n; i++)
        mask |= (uint64_t)1 << ((dims[i] < 0 ? dims[i] + (ndim ? ndim : 1) : dims[i]) & 63);
    return n ? mask : ~(uint64_t)0;
}

rl_span rl_span_of(rl_vjp *g, int dim_arg, bool kept) {
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    rl_span s = {
        .mask = dim_arg < 0 ? ~(uint64_t)0 : dims_of(g, dim_arg, like->ndim), .count = 1, .kept = kept};
    for (int d = 0; d < like->ndim; d++) {
        if (!(s.mask >> d & 1)) continue;
        s.dims[s.n++] = d;
        s.count *= (double)like->shape[d];
    }
    return s;
}
V rl_span_restored(rl_vjp *g, const rl_span *s, V x) {
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    int64_t shape[RL_MAX_DIMS];
    if (s->kept || !like->ndim) return x;
    for (int d = 0; d < like->ndim; d++) shape[d] = s->mask >> d & 1 ? 1 : like->shape[d];
    return OP(reshape, x, INTS(shape, like->ndim));
}
static V stretched(rl_vjp *g, const rl_span *s, V x) {
    return OP(expand, rl_span_restored(g, s, x), rl_vjp_size(g, 0));
}
V rl_span_dims(const rl_span *s) {
    return INTS((int64_t *)s->dims, s->n);
}

/* ---- sums ---- */
VJP(sum) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, stretched(g, &s, G));
}
VJP(mean) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, OP(div, stretched(g, &s, G), NUM(s.count)));
}

VJP(nansum) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, OP(mul, stretched(g, &s, G), OP(logical_not, OP(isnan, X(0)))));
}
VJP(logsumexp) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V share = OP(exp, OP(sub, X(0), rl_span_restored(g, &s, OUT(0))));
    rl_vjp_pass(g, 0, OP(mul, rl_span_restored(g, &s, G), share));
}

/* ---- extremes: all that are equal to the result share ---- */
VJP(extreme) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V hit = OP(eq, rl_span_restored(g, &s, OUT(0)), X(0)),
      many = OP(sum, hit, rl_span_dims(&s), BOOLEAN(true));
    rl_vjp_pass(g, 0, OP(div, OP(mul, rl_span_restored(g, &s, G), hit), many));
}
/* each of the two as one alone: all that are equal to it share */
static V shared(rl_vjp *g, const rl_span *s, int result) {
    V hit = OP(eq, rl_span_restored(g, s, OUT(result)), X(0));
    V share =
        OP(div, rl_span_restored(g, s, rl_vjp_grad(g, result)), OP(sum, hit, rl_span_dims(s), BOOLEAN(true)));
    return OP(mul, share, hit);
}
VJP(aminmax) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V least = rl_vjp_has_grad(g, 0) ? shared(g, &s, 0) : NONE;
    V most = rl_vjp_has_grad(g, 1) ? shared(g, &s, 1) : NONE;
    rl_vjp_pass(g, 0, least.tag == RL_NONE ? most : most.tag == RL_NONE ? least : OP(add, least, most));
}
VJP(extreme_all) {
    GRAD_OF(0, rl_vjp_shared(g));
}
VJP(extreme_dim) { /* the first result's gradient goes where the indices say */
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    if (!like->ndim) {
        rl_vjp_pass(g, 0, G);
        return;
    }
    int64_t shape[RL_MAX_DIMS];
    for (int d = 0; d < like->ndim; d++) shape[d] = d == s.dims[0] ? like->shape[d] : 1;
    V places = OP(reshape, OP(arange, INT(0), INT(like->shape[s.dims[0]]), INT(1)), INTS(shape, like->ndim));
    V hit = OP(eq, places, rl_span_restored(g, &s, OUT(1)));
    rl_vjp_pass(g, 0, OP(where, hit, rl_span_restored(g, &s, G), INT(0)));
}

/* ---- products ---- */
/* the product of the others along dim, without a division: products from both sides */
static V others(rl_vjp *g, V x, int64_t dim, int64_t size) {
    if (size == 1) return OP(ones_like, x);
    V dims = INTS(&dim, 1), first = OP(narrow, x, INT(dim), INT(0), INT(1)), one = OP(ones_like, first);
    V before = OP(narrow, x, INT(dim), INT(0), INT(size - 1));
    V after = OP(flip, OP(narrow, x, INT(dim), INT(1), INT(size - 1)), dims);
    V left = OP(cumprod, JOIN(one, before, dim), INT(dim));
    return OP(mul, left, OP(flip, OP(cumprod, JOIN(one, after, dim), INT(dim)), dims));
}
VJP(prod) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_tensor_meta *like = rl_vjp_like(g, 0);
    V x = X(0);
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    if (!like->ndim) {
        rl_vjp_pass(g, 0, G);
    } else if (!rl_vjp_any(g, OP(eq, x, INT(0)))) { /* else result / x does not answer */
        rl_vjp_pass(g, 0, OP(mul, rl_span_restored(g, &s, G), OP(div, rl_span_restored(g, &s, OUT(0)), x)));
    } else if (!GIVEN(1)) {
        int64_t size = (int64_t)s.count;
        V rest = others(g, OP(reshape, x, INTS(&size, 1)), 0, size);
        rl_vjp_pass(g, 0, OP(mul, G, OP(reshape, rest, rl_vjp_size(g, 0))));
    } else {
        V rest = others(g, x, s.dims[0], like->shape[s.dims[0]]);
        rl_vjp_pass(g, 0, OP(mul, rl_span_restored(g, &s, G), rest));
    }
}

/* ---- segments ---- */
VJP(segment_reduce) {
    GRAD_OF(0, OP(segment_reduce_backward, OP(contiguous, G), OUT(0), X(0), X(1), MAYBE(2), MAYBE(4), X(5),
                  MAYBE(7)));
}

/* ---- variances and standard deviations ---- */
/* 2 / (n - correction) * grad * (x - mean); infinite or NaN when nothing is left to divide by */
static V spread(rl_vjp *g, const rl_span *s, V grad, double correction) {
    V x = X(0), gap = OP(sub, x, OP(mean, x, rl_span_dims(s), BOOLEAN(true)));
    double left = s->count - correction;
    grad = rl_span_restored(g, s, grad);
    if (left > 0 || s->n < rl_vjp_like(g, 0)->ndim) return OP(mul, OP(mul, grad, NUM(2 / left)), gap);
    return OP(mul, grad, OP(where, OP(eq, gap, INT(0)), NUM(NAN), NUM(INFINITY)));
}
/* the gradient of the variance whose root the result is; 0 where that is 0 */
static V rooted(rl_vjp *g) {
    V root = OUT(0);
    return OP(masked_fill, OP(div, G, OP(mul, root, INT(2))), OP(eq, root, INT(0)), INT(0));
}
static V averaged(rl_vjp *g, const rl_span *s) {
    V whole = OP(expand, rl_span_restored(g, s, rl_vjp_grad(g, 1)), rl_vjp_size(g, 0));
    return OP(div, whole, NUM(s->count));
}

/* What the overloads say: (dim, *, correction, keepdim), (unbiased), (dim, unbiased, keepdim). */
typedef struct {
    rl_span s;
    double correction;
} variance;
static variance by_correction(rl_vjp *g) {
    return (variance){rl_span_of(g, 1, rl_vjp_int(g, 3)), GIVEN(2) ? rl_vjp_num(g, 2) : 1};
}
static variance unbiased(rl_vjp *g) {
    return (variance){rl_span_of(g, -1, false), rl_vjp_num(g, 1)};
}
static variance unbiased_dim(rl_vjp *g) {
    return (variance){rl_span_of(g, 1, rl_vjp_int(g, 3)), rl_vjp_num(g, 2)};
}

static void var_alone(rl_vjp *g, variance v) {
    rl_vjp_pass(g, 0, spread(g, &v.s, G, v.correction));
}
static void std_alone(rl_vjp *g, variance v) {
    rl_vjp_pass(g, 0, spread(g, &v.s, rooted(g), v.correction));
}
static void with_mean(rl_vjp *g, const variance *v, bool root) {
    V first = NONE, second = NONE;
    if (rl_vjp_has_grad(g, 0)) first = spread(g, &v->s, root ? rooted(g) : G, v->correction);
    if (rl_vjp_has_grad(g, 1)) second = averaged(g, &v->s);
    rl_vjp_pass(g, 0, first.tag == RL_NONE ? second : second.tag == RL_NONE ? first : OP(add, first, second));
}
static void var_and_mean(rl_vjp *g, variance v) {
    with_mean(g, &v, false);
}
static void std_and_mean(rl_vjp *g, variance v) {
    with_mean(g, &v, true);
}
#define OVERLOADS(name, pass)                                                                                \
    VJP(name) {                                                                                              \
        if (rl_vjp_wants(g, 0)) pass(g, by_correction(g));                                                   \
    }                                                                                                        \
    VJP(name##_unbiased) {                                                                                   \
        if (rl_vjp_wants(g, 0)) pass(g, unbiased(g));                                                        \
    }                                                                                                        \
    VJP(name##_unbiased_dim) {                                                                               \
        if (rl_vjp_wants(g, 0)) pass(g, unbiased_dim(g));                                                    \
    }
OVERLOADS(var, var_alone)
OVERLOADS(std, std_alone)
OVERLOADS(var_mean, var_and_mean)
OVERLOADS(std_mean, std_and_mean)

/* ---- running sums and products ---- */
/* the size along dim (wrapped); 1 for a number */
static int64_t dim_size(const rl_vjp *g, int64_t *dim) {
    const rl_tensor_meta *out = &g->node->meta[0];
    *dim = rl_dim_wrapped(*dim, out->ndim);
    return out->ndim ? out->shape[*dim] : 1;
}

VJP(cumsum) { /* an element counts in all sums from its own on */
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
VJP(cumprod) {
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

/* dx_k = exp(x_k) * (sum over i >= k of g_i exp(-y_i)): once for the gradients above 0, once for those below
 * it. What is left out has the lowest logarithm, not -inf, which would become NaN in second derivatives. */
static V later_powers(rl_vjp *g, V size, V dims, int64_t dim) {
    V counts = OP(gt, size, INT(0)), logs = OP(log, OP(where, counts, size, INT(1)));
    double least = -rl_largest(g->node->meta[0].dtype);
    logs = OP(sub, OP(where, counts, logs, NUM(least)), OUT(0));
    V later = OP(flip, OP(logcumsumexp, OP(flip, logs, dims), INT(dim)), dims);
    return OP(exp, OP(add, later, X(0)));
}
VJP(logcumsumexp) {
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1) {
        rl_vjp_pass(g, 0, G);
        return;
    }
    V dims = INTS(&dim, 1), above = later_powers(g, G, dims, dim);
    rl_vjp_pass(g, 0, OP(sub, above, later_powers(g, OP(neg, G), dims, dim)));
}

VJP(cumextreme) { /* to where each result stands */
    int64_t dim = rl_vjp_int(g, 1);
    if (!rl_vjp_wants(g, 0)) return;
    if (dim_size(g, &dim) <= 1)
        rl_vjp_pass(g, 0, G);
    else
        rl_vjp_pass(g, 0, OP(scatter_add, rl_vjp_zeros(g, 0), INT(dim), OUT(1), G));
}
