/* Derivatives of losses. */
#include "vjp.h"
#include <math.h>

enum { MEAN = 1 };

/* the gradient by the target, which comes behind the input, is minus that by the input */
static void pass_difference(rl_vjp *g, int input, V grad) {
    if (rl_vjp_wants(g, input)) rl_vjp_pass(g, input, grad);
    if (rl_vjp_wants(g, input + 1)) rl_vjp_pass(g, input + 1, OP(neg, grad));
}
static bool wants_any(const rl_vjp *g, int input) {
    return rl_vjp_wants(g, input) || rl_vjp_wants(g, input + 1);
}

/* what the forward operator's mean divides by stands in the gradient's dims */
static V shared_out(rl_vjp *g, V x, int reduction) {
    return rl_vjp_int(g, reduction) == MEAN ? TIMES(x, 1.0 / (double)NUMEL(G)) : x;
}
static V squared(rl_vjp *g, V x) {
    return OP(mul, x, x);
}
static V one_minus(rl_vjp *g, V x) {
    return OP(rsub, x, NUM(1), NUM(1));
}

/* ---- of the difference ---- */
VJP(mse_loss) {
    GRAD_OF(0, OP(mse_loss_backward, G, X(0), X(1), X(2)));
    GRAD_OF(1, OP(mse_loss_backward, G, X(1), X(0), X(2)));
}
VJP(mse_loss_backward) {
    GRAD_OF(0, OP(mse_loss_backward, G, X(1), X(2), X(3)));
    if (wants_any(g, 1)) pass_difference(g, 1, shared_out(g, OP(mul, TIMES(G, 2), X(0)), 3));
}

VJP(l1_loss) {
    if (wants_any(g, 0)) pass_difference(g, 0, OP(l1_loss_backward, G, X(0), X(1), X(2)));
}
VJP(l1_loss_backward) {
    GRAD_OF(0, OP(l1_loss_backward, G, X(1), X(2), X(3)));
    if (wants_any(g, 1)) pass_difference(g, 1, ZEROS);
}

/* the curve of a loss that is square where the difference is below `border` and straight beyond */
static V bowl_curve(rl_vjp *g, V steepness) {
    V gap = OP(abs, OP(sub, X(1), X(2))), curve = OP(mul, OP(mul, G, X(0)), steepness);
    return shared_out(g, OP(mul, curve, OP(lt, gap, X(4))), 3);
}
VJP(smooth_l1_loss) {
    GRAD_OF(0, OP(smooth_l1_loss_backward, G, X(0), X(1), X(2), X(3)));
    GRAD_OF(1, OP(smooth_l1_loss_backward, G, X(1), X(0), X(2), X(3)));
}
VJP(smooth_l1_loss_backward) {
    GRAD_OF(0, OP(smooth_l1_loss_backward, G, X(1), X(2), X(3), X(4)));
    if (wants_any(g, 1))
        pass_difference(g, 1, rl_vjp_num(g, 4) > 0 ? bowl_curve(g, NUM(1 / rl_vjp_num(g, 4))) : ZEROS);
}
VJP(huber_loss) {
    GRAD_OF(0, OP(huber_loss_backward, G, X(0), X(1), X(2), X(3)));
    GRAD_OF(1, OP(huber_loss_backward, G, X(1), X(0), X(2), X(3)));
}
VJP(huber_loss_backward) {
    GRAD_OF(0, OP(huber_loss_backward, G, X(1), X(2), X(3), X(4)));
    if (wants_any(g, 1)) pass_difference(g, 1, bowl_curve(g, NUM(1)));
}

/* ---- of the product ---- */
VJP(soft_margin_loss) {
    GRAD_OF(0, OP(soft_margin_loss_backward, G, X(0), X(1), X(2)));
}
/* target ** 2 * s * (1 - s), s = sigmoid(target * input) */
VJP(soft_margin_loss_backward) {
    GRAD_OF(0, OP(soft_margin_loss_backward, G, X(1), X(2), X(3)));
    if (!rl_vjp_wants(g, 1)) return;
    V s = OP(sigmoid, OP(mul, X(2), X(1))), curve = OP(mul, s, one_minus(g, s));
    GRAD_OF(1, shared_out(g, OP(mul, OP(mul, G, X(0)), OP(mul, squared(g, X(2)), curve)), 3));
}

/* ---- (input, target, reduction, log_target) ---- */
VJP(kl_div) {
    const bool log = rl_vjp_int(g, 3);
    GRAD_OF(0, OP(kl_div_backward, G, X(0), X(1), X(2), X(3)));
    if (!rl_vjp_wants(g, 1)) return;
    V x = X(0), y = X(1), gap = OP(sub, y, x);
    V each = rl_vjp_int(g, 2) == MEAN ? OP(div, G, NUM((double)NUMEL(gap))) : G;
    if (log) { /* exp(y) * (y - x + 1) */
        each = OP(mul, each, OP(exp, y));
        GRAD_OF(1, OP(add, OP(mul, each, gap), each));
        return;
    }
    /* as xlogy() has it: log(y) counts as 0 where y is, and y / y does not as 1 */
    V slope = OP(sub, OP(xlogy, OP(ne, y, NUM(0)), y), x);
    GRAD_OF(1, OP(add, OP(mul, each, slope), OP(mul, each, OP(div, y, y))));
}
/* the input gave its dims alone */
VJP(kl_div_backward) {
    const bool log = rl_vjp_int(g, 4);
    GRAD_OF(0, OP(kl_div_backward, G, X(1), X(2), X(3), X(4)));
    if (!rl_vjp_wants(g, 2)) return;
    V slope = OP(neg, OP(mul, G, X(0)));
    GRAD_OF(2, shared_out(g, log ? OP(mul, slope, OP(exp, X(2))) : slope, 3));
}

