/* Derivatives of normalisations; those of their gradient operators are written out here. */
#include "vjp.h"
#include <float.h>

/* Of a norm's gradient operator: the gradients by input, weight and bias, each where it is wanted. */
static void pass_norm(rl_vjp *g, const V made[3], int weight, int bias) {
    GRAD_OF(0, made[0]);
    GRAD_OF(weight, made[1]);
    if (bias >= 0) GRAD_OF(bias, made[2]);
}

/* ---- forward operators ---- */
VJP(batch_norm) { /* (input, weight, bias, running_mean, running_var, training, momentum, eps) */
    V made[3];
    OPS(made, 3, native_batch_norm_backward, G, X(0), MAYBE(1), MAYBE(3), MAYBE(4), OUT(1), OUT(2), X(5),
        X(7));
    pass_norm(g, made, 1, 2);
}
VJP(layer_norm) { /* (input, normalized_shape, weight, bias, eps) */
    V made[3];
    OPS(made, 3, native_layer_norm_backward, G, X(0), X(1), OUT(1), OUT(2), MAYBE(2), X(4));
    pass_norm(g, made, 2, 3);
}
VJP(group_norm) { /* (input, num_groups, weight, bias, eps) */
    V made[3];
    OPS(made, 3, native_group_norm_backward, G, X(0), OUT(1), OUT(2), MAYBE(2), X(1), X(4));
    pass_norm(g, made, 2, 3);
}
/* of the statistics themselves, by the input: (by mean - by r * r^3 (x - mean)) / n */
static V statistics_back(rl_vjp *g) {
    const rl_tensor_meta *m = &g->node->meta[1];
    int64_t some[3] = {m->shape[0], m->shape[1], 1}, all[3] = {some[0], some[1], -1};
    V one = INTS(some, 3), x = OP(reshape, X(0), INTS(all, 3)), r = OP(reshape, OUT(2), one);
    V off = OP(sub, x, OP(reshape, OUT(1), one)), slope = OP(mul, OP(mul, OP(mul, r, r), r), off);
    V by_r = OP(reshape, rl_vjp_grad(g, 2), one), by_mean = OP(reshape, rl_vjp_grad(g, 1), one);
    if (FAILED) return NONE;
    double n = (double)rl_vjp_int(g, 4) / (double)rl_vjp_int(g, 6) * (double)rl_vjp_int(g, 5);
    return OP(reshape, OP(div, OP(sub, by_mean, OP(mul, by_r, slope)), NUM(n)), rl_vjp_size(g, 0));
}
VJP(native_group_norm) { /* (input, weight, bias, N, C, HxW, group, eps) */
    V made[3];
    OPS(made, 3, native_group_norm_backward, G, X(0), OUT(1), OUT(2), MAYBE(1), X(6), X(7));
    V x = X(0);
    bool more = NUMEL(x) && (rl_vjp_has_grad(g, 1) || rl_vjp_has_grad(g, 2));
    if (more && rl_vjp_wants(g, 0)) made[0] = OP(add, made[0], statistics_back(g));
    pass_norm(g, made, 1, 2);
}
VJP(instance_norm) { /* as batch_norm; statistics of the input are those of groups of one channel */
    V made[3], x = X(0), no = NONE;
    if (rl_vjp_int(g, 5))
        OPS(made, 3, native_group_norm_backward, G, x, no, no, MAYBE(1), INT(SIZE(x, 1)), X(7));
    else
        OPS(made, 3, native_batch_norm_backward, G, x, MAYBE(1), MAYBE(3), MAYBE(4), no, no, BOOLEAN(false),
            X(7));
    pass_norm(g, made, 1, 2);
}
VJP(rms_norm) { /* (input, normalized_shape, weight, eps) */
    V made[3] = {0};
    OPS(made, 2, rms_norm_backward, G, X(0), X(1), MAYBE(2), MAYBE(3));
    pass_norm(g, made, 2, -1);
}

