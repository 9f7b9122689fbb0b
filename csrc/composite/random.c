/* Random numbers that are made of others. */
#include "compose.h"
#include "core/dtype.h"
#include <math.h>
#include <stdio.h>

/* ---- multinomial ---- */
static void weights_check(rl_values *g, V x, int64_t picks, bool again) {
    const int64_t n = NDIM(x) ? SIZE(x, -1) : 0;
    if (NDIM(x) < 1 || NDIM(x) > 2)
        RAISE(PyExc_RuntimeError, "prob_dist must be 1 or 2 dim");
    else if (!rl_is_float(rl_value_tensor(x)->dtype))
        RAISE(PyExc_RuntimeError, "multinomial only supports floating-point dtypes for input, got: %s",
              rl_dtype_title(rl_value_tensor(x)->dtype));
    else if (picks <= 0)
        RAISE(PyExc_RuntimeError, "cannot sample n_sample <= 0 samples");
    else if (!again && picks > n)
        RAISE(PyExc_RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    else if (n > 1 << 24)
        RAISE(PyExc_RuntimeError, "number of categories cannot exceed 2^24");
}

/* Looks at the weights: that is what is drawn from. */
static void weights_look(rl_values *g, V x) {
    int64_t last = -1;
    if (NUMEL(x) == 0) {
        RAISE(PyExc_RuntimeError,
              "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
        return;
    }
    V most = OP(lt, OP(amax, x), NUM(INFINITY)), least = OP(ge, OP(amin, x), NUM(0));
    if (!FAILED && !rl_values_boolean(g, OP(logical_and, most, least)) && !FAILED)
        RAISE(PyExc_RuntimeError, "probability tensor contains either `inf`, `nan` or element < 0");
    if (!FAILED && rl_values_boolean(g, OP(any, OP(eq, OP(sum, x, INTS(&last, 1)), NUM(0)))))
        RAISE(PyExc_RuntimeError, "invalid multinomial distribution (sum of probabilities <= 0)");
}

/* Without replacement: those come first whose weights are largest, each divided by a number of the
 * exponential distribution. */
COMPOSED(multinomial) { /* (input, num_samples, replacement, generator) */
    const int64_t picks = X(1).u.i;
    const bool again = X(2).u.i;
    V x = X(0);
    weights_check(g, x, picks, again);
    if (FAILED) return NONE;
    if (NDIM(x) == 2 && SIZE(x, 0) == 0) {
        int64_t shape[2] = {0, picks};
        return OP(empty, INTS(shape, 2), DTYPE(RL_I64));
    }
    if (again && picks > 1) return OP(multinomial_with_replacement, x, INT(picks), X(3));
    weights_look(g, x);
    if (FAILED) return NONE;
    V times = OP(empty_like, x);
    V order = OP(div, x, OP(exponential_, times, NUM(1), X(3)));
    return picks == 1 ? OP(argmax, order, INT(-1), BOOLEAN(true)) : OP_NTH(1, topk, order, INT(picks));
}

/* ---- dropout with other noise ---- */
enum { FEATURE = 1, ALPHA = 2, IN_PLACE_ = 4 };

/* one number for each element, or for each channel of each example; 0 with probability p, else 1 */
static V noise_for(rl_values *g, V x, double p, bool feature) {
    int64_t shape[RL_MAX_DIMS];
    const rl_view *v = x.u.t;
    V noise = NONE;
    if (!feature) {
        noise = OP(empty_like, x);
    } else if (v->ndim < 2) {
        RAISE(PyExc_RuntimeError, "Feature dropout requires at least 2 dimensions in the input");
    } else {
        for (int d = 0; d < v->ndim; d++) shape[d] = d < 2 ? v->shape[d] : 1;
        noise = rl_values_own_steal(
            g, (PyObject *)rl_tensor_new(v->dtype, v->device, v->device_index, shape, v->ndim));
    }
    return OP(bernoulli_, noise, NUM(1 - p));
}

static V drop(rl_values *g, V x, double p, bool train, int how) {
    /* dropped elements become selu's lower bound; scale and shift keep mean 0 and variance 1 */
    const double bound = 1.7580993408473766, scale = 1 / sqrt((bound * bound * p + 1) * (1 - p));
    if (!(p >= 0 && p <= 1)) {
        char text[32];
        snprintf(text, sizeof text, "%g", p);
        return RAISE(PyExc_RuntimeError, "dropout probability has to be between 0 and 1, but got %s", text);
    }
    if (p == 0 || !train || NUMEL(x) == 0) return x;
    if (p == 1) return how & IN_PLACE_ ? IN_PLACE(mul, x, BOOLEAN(false)) : OP(mul, x, BOOLEAN(false));
    V noise = noise_for(g, x, p, how & FEATURE), shift = NONE;
    if (how & ALPHA) {
        shift = IN_PLACE(mul, PLUS(noise, -1), NUM(bound * scale));
        shift = IN_PLACE(add, shift, NUM(bound * scale * p));
    }
    noise = how & ALPHA ? IN_PLACE(mul, noise, NUM(scale)) : IN_PLACE(div, noise, NUM(1 - p));
    V result = how & IN_PLACE_ ? IN_PLACE(mul, x, noise) : OP(mul, x, noise);
    return how & ALPHA ? IN_PLACE(add, result, shift) : result;
}

#define DROPOUT(name, how)                                                                                   \
    COMPOSED(name) {                                                                                         \
        return drop(g, X(0), rl_number(X(1)), X(2).u.i, how);                                                \
    }
DROPOUT(alpha_dropout, ALPHA)
DROPOUT(alpha_dropout_, ALPHA | IN_PLACE_)
DROPOUT(feature_dropout, FEATURE)
DROPOUT(feature_dropout_, FEATURE | IN_PLACE_)
DROPOUT(feature_alpha_dropout, FEATURE | ALPHA)
DROPOUT(feature_alpha_dropout_, FEATURE | ALPHA | IN_PLACE_)
