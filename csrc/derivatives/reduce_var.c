/* Derivatives of variances and standard deviations. */
#include "reduce.h"
#include <math.h>

/* 2 / (n - correction) * grad * (x - mean); infinite or NaN when nothing is left to divide by */
static V spread(rl_vjp *g, const rl_span *s, V grad, double correction) {
    V x = X(0), gap = OP(sub, x, OP(mean, x, rl_span_dims(s), TRUTH(true)));
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
    FORMULA(name) {                                                                                          \
        if (rl_vjp_wants(g, 0)) pass(g, by_correction(g));                                                   \
    }                                                                                                        \
    FORMULA(name##_unbiased) {                                                                               \
        if (rl_vjp_wants(g, 0)) pass(g, unbiased(g));                                                        \
    }                                                                                                        \
    FORMULA(name##_unbiased_dim) {                                                                           \
        if (rl_vjp_wants(g, 0)) pass(g, unbiased_dim(g));                                                    \
    }
OVERLOADS(var, var_alone)
OVERLOADS(std, std_alone)
OVERLOADS(var_mean, var_and_mean)
OVERLOADS(std_mean, std_and_mean)
