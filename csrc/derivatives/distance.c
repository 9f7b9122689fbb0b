/* Derivatives of distances between rows. */
#include "vjp.h"
#include <math.h>

static V turned(rl_vjp *g, V x) {
    return OP(transpose, x, INT(-2), INT(-1));
}

VJP(cdist) {
    GRAD_OF(0, OP(_cdist_backward, G, X(0), X(1), X(2), OUT(0)));
    GRAD_OF(1, OP(_cdist_backward, turned(g, G), X(1), X(0), X(2), turned(g, OUT(0))));
}

/* ---- the gradient's own derivatives, which PyTorch refuses ----
 * It is the sum of weight * slope over distances, slope = sign(gap) |gap|^(p - 1), weight = grad d^(1 - p);
 * of order infinity 1 where |gap| is d. */
typedef struct {
    V grad, distance, gap, toward; /* toward: what comes back, as gap it has the columns last */
    double p;
} bend;

/* x where the distance is not 0 */
static V apart(rl_vjp *g, const bend *s, V x) {
    return OP(masked_fill, x, OP(eq, s->distance, INT(0)), INT(0));
}
static V slope(rl_vjp *g, const bend *s) {
    V sign = OP(sign, s->gap), size = OP(abs, s->gap);
    if (s->p == 0) return OP(zeros_like, s->gap);
    if (isinf(s->p)) return OP(mul, sign, OP(eq, size, OP(unsqueeze, s->distance, INT(-1))));
    V steep = OP(mul, sign, OP(pow, size, NUM(s->p - 1)));
    return OP(masked_fill, steep, OP(eq, s->gap, INT(0)), INT(0));
}
static V scale(rl_vjp *g, const bend *s) {
    if (s->p == 0 || s->p == 1 || isinf(s->p)) return OP(ones_like, s->distance);
    return apart(g, s, OP(pow, s->distance, NUM(1 - s->p)));
}
/* of all columns, for each distance */
static V along(rl_vjp *g, const bend *s) {
    return OP(sum, OP(mul, s->toward, slope(g, s)), INT(-1));
}
static V bend_grad(rl_vjp *g, const bend *s) {
    return OP(mul, along(g, s), scale(g, s));
}
static V bend_distance(rl_vjp *g, const bend *s) {
    if (s->p == 0 || s->p == 1 || isinf(s->p)) return OP(zeros_like, s->distance);
    V part = apart(g, s, OP(pow, s->distance, NUM(-s->p)));
    return TIMES(OP(mul, OP(mul, part, s->grad), along(g, s)), 1 - s->p);
}
static V bend_gap(rl_vjp *g, const bend *s) {
    if (s->p == 0 || s->p == 1 || isinf(s->p)) return OP(zeros_like, s->gap);
    V round = OP(pow, OP(abs, s->gap), NUM(s->p - 2));
    round = OP(masked_fill, round, OP(eq, s->gap, INT(0)), INT(s->p == 2));
    V weight = OP(unsqueeze, OP(mul, s->grad, scale(g, s)), INT(-1));
    return TIMES(OP(mul, OP(mul, s->toward, round), weight), s->p - 1);
}

VJP(cdist_backward) { /* grad, x1, x2, p, cdist */
    const bend s = {.grad = X(0),
                    .distance = X(4),
                    .gap = OP(sub, OP(unsqueeze, X(1), INT(-2)), OP(unsqueeze, X(2), INT(-3))),
                    .toward = OP(unsqueeze, G, INT(-2)),
                    .p = rl_vjp_num(g, 3)};
    GRAD_OF(0, bend_grad(g, &s));
    GRAD_OF(1, OP(sum, bend_gap(g, &s), INT(-2)));
    GRAD_OF(2, OP(neg, OP(sum, bend_gap(g, &s), INT(-3))));
    GRAD_OF(4, bend_distance(g, &s));
}

VJP(pdist_backward) { /* grad, input, p, pdist */
    V x = X(1), n = INT(SIZE(x, 0)), pairs = OP(triu_indices, n, n, INT(1));
    V first = OP(select, pairs, INT(0), INT(0)), second = OP(select, pairs, INT(0), INT(1));
    const bend s = {.grad = X(0),
                    .distance = X(3),
                    .gap = OP(sub, OP(index_select, x, INT(0), first), OP(index_select, x, INT(0), second)),
                    .toward =
                        OP(sub, OP(index_select, G, INT(0), first), OP(index_select, G, INT(0), second)),
                    .p = rl_vjp_num(g, 2)};
    GRAD_OF(0, bend_grad(g, &s));
    if (rl_vjp_wants(g, 1)) {
        V part = bend_gap(g, &s), sum = OP(index_add, OP(zeros_like, x), INT(0), first, part);
        rl_vjp_pass(g, 1, OP(index_add, sum, INT(0), second, OP(neg, part)));
    }
    GRAD_OF(3, bend_distance(g, &s));
}

VJP(pdist) {
    GRAD_OF(0, OP(_pdist_backward, G, X(0), X(1), OUT(0)));
}

/* d = |a - b|     da = sum (a - b) * grad / d, and nothing comes from where d is 0 */
static V ratio(rl_vjp *g) {
    return OP(masked_fill, OP(div, G, OUT(0)), OP(eq, OUT(0), INT(0)), INT(0));
}
static V side(rl_vjp *g, V ratio, V own, V other) {
    return OP(sub, OP(mul, own, OP(sum, ratio, INT(-1), BOOLEAN(true))), OP(matmul, ratio, other));
}
VJP(euclidean_dist) {
    V r = ratio(g);
    GRAD_OF(0, side(g, r, X(0), X(1)));
    GRAD_OF(1, side(g, turned(g, r), X(1), X(0)));
}