/* Note [Derivatives of normalisations]
 * The input is seen as (samples, groups, channels of a group, elements); m() is the mean over what shares
 * statistics, s() the sum over samples and elements. With h = r (x - m(x)), r = 1 / sqrt(m((x - m(x))^2) +
 * eps), u = grad * weight and P(v) = v - m(v) - h m(v h) the gradient operator answers r P(u) s(grad h)
 * s(grad) P is symmetric, dr = -r^2 h / n, and dh = r P. So gradients a, b and c of the three answers give by
 * grad weight r P(a) + b h + c by weight  s(grad r P(a)) by input   r P(b grad - r (a m(u h) + u m(a h))) -
 * r^2 h (m(a u) - m(a) m(u) - m(a h) m(u h)) rms_norm is without m(v), as its h is r x; with statistics that
 * are given, P(v) = v and r is fixed. */
typedef struct {
    rl_vjp *g;
    int64_t size[4];
    int64_t over[2]; /* dims of m() */
    bool around_zero, frozen;
    V x, grad, weight, h, r; /* weight: RL_NONE for 1 */
    V a, b, c;               /* RL_NONE for 0 */
} norm_back;

static V shaped(const norm_back *n, V x) {
    rl_vjp *g = n->g;
    return x.tag == RL_NONE ? x : OP(reshape, x, INTS((int64_t *)n->size, 4));
}
static V by_channel(const norm_back *n, V x) {
    rl_vjp *g = n->g;
    int64_t size[4] = {1, n->size[1], n->size[2], 1};
    return x.tag == RL_NONE ? x : OP(reshape, x, INTS(size, 4));
}
static V mean(const norm_back *n, V x) {
    rl_vjp *g = n->g;
    return OP(mean, x, INTS((int64_t *)n->over, 2), BOOLEAN(true));
}
static V times(rl_vjp *g, V a, V b) { /* RL_NONE: 0 */
    return a.tag == RL_NONE || b.tag == RL_NONE ? NONE : OP(mul, a, b);
}
static V plus(rl_vjp *g, V a, V b) {
    return a.tag == RL_NONE ? b : b.tag == RL_NONE ? a : OP(add, a, b);
}
static V minus(rl_vjp *g, V a, V b) {
    return b.tag == RL_NONE ? a : a.tag == RL_NONE ? OP(neg, b) : OP(sub, a, b);
}
static V project(const norm_back *n, V v) {
    rl_vjp *g = n->g;
    if (n->frozen || v.tag == RL_NONE) return v;
    V along = OP(mul, n->h, mean(n, OP(mul, v, n->h)));
    return OP(sub, n->around_zero ? v : OP(sub, v, mean(n, v)), along);
}

static V by_input(const norm_back *n) {
    rl_vjp *g = n->g;
    V inner = times(g, n->b, n->grad);
    if (n->frozen) return times(g, n->r, inner);
    if (n->a.tag == RL_NONE) return times(g, n->r, project(n, inner));
    V u = n->weight.tag == RL_NONE ? n->grad : OP(mul, n->grad, n->weight);
    V ah = mean(n, OP(mul, n->a, n->h)), uh = mean(n, OP(mul, u, n->h));
    V mixed = OP(mul, n->r, OP(add, OP(mul, n->a, uh), OP(mul, u, ah)));
    V q = OP(sub, mean(n, OP(mul, n->a, u)), OP(mul, ah, uh));
    if (!n->around_zero) q = OP(sub, q, OP(mul, mean(n, n->a), mean(n, u)));
    V direct = OP(mul, n->r, project(n, minus(g, inner, mixed)));
    return OP(sub, direct, OP(mul, OP(mul, OP(mul, n->r, n->r), n->h), q));
}

/* arguments: grad 0, input 1, weight `weight` */
static void norm_pass(norm_back *n, int weight) {
    rl_vjp *g = n->g;
    static const int64_t sums[2] = {0, 3};
    V rpa = times(g, n->r, project(n, n->a));
    if (rl_vjp_wants(g, 0)) {
        V made = n->weight.tag == RL_NONE ? rpa : times(g, n->weight, rpa);
        made = plus(g, plus(g, made, times(g, n->b, n->h)), n->c);
        if (made.tag != RL_NONE) {
            int64_t *size = n->size;
            rl_vjp_pass(g, 0, OP(reshape, OP(expand, made, INTS(size, 4)), rl_vjp_size(g, 0)));
        }
    }
    if (rl_vjp_wants(g, 1)) {
        V made = by_input(n);
        if (made.tag != RL_NONE) rl_vjp_pass(g, 1, OP(reshape, made, rl_vjp_size(g, 1)));
    }
    if (rl_vjp_wants(g, weight) && rpa.tag != RL_NONE) {
        V made = OP(sum, OP(mul, n->grad, rpa), INTS((int64_t *)sums, 2));
        rl_vjp_pass(g, weight, OP(reshape, made, rl_vjp_size(g, weight)));
    }
}

