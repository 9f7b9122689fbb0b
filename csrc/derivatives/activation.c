/* Derivatives of activations, and the derivatives of those. */
#include "vjp.h"

/* ---- the operators of forward ---- */
VJP(relu) {
    GRAD_OF(0, OP(threshold_backward, G, OUT(0), INT(0)));
}
VJP(threshold) {
    GRAD_OF(0, OP(threshold_backward, G, X(0), X(1)));
}

VJP(leaky_relu) {
    GRAD_OF(0, OP(leaky_relu_backward, G, X(0), X(1)));
}
VJP(hardtanh) {
    GRAD_OF(0, OP(hardtanh_backward, G, X(0), X(1), X(2)));
}

VJP(shrink) {
    GRAD_OF(0, OP(shrink_backward, G, X(0), X(1)));
}
VJP(hardsigmoid) {
    GRAD_OF(0, OP(hardsigmoid_backward, G, X(0)));
}
VJP(hardswish) {
    GRAD_OF(0, OP(hardswish_backward, G, X(0)));
}
VJP(elu) {
    GRAD_OF(0, OP(elu_backward, G, X(0), X(1), INT(1), INT(1)));
}
VJP(celu) {
    GRAD_OF(0, OP(elu_backward, G, X(0), X(1), INT(1), NUM(1 / rl_vjp_num(g, 1))));
}
VJP(selu) { /* the numbers of Klambauer et al., 2017 */
    GRAD_OF(0, OP(elu_backward, G, X(0), NUM(1.6732632423543772848170429916717),
                  NUM(1.0507009873554804934193349852946), INT(1)));
}
VJP(softplus) {
    GRAD_OF(0, OP(softplus_backward, G, X(0), X(1), X(2)));
}
VJP(silu) {
    GRAD_OF(0, OP(silu_backward, G, X(0)));
}
VJP(mish) {
    GRAD_OF(0, OP(mish_backward, G, X(0)));
}
VJP(log_sigmoid) {
    GRAD_OF(0, OP(log_sigmoid_backward, G, X(0)));
}
VJP(gelu) {
    GRAD_OF(0, OP(gelu_backward, G, X(0), X(1)));
}

/* In training the slope of each element was drawn; it is read off the result. A constant: made without
 * history. */
static V drawn_slopes(rl_vjp *g) {
    int grad = rl_tls.grad;
    rl_tls.grad = 0;
    V x = X(0), mean = NUM((rl_vjp_num(g, 1) + rl_vjp_num(g, 2)) / 2);
    V below = OP(where, OP(eq, x, INT(0)), mean, OP(div, OUT(0), x));
    V slopes = OP(where, OP(le, x, INT(0)), below, INT(1));
    rl_tls.grad = grad;
    return slopes;
}
VJP(rrelu) {
    double lower = rl_vjp_num(g, 1), upper = rl_vjp_num(g, 2);
    if (rl_vjp_int(g, 3) && upper - lower > 1e-6)
        GRAD_OF(0, OP(mul, G, drawn_slopes(g)));
    else
        GRAD_OF(0, OP(leaky_relu_backward, G, X(0), NUM((lower + upper) / 2)));
}

/* the weights, one or one for each channel, along dimension 1 of n */
static V channel_weights(rl_vjp *g, V w, int n) {
    int64_t size[RL_MAX_DIMS];
    if (NUMEL(w) == 1) return w;
    for (int d = 0; d < n; d++) size[d] = d == 1 ? NUMEL(w) : 1;
    return OP(reshape, w, INTS(size, n));
}
/* what channel_weights stretched, summed again */
static V channel_sums(rl_vjp *g, V x) {
    const rl_tensor_meta *w = rl_vjp_like(g, 1);
    int64_t dims[RL_MAX_DIMS];
    int n = 0;
    bool channels = w->ndim && w->shape[0] != 1;
    for (int d = 0; d < NDIM(x); d++)
        if (!channels || d != 1) dims[n++] = d;
    return OP(reshape, OP(sum, x, INTS(dims, n)), rl_vjp_size(g, 1));
}
VJP(prelu) { /* where x > 0: x, else weight * x */
    V x = X(0), w = X(1), positive = OP(gt, x, INT(0));
    GRAD_OF(0, OP(where, positive, G, OP(mul, channel_weights(g, w, NDIM(x)), G)));
    GRAD_OF(1, channel_sums(g, OP(where, positive, INT(0), OP(mul, x, G))));
}

