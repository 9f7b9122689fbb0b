/* Cross entropy and the negative log likelihood of inputs of any number of dimensions. Arguments of all of
 * them: (input, target, weight, reduction, ignore_index, ...), input (N, C, ...) or (C). Reductions: 0 none,
 * 1 mean, 2 sum. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NONE_ = 0, MEAN = 1, SUM = 2 };

/* ---- negative log likelihood ---- */
static V nll_forward(rl_values *g, rl_op_call *b, int op) {
    const V weight = X(2);
    if (weight.tag == RL_TENSOR && rl_tls.grad && rl_requires_grad(RL_TENSOR_OF(weight.u.t)))
        return RAISE(PyExc_RuntimeError,
                     "The function '%s' is not differentiable with respect to argument 'weight'. "
                     "This input cannot have requires_grad True.",
                     op == RL_OP_nll_loss_forward ? "nll_loss_forward" : "nll_loss2d_forward");
    return rl_values_op(g, op, RL_VALUE_LIST(X(0), X(1), weight, X(3), X(4)), 0);
}

/* Inputs of 3 dims or of more than 4 become images of one row. */
static V nll_as_images(rl_values *g, rl_op_call *b, V x) {
    int64_t places[RL_MAX_DIMS], flat[4] = {SIZE(x, 0), SIZE(x, 1), 1, -1}, rows[3] = {SIZE(x, 0), 1, -1};
    const int n = NDIM(x) - 1;
    const rl_view *target = X(1).u.t;
    for (int d = 0; d < n; d++) places[d] = SIZE(x, d ? d + 1 : 0);
    if (target->ndim != n || memcmp(target->shape, places, (size_t)n * sizeof *places) != 0) {
        char want[RL_DIMS_TEXT], got[RL_DIMS_TEXT];
        return RAISE(PyExc_RuntimeError, "Expected target size %s, got %s", rl_dims_text(want, places, n),
                     rl_dims_text(got, target->shape, target->ndim));
    }
    if (NUMEL(x) == 0) flat[2] = flat[3] = rows[1] = rows[2] = 0;
    V images = OP(reshape, x, INTS(flat, 4)), classes = OP(reshape, X(1), INTS(rows, 3));
    V loss = OP(nll_loss2d, images, classes, X(2), X(3), X(4));
    return X(3).u.i == NONE_ ? OP(view, loss, INTS(places, n)) : loss;
}

static V nll_any(rl_values *g, rl_op_call *b, V x) {
    const int n = NDIM(x);
    if (FAILED) return NONE;
    if (n < 1) return RAISE(PyExc_ValueError, "Expected 1 or more dimensions (got %d)", n);
    if (n > 1 && SIZE(x, 0) != SIZE(X(1), 0))
        return RAISE(PyExc_ValueError, "Expected input batch_size (%lld) to match target batch_size (%lld).",
                     (long long)SIZE(x, 0), (long long)SIZE(X(1), 0));
    if (n == 3 || n > 4) return nll_as_images(g, b, x);
    return n == 4 ? OP(nll_loss2d, x, X(1), X(2), X(3), X(4)) : OP(nll_loss, x, X(1), X(2), X(3), X(4));
}

COMPOSED(nll_loss) {
    return nll_forward(g, b, RL_OP_nll_loss_forward);
}
COMPOSED(nll_loss2d) {
    return nll_forward(g, b, RL_OP_nll_loss2d_forward);
}
COMPOSED(nll_loss_nd) {
    return nll_any(g, b, X(0));
}

/* ---- cross entropy ---- */
typedef struct {
    V logs;          /* log_softmax() of the input */
    int64_t classes; /* along dim */
    int dim;
    double smoothing;
} entropy;

/* x times the weights of the classes, if there are any */
static V times_weight(rl_values *g, rl_op_call *b, const entropy *e, V x) {
    int64_t shape[RL_MAX_DIMS];
    if (!GIVEN(2)) return x;
    for (int d = 0; d < NDIM(e->logs); d++) shape[d] = d == e->dim ? SIZE(X(2), 0) : 1;
    return OP(mul, x, NDIM(x) > 1 ? OP(view, X(2), INTS(shape, NDIM(e->logs))) : X(2));
}

static V over_classes(rl_values *g, const entropy *e, V x) {
    int64_t dim = e->dim;
    return OP(sum, x, INTS(&dim, 1));
}

static V no_such_reduction(rl_values *g, rl_op_call *b) {
    return RAISE(PyExc_RuntimeError, "Invalid reduction type encountered in cross_entropy: %lld",
                 (long long)X(3).u.i);
}

