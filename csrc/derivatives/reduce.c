/* Derivatives of reductions: a gradient gets its lost dimensions back as 1 and stretches over them. */
#include "reduce.h"
#include "common.h"
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
    const rl_meta *like = rl_vjp_like(g, 0);
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
    const rl_meta *like = rl_vjp_like(g, 0);
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
FORMULA(sum) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, stretched(g, &s, G));
}
FORMULA(mean) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, OP(div, stretched(g, &s, G), NUM(s.count)));
}

FORMULA(nansum) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    rl_vjp_pass(g, 0, OP(mul, stretched(g, &s, G), OP(logical_not, OP(isnan, X(0)))));
}
FORMULA(logsumexp) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V share = OP(exp, OP(sub, X(0), rl_span_restored(g, &s, OUT(0))));
    rl_vjp_pass(g, 0, OP(mul, rl_span_restored(g, &s, G), share));
}

/* ---- extremes: all that are equal to the result share ---- */
FORMULA(extreme) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V hit = OP(eq, rl_span_restored(g, &s, OUT(0)), X(0)), many = OP(sum, hit, rl_span_dims(&s), TRUTH(true));
    rl_vjp_pass(g, 0, OP(div, OP(mul, rl_span_restored(g, &s, G), hit), many));
}
/* each of the two as one alone: all that are equal to it share */
static V shared(rl_vjp *g, const rl_span *s, int result) {
    V hit = OP(eq, rl_span_restored(g, s, OUT(result)), X(0));
    V share =
        OP(div, rl_span_restored(g, s, rl_vjp_grad(g, result)), OP(sum, hit, rl_span_dims(s), TRUTH(true)));
    return OP(mul, share, hit);
}
FORMULA(aminmax) {
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    V least = rl_vjp_has_grad(g, 0) ? shared(g, &s, 0) : NONE;
    V most = rl_vjp_has_grad(g, 1) ? shared(g, &s, 1) : NONE;
    rl_vjp_pass(g, 0, least.tag == RL_NONE ? most : most.tag == RL_NONE ? least : OP(add, least, most));
}
FORMULA(extreme_all) {
    TO(0, rl_vjp_shared(g));
}
FORMULA(extreme_dim) { /* the first result's gradient goes where the indices say */
    if (!rl_vjp_wants(g, 0)) return;
    rl_span s = rl_span_of(g, 1, rl_vjp_int(g, 2));
    const rl_meta *like = rl_vjp_like(g, 0);
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
FORMULA(prod) {
    if (!rl_vjp_wants(g, 0)) return;
    const rl_meta *like = rl_vjp_like(g, 0);
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
FORMULA(segment_reduce) {
    TO(0, OP(segment_reduce_backward, OP(contiguous, G), OUT(0), X(0), X(1), MAYBE(2), MAYBE(4), X(5),
             MAYBE(7)));
}