VJP(glu) { /* a * sigmoid(b), a and b the halves along dim */
    if (!rl_vjp_wants(g, 0)) return;
    V x = X(0);
    int64_t dim = rl_vjp_int(g, 1), half = SIZE(x, dim) / 2;
    V a = OP(narrow, x, INT(dim), INT(0), INT(half)), b = OP(narrow, x, INT(dim), INT(half), INT(half));
    V gate = OP(sigmoid, b), first = OP(mul, gate, G);
    V second = OP(mul, OP(sigmoid_backward, G, gate), a);
    rl_vjp_pass(g, 0, JOIN(first, second, dim));
}

/* ---- second derivatives ---- */
VJP(straight_backward) { /* made of straight lines */
    GRAD_OF(0, rl_vjp_again(g));
    GRAD_OF(1, ZEROS);
}

VJP(hardswish_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    GRAD_OF(1, OP(hardtanh_backward, TIMES(rl_vjp_both(g), 1. / 3), X(1), INT(-3), INT(3)));
}
VJP(elu_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    if (!rl_vjp_wants(g, 1)) return;
    V bend = OP(elu_backward, OP(mul, rl_vjp_both(g), X(4)), X(1), X(2), X(3), X(4));
    rl_vjp_pass(g, 1, OP(mul, bend, OP(lt, X(1), INT(0))));
}
VJP(softplus_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    if (!rl_vjp_wants(g, 1)) return;
    V scaled = TIMES(X(1), rl_vjp_num(g, 2));
    V bend = TIMES(OP(sigmoid_backward, rl_vjp_both(g), OP(sigmoid, scaled)), rl_vjp_num(g, 2));
    rl_vjp_pass(g, 1, OP(mul, bend, OP(lt, scaled, X(3))));
}
VJP(silu_backward) { /* s (1 - s) (2 + x (1 - 2 s)) */
    GRAD_OF(0, rl_vjp_again(g));
    if (!rl_vjp_wants(g, 1)) return;
    V s = OP(sigmoid, X(1)), tilt = OP(mul, X(1), PLUS(TIMES(s, -2), 1));
    rl_vjp_pass(g, 1, OP(mul, OP(sigmoid_backward, rl_vjp_both(g), s), PLUS(tilt, 2)));
}
VJP(mish_backward) { /* s (1 - t^2) (2 + x (1 - s) - 2 x t s), t = tanh(softplus(x)) */
    GRAD_OF(0, rl_vjp_again(g));
    if (!rl_vjp_wants(g, 1)) return;
    V x = X(1), s = OP(sigmoid, x), t = OP(tanh, OP(softplus, x, INT(1), INT(20)));
    V turn = PLUS(OP(neg, OP(add, s, TIMES(OP(mul, t, s), 2))), 1);
    V bend = OP(mul, OP(mul, s, OP(tanh_backward, rl_vjp_both(g), t)), PLUS(OP(mul, x, turn), 2));
    rl_vjp_pass(g, 1, bend);
}
VJP(log_sigmoid_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    GRAD_OF(1, OP(neg, OP(sigmoid_backward, rl_vjp_both(g), OP(sigmoid, X(1)))));
}

/* (2 - x^2) exp(-x^2 / 2) / sqrt(2 pi) */
static V gelu_bend(rl_vjp *g, V x) {
    V square = OP(mul, x, x), bell = TIMES(OP(exp, TIMES(square, -0.5)), 0.39894228040143267794);
    return OP(mul, bell, PLUS(OP(neg, square), 2));
}
/* x / 2 (1 + tanh(u)): (1 - t^2) (u' + x u'' / 2 - x t u'^2) */
static V gelu_tanh_bend(rl_vjp *g, V x) {
    const double scale = 0.79788456080286535588, cubic = 0.044715; /* u = scale (x + cubic x^3) */
    V square = OP(mul, x, x), cube = OP(mul, square, x);
    V t = OP(tanh, TIMES(OP(add, x, TIMES(cube, cubic)), scale));
    V slope = TIMES(PLUS(TIMES(square, 3 * cubic), 1), scale);
    V curve = TIMES(square, 3 * cubic * scale); /* x u'' / 2 */
    V inner = OP(sub, OP(add, slope, curve), OP(mul, OP(mul, x, t), OP(mul, slope, slope)));
    return OP(tanh_backward, inner, t);
}
VJP(gelu_backward) {
    GRAD_OF(0, rl_vjp_again(g));
    bool tanh = STRING_ARG(2)[0] == 't';
    GRAD_OF(1, OP(mul, rl_vjp_both(g), tanh ? gelu_tanh_bend(g, X(1)) : gelu_bend(g, X(1))));
}