/* the weight of each target, 0 where it is ignored */
static V weights_of(rl_values *g, rl_op_call *b, V ignored) {
    int64_t flat = -1;
    V classes = OP(masked_fill, X(1), ignored, INT(0)), line = INTS(&flat, 1);
    V weights = OP(gather, X(2), INT(0), OP(reshape, classes, line));
    return OP(masked_fill, weights, OP(reshape, ignored, line), NUM(0));
}

/* towards the class mixed with the uniform distribution (Szegedy et al., 2015) */
static V smoothed(rl_values *g, rl_op_call *b, const entropy *e) {
    V loss = nll_any(g, b, e->logs);
    V ignored = OP(eq, X(1), X(4));
    V uniform = OP(neg, over_classes(g, e, times_weight(g, b, e, e->logs)));
    uniform = OP(masked_fill, uniform, ignored, NUM(0));
    if (X(3).u.i == MEAN) {
        uniform = OP(div, OP(sum, uniform),
                     OP(sum, GIVEN(2) ? weights_of(g, b, ignored) : OP(logical_not, ignored)));
    } else if (X(3).u.i == SUM) {
        uniform = OP(sum, uniform);
    } else if (X(3).u.i != NONE_) {
        return no_such_reduction(g, b);
    }
    return OP(add, TIMES(loss, 1 - e->smoothing), TIMES(uniform, e->smoothing / (double)e->classes));
}

static V towards_probabilities(rl_values *g, rl_op_call *b, const entropy *e) {
    V target = X(1);
    if (e->smoothing > 0) target = PLUS(TIMES(target, 1 - e->smoothing), e->smoothing / (double)e->classes);
    V products = times_weight(g, b, e, OP(mul, e->logs, target));
    switch (X(3).u.i) {
    case NONE_: return OP(neg, over_classes(g, e, products));
    case SUM: return OP(neg, OP(sum, products));
    case MEAN: break;
    default: return no_such_reduction(g, b);
    }
    V sum = OP(neg, OP(sum, products));
    if (NUMEL(e->logs) == 0 || e->classes == 0) return OP(fill_, sum, NUM(NAN));
    return OP(div, sum, INT(NUMEL(e->logs) / e->classes));
}

static void probabilities_check(rl_values *g, rl_op_call *b, const entropy *e) {
    const rl_view *weight = GIVEN(2) ? X(2).u.t : NULL;
    char text[RL_DIMS_TEXT];
    if (!rl_is_float(rl_value_tensor(X(1))->dtype))
        RAISE(PyExc_RuntimeError, "Expected floating point type for target with class probabilities, got %s",
              rl_dtype_title(rl_value_tensor(X(1))->dtype));
    else if (X(4).u.i >= 0)
        RAISE(PyExc_RuntimeError, "ignore_index is not supported for floating point target");
    else if (NDIM(X(0)) == 0)
        RAISE(PyExc_IndexError, "Dimension specified as %d but tensor has no dimensions", e->dim);
    else if (weight && (weight->ndim != 1 || weight->numel != e->classes))
        RAISE(PyExc_RuntimeError,
              "cross_entropy: weight tensor should be defined either for all %lld classes or no classes but "
              "got weight tensor of shape: %s",
              (long long)e->classes, rl_dims_text(text, weight->shape, weight->ndim));
}

static void smoothing_check(rl_values *g, double smoothing) {
    char text[32];
    if (FAILED || !(smoothing > 1)) return;
    snprintf(text, sizeof text, "%g", smoothing);
    RAISE(PyExc_RuntimeError, "label_smoothing must be between 0.0 and 1.0. Got: %s", text);
}

COMPOSED(cross_entropy_loss) { /* (..., label_smoothing) */
    const rl_view *x = X(0).u.t, *target = X(1).u.t;
    entropy e = {.dim = x->ndim == 1 ? 0 : 1, .smoothing = rl_number(X(5))};
    const bool probabilities =
        x->ndim == target->ndim && memcmp(x->shape, target->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
    e.classes = SIZE(X(0), e.dim);
    if (probabilities) probabilities_check(g, b, &e);
    smoothing_check(g, e.smoothing);
    e.logs = OP(log_softmax, X(0), INT(e.dim));
    if (FAILED) return NONE;
    if (probabilities) return towards_probabilities(g, b, &e);
    return e.smoothing > 0 ? smoothed(g, b, &e) : nll_any(g, b, e.logs);
}