/* the gradients that came, and what the operator was given; n->size and n->over are set */
static void norm_begin(norm_back *n, int weight, int bias) {
    rl_vjp *g = n->g;
    n->grad = shaped(n, X(0)), n->x = shaped(n, X(1)), n->weight = by_channel(n, MAYBE(weight));
    n->a = rl_vjp_has_grad(g, 0) ? shaped(n, rl_vjp_grad(g, 0)) : NONE;
    n->b = rl_vjp_has_grad(g, 1) ? by_channel(n, rl_vjp_grad(g, 1)) : NONE;
    n->c = bias && rl_vjp_has_grad(g, 2) ? by_channel(n, rl_vjp_grad(g, 2)) : NONE;
}
static void norm_statistics(norm_back *n, double eps) {
    rl_vjp *g = n->g;
    V off = n->around_zero ? n->x : OP(sub, n->x, mean(n, n->x));
    n->r = OP(rsqrt, PLUS(mean(n, OP(mul, off, off)), eps));
    n->h = OP(mul, off, n->r);
}

static int64_t dims_product(const int64_t *dims, int n) {
    int64_t product = 1;
    for (int i = 0; i < n; i++) product *= dims[i];
    return product;
}
/* (N, C, ...) with channels in groups */
static norm_back in_groups(rl_vjp *g, int64_t groups) {
    const rl_tensor_meta *m = &g->node->meta[0];
    int64_t size = dims_product(m->shape + 2, m->ndim - 2);
    return (norm_back){.g = g, .size = {m->shape[0], groups, m->shape[1] / groups, size}, .over = {2, 3}};
}
static norm_back in_rows(rl_vjp *g, int last) {
    const rl_tensor_meta *m = &g->node->meta[0];
    int lead = m->ndim - last;
    int64_t samples = dims_product(m->shape, lead), size = dims_product(m->shape + lead, last);
    return (norm_back){.g = g, .size = {samples, 1, size, 1}, .over = {2, 3}};
}

VJP(native_batch_norm_backward) { /* (.., weight 2, running 3 4, saved 5 6, train 7, eps 8) */
    norm_back n = in_groups(g, 1);
    n.over[0] = 0;
    n.frozen = !rl_vjp_int(g, 7);
    norm_begin(&n, 2, true);
    if (n.frozen) {
        n.r = by_channel(&n, OP(rsqrt, PLUS(X(4), rl_vjp_num(g, 8))));
        n.h = OP(mul, OP(sub, n.x, by_channel(&n, X(3))), n.r);
    } else {
        norm_statistics(&n, rl_vjp_num(g, 8));
    }
    norm_pass(&n, 2);
}
VJP(native_layer_norm_backward) { /* (.., normalized_shape 2, mean, rstd, weight 5, eps 6) */
    norm_back n = in_rows(g, X(2).n);
    norm_begin(&n, 5, true);
    norm_statistics(&n, rl_vjp_num(g, 6));
    norm_pass(&n, 5);
}
VJP(native_group_norm_backward) { /* (.., mean, rstd, weight 4, group 5, eps 6) */
    norm_back n = in_groups(g, rl_vjp_int(g, 5));
    norm_begin(&n, 4, true);
    norm_statistics(&n, rl_vjp_num(g, 6));
    norm_pass(&n, 4);
}
VJP(rms_norm_backward) { /* (.., normalized_shape 2, weight 3, eps 4) */
    norm_back n = in_rows(g, X(2).n);
    int dtype = g->node->meta[0].dtype;
    n.around_zero = true;
    norm_begin(&n, 3, false);
    norm_statistics(&n, GIVEN(4) ? rl_vjp_num(g, 4) : dtype == RL_F64 ? DBL_EPSILON : FLT_EPSILON);
    norm_pass(&n, 3);
}
