/* Losses that are made of other operators. Reductions: 0 none, 1 mean, 2 sum. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include <math.h>

enum { EACH, MEAN };

static V reduced(rl_values *g, V loss, V reduction) {
    if (reduction.u.i == EACH) return loss;
    return reduction.u.i == MEAN ? OP(mean, loss) : OP(sum, loss);
}

/* max(0, x) */
static V hinge(rl_values *g, V x) {
    return OP(clamp_min, x, INT(0));
}

/* (input, target, log_input, full, eps, reduction) */
COMPOSED(poisson_nll_loss) {
    V x = X(0), y = X(1);
    V loss = X(2).u.i ? OP(sub, OP(exp, x), OP(mul, y, x))
                      : OP(sub, x, OP(mul, y, OP(log, PLUS(x, rl_number(X(4))))));
    if (X(3).u.i) { /* Stirling's log(y!) */
        V more = OP(sub, OP(mul, y, OP(log, y)), y);
        more = OP(add, more, TIMES(OP(log, TIMES(y, 2 * M_PI)), 0.5));
        loss = OP(add, loss, OP(masked_fill, more, OP(le, y, INT(1)), INT(0)));
    }
    return reduced(g, loss, X(5));
}

/* (input, target, margin, reduction) */
COMPOSED(hinge_embedding_loss) {
    V x = X(0), y = X(1), zero = OP(zeros_like, x);
    const double margin = rl_number(X(2)); /* a whole one where the input is */
    V below = rl_is_float(rl_value_tensor(x)->dtype)
                  ? NUM(margin)
                  : INT(margin > -9e18 && margin < 9e18 ? (int64_t)margin : INT64_MIN);
    V apart = OP(where, OP(ne, y, INT(1)), hinge(g, OP(sub, below, x)), zero);
    return reduced(g, OP(add, apart, OP(where, OP(ne, y, INT(-1)), x, zero)), X(3));
}

/* (input1, input2, target, margin, reduction) */
COMPOSED(margin_ranking_loss) {
    V behind = OP(mul, OP(neg, X(2)), OP(sub, X(0), X(1)));
    return reduced(g, hinge(g, PLUS(behind, rl_number(X(3)))), X(4));
}

/* one target for each pair of vectors */
static bool one_target_each(rl_values *g, V first, V second, V target) {
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    const int n = NDIM(target);
    if (n < 2 && NDIM(first) == n + 1 && NDIM(second) == n + 1) return true;
    if (n > 1)
        RAISE(PyExc_RuntimeError, "0D or 1D target tensor expected, multi-target not supported");
    else
        RAISE(PyExc_RuntimeError,
              "%dD target tensor expects %dD input tensors, but found inputs with sizes %s and %s.", n, n + 1,
              rl_dims_text(a, rl_value_tensor(first)->shape, NDIM(first)),
              rl_dims_text(b, rl_value_tensor(second)->shape, NDIM(second)));
    return false;
}

static V squares(rl_values *g, V x) {
    return PLUS(OP(sum, OP(mul, x, x), INT(-1)), 1e-12);
}

/* (input1, input2, target, margin, reduction) */
COMPOSED(cosine_embedding_loss) {
    V x = X(0), y = X(1), target = X(2);
    if (!one_target_each(g, x, y, target)) return NONE;
    V lengths = OP(sqrt, OP(mul, squares(g, x), squares(g, y)));
    V cosine = OP(div, OP(sum, OP(mul, x, y), INT(-1)), lengths), zero = OP(zeros_like, cosine);
    V alike = OP(where, OP(eq, target, INT(1)), OP(sub, INT(1), cosine), zero);
    V apart = OP(where, OP(eq, target, INT(-1)), hinge(g, PLUS(cosine, -rl_number(X(3)))), zero);
    return reduced(g, OP(add, alike, apart), X(4));
}

/* (anchor, positive, negative, margin, p, eps, swap, reduction) */
COMPOSED(triplet_margin_loss) {
    V anchor = X(0), positive = X(1), negative = X(2);
    if (NDIM(anchor) != NDIM(positive) || NDIM(positive) != NDIM(negative))
        return RAISE(PyExc_RuntimeError,
                     "The anchor, positive, and negative tensors are expected to have the same number of "
                     "dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs",
                     NDIM(anchor), NDIM(positive), NDIM(negative));
    V near = OP(pairwise_distance, anchor, positive, X(4), X(5));
    V far = OP(pairwise_distance, anchor, negative, X(4), X(5));
    if (X(6).u.i) far = OP(minimum, far, OP(pairwise_distance, positive, negative, X(4), X(5)));
    return reduced(g, hinge(g, OP(sub, PLUS(near, rl_number(X(3))), far)), X(7));
}