/* ---- (input, target, weight, reduction): the logarithms of the target's gradient have no limit ---- */
VJP(binary_cross_entropy) {
    GRAD_OF(0, OP(binary_cross_entropy_backward, G, X(0), X(1), MAYBE(2), X(3)));
    if (!rl_vjp_wants(g, 1)) return;
    V x = X(0), slope = OP(mul, G, OP(neg, OP(logit, x, NONE)));
    if (GIVEN(2)) slope = OP(mul, slope, X(2));
    GRAD_OF(1, rl_vjp_int(g, 3) == MEAN ? OP(div, slope, NUM((double)NUMEL(x))) : slope);
}
/* (grad_output, input, target, weight, reduction): weight * (x - y) / (x * (1 - x)) */
VJP(binary_cross_entropy_backward) {
    GRAD_OF(0, OP(binary_cross_entropy_backward, G, X(1), X(2), MAYBE(3), X(4)));
    if (!wants_any(g, 1)) return;
    V x = X(1), each = OP(mul, G, X(0));
    if (GIVEN(3)) each = OP(mul, each, X(3));
    each = shared_out(g, each, 4);
    if (rl_vjp_wants(g, 1)) { /* (x * x - 2 x y + y) / (x * (1 - x)) ** 2 */
        V y = X(2), above = OP(add, OP(sub, squared(g, x), TIMES(OP(mul, x, y), 2)), y);
        V below = OP(mul, PLUS(x, 1e-12), PLUS(one_minus(g, x), 1e-12));
        rl_vjp_pass(g, 1, OP(div, OP(mul, each, above), squared(g, below)));
    }
    GRAD_OF(2, OP(div, OP(neg, each), OP(clamp, OP(mul, x, one_minus(g, x)), NUM(1e-12), NONE)));
}

/* ---- (input, target, weight, pos_weight, reduction) ---- */
VJP(binary_cross_entropy_with_logits) {
    GRAD_OF(0, OP(binary_cross_entropy_with_logits_backward, G, X(0), X(1), MAYBE(2), MAYBE(3), X(4)));
    if (!rl_vjp_wants(g, 1)) return;
    V x = X(0), slope = OP(neg, x);
    if (GIVEN(3)) /* log(1 - s) - pos_weight * log(s), s = sigmoid(x) */
        slope = OP(sub, OP(log_sigmoid, slope), OP(mul, X(3), OP(log_sigmoid, x)));
    slope = OP(mul, G, slope);
    if (GIVEN(2)) slope = OP(mul, slope, X(2));
    const rl_tensor_meta *target = rl_vjp_like(g, 1);
    if (target->ndim != NDIM(slope)) slope = OP(expand, slope, rl_vjp_size(g, 1));
    GRAD_OF(1, rl_vjp_int(g, 4) == MEAN ? OP(div, slope, NUM((double)NUMEL(slope))) : slope);
}
/* (grad_output, input, target, weight, pos_weight, reduction): weight * ((p y + 1 - y) * s - p y) */
VJP(binary_cross_entropy_with_logits_backward) {
    GRAD_OF(0, OP(binary_cross_entropy_with_logits_backward, G, X(1), X(2), MAYBE(3), MAYBE(4), X(5)));
    if (!wants_any(g, 1)) return;
    V s = OP(sigmoid, X(1)), each = OP(mul, G, X(0));
    if (GIVEN(3)) each = OP(mul, each, X(3));
    each = shared_out(g, each, 5);
    if (rl_vjp_wants(g, 1)) {
        V curve = OP(mul, each, OP(mul, s, one_minus(g, s)));
        if (GIVEN(4)) curve = OP(mul, curve, PLUS(OP(mul, PLUS(X(4), -1), X(2)), 1));
        rl_vjp_pass(g, 1, curve);
    }
    if (!rl_vjp_wants(g, 2)) return;
    GRAD_OF(2, GIVEN(4) ? OP(mul, each, OP(sub, OP(mul, PLUS(X(4), -1), s), X(4))) : OP(neg, each));
}

/* ---- losses with a margin ---- */
/* (input, target, p, margin, weight, reduction) */
VJP(multi_margin_loss) {
    GRAD_OF(0, OP(multi_margin_loss_backward, G, X(0), X(1), X(2), X(3), MAYBE(4), X(5)));
}

/* (input, target, reduction) */
VJP(multilabel_margin_loss) {
    GRAD_OF(0, OP(multilabel_margin_loss_backward, G, X(0), X(1), X(2)));
}
