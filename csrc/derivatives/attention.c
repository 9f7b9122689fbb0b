/* Derivatives of attention. */
#include "vjp.h"
#include <math.h>

static void pass_all(rl_vjp *g, const V made[3], int first) {
    for (int i = 0; i < 3; i++) GRAD_OF(first + i, made[i]);
}

VJP(flash_attention) { /* (query, key, value, dropout_p, is_causal, attn_mask, scale) */
    V made[3];
    OPS(made, 3, flash_attention_backward, G, X(0), X(1), X(2), OUT(0), OUT(1), X(3), X(4), MAYBE(5),
        MAYBE(6));
    pass_all(g, made, 0);
}

/* ---- the gradient of the gradient, by matrices of all weights ---- */
static V turned(rl_vjp *g, V x) {
    return OP(transpose, x, INT(-2), INT(-1));
}
static V row_sum(rl_vjp *g, V x) {
    int64_t last = -1;
    return OP(sum, x, INTS(&last, 1), BOOLEAN(true));
}

static V weights_of(rl_vjp *g, V query, V key, double scale) {
    V scores = TIMES(OP(matmul, query, turned(g, key)), scale), mask = MAYBE(8);
    if (FAILED) return NONE;
    if (KIND(mask) == RL_BOOL)
        scores = OP(masked_fill, scores, OP(logical_not, mask), NUM(-INFINITY));
    else if (mask.tag == RL_TENSOR)
        scores = OP(add, scores, mask);
    if (rl_vjp_int(g, 7)) {
        V seen = OP(tril, OP(ones_like, scores, DTYPE(RL_BOOL)));
        scores = OP(masked_fill, scores, OP(logical_not, seen), NUM(-INFINITY));
    }
    return OP(_safe_softmax, scores, INT(-1));
}

/* With weights w, grad . value = p, and what came to the weights less its mean s = w (p - mean), the
 * gradients are by query: c s key      by key: c s' query      by value: w' grad            c: the scale, ':
 * transposed and `to` are the gradients of these. */
VJP(flash_attention_backward) {
    V grad = X(0), query = X(1), key = X(2), value = X(3);
    V to[3] = {rl_vjp_grad(g, 0), rl_vjp_grad(g, 1), rl_vjp_grad(g, 2)};
    V given = MAYBE(9);
    if (FAILED) return;
    const double scale = given.tag == RL_NONE ? 1 / sqrt((double)SIZE(query, -1)) : rl_number(given);
    V w = weights_of(g, query, key, scale), p = OP(matmul, grad, turned(g, value));
    V off = OP(sub, p, row_sum(g, OP(mul, w, p))), s = TIMES(OP(mul, w, off), scale);
    V by_s = TIMES(OP(add, OP(matmul, to[0], turned(g, key)), OP(matmul, query, turned(g, to[1]))), scale);
    V mean = row_sum(g, OP(mul, w, by_s)), by_p = OP(mul, w, OP(sub, by_s, mean));
    GRAD_OF(0, OP(add, OP(matmul, by_p, value), OP(matmul, w, to[2])));
    GRAD_OF(3, OP(matmul, turned(g, by_p), grad));
    if (!rl_vjp_wants(g, 1) && !rl_vjp_wants(g, 2)) return;
    V by_w = OP(add, OP(matmul, grad, turned(g, to[2])), OP(sub, OP(mul, by_s, off), OP(mul, mean, p)));
    V score = TIMES(OP(mul, w, OP(sub, by_w, row_sum(g, OP(mul, w, by_w)))), scale);
    GRAD_OF(1, OP(add, OP(matmul, score, key), OP(matmul, s, to[1])));
    GRAD_OF(2, OP(add, OP(matmul, turned(g, score), query), OP(matmul, turned(g, s), to[0])));
}
