/* Shape rules of losses. Reductions: 0 none, 1 mean, 2 sum. */
#include "shape.h"

enum { NONE, MEAN };

/* The loss of each place, whose dims lie in memory as those of two views do, or what these are reduced to. */
static rl_status loss_out(rl_call *k, int reduction, const int64_t *shape, int ndim, const rl_view *first,
                          const rl_view *second) {
    if (k->arg[reduction].u.i == NONE)
        return rl_out_permuted(k, 0, shape, ndim, (const rl_view *[]){first, second}, 2);
    if (rl_out_dims(k, 0, shape, ndim) != RL_OK) return RL_FAIL; /* refuses too many */
    return rl_out_dims(k, 0, NULL, 0);
}

/* what is written into `to` must not be wider */
static rl_status loss_fits(const rl_view *from, const rl_view *to) {
    int64_t shape[RL_MAX_DIMS];
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    int n;
    if (rl_dims_broadcast(to, from, shape, &n) != RL_OK) return RL_FAIL;
    if (n == to->ndim && memcmp(shape, to->shape, (size_t)n * sizeof *shape) == 0) return RL_OK;
    return rl_error_set(RL_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
                        rl_dims_text(a, to->shape, to->ndim), rl_dims_text(b, shape, n));
}

static rl_status pair_out(rl_call *k, const rl_view *first, const rl_view *second) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (rl_dims_broadcast(first, second, shape, &n) != RL_OK) return RL_FAIL;
    return loss_out(k, 2, shape, n, first, second);
}

RL_SHAPE(loss_pair) {
    return pair_out(k, k->arg[0].u.t, k->arg[1].u.t);
}
RL_SHAPE(kl_div) {
    return pair_out(k, k->arg[1].u.t, k->arg[0].u.t);
}

RL_SHAPE(smooth_l1_loss) {
    if (rl_num(k, 3) < 0)
        return rl_error_set(RL_RUNTIME, "smooth_l1_loss does not support negative values for beta.");
    return shape_loss_pair(k);
}

RL_SHAPE(huber_loss) {
    if (!(rl_num(k, 3) > 0))
        return rl_error_set(RL_RUNTIME, "huber_loss does not support non-positive values for delta.");
    return shape_loss_pair(k);
}

RL_SHAPE(soft_margin_loss) {
    const rl_view *x = k->arg[0].u.t;
    return loss_fits(k->arg[1].u.t, x) == RL_OK ? loss_out(k, 2, x->shape, x->ndim, x, x) : RL_FAIL;
}

RL_SHAPE(binary_cross_entropy) {
    const rl_view *x = k->arg[0].u.t, *weight = rl_in(k, 2);
    if (loss_fits(k->arg[1].u.t, x) != RL_OK || (weight && loss_fits(weight, x) != RL_OK)) return RL_FAIL;
    return loss_out(k, 3, x->shape, x->ndim, x, x);
}

RL_SHAPE(binary_cross_entropy_with_logits) {
    const rl_view *x = k->arg[0].u.t, *target = k->arg[1].u.t, *weight = rl_in(k, 2), *positive = rl_in(k, 3);
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (positive) {
        if (rl_dims_broadcast(positive, target, shape, &n) != RL_OK) return RL_FAIL;
        const rl_view scaled = {.shape = shape, .ndim = (uint8_t)n};
        if (loss_fits(&scaled, x) != RL_OK) return RL_FAIL;
    }
    if (loss_fits(x, target) != RL_OK || (weight && loss_fits(weight, target) != RL_OK)) return RL_FAIL;
    return loss_out(k, 4, target->shape, target->ndim, target, target);
}

/* ---- gradients: (grad_output, input, target, ...) ---- */
/* the dims of input and target; the gradient and weights stretch to them */
static rl_status back_dims(const rl_call *k, int64_t *shape, int *n) {
    if (rl_dims_broadcast(k->arg[1].u.t, k->arg[2].u.t, shape, n) != RL_OK) return RL_FAIL;
    const rl_view whole = {.shape = shape, .ndim = (uint8_t)*n};
    for (int i = 0; i < k->n_arg; i++)
        if (rl_in(k, i) && loss_fits(rl_in(k, i), &whole) != RL_OK) return RL_FAIL;
    return RL_OK;
}

/* it lies in memory as these do; without any it is contiguous */
static rl_status back_out(rl_call *k, int n_in, const rl_view *const *in) {
    int64_t shape[RL_MAX_DIMS];
    int n;
    return back_dims(k, shape, &n) == RL_OK ? rl_out_permuted(k, 0, shape, n, in, n_in) : RL_FAIL;
}
#define BACK_LIKE(...)                                                                                       \
    back_out(k, (int)(sizeof((const rl_view *[]){__VA_ARGS__}) / sizeof(rl_view *)),                         \
             (const rl_view *[]){__VA_ARGS__})

RL_SHAPE(difference_backward) {
    return back_out(k, 0, NULL);
}
/* PyTorch spreads the gradient of a mean out first, and one that it negates */
RL_SHAPE(l1_loss_backward) {
    return k->arg[3].u.i == MEAN ? back_out(k, 0, NULL) : BACK_LIKE(rl_in(k, 0), rl_in(k, 1), rl_in(k, 2));
}
RL_SHAPE(kl_div_backward) {
    const bool spread = k->arg[3].u.i == MEAN || (k->arg[3].u.i != NONE && !k->arg[4].u.i);
    return spread ? back_out(k, 0, NULL) : BACK_LIKE(rl_in(k, 0), rl_in(k, 2));
}
RL_SHAPE(soft_margin_loss_backward) {
    return BACK_LIKE(rl_in(k, 2));
}
RL_SHAPE(binary_cross_entropy_backward) {
    return BACK_LIKE(rl_in(k, 1));
}
RL_SHAPE(binary_cross_entropy_with_logits_backward) {
    const rl_view *x = rl_in(k, 1), *target = rl_in(k, 2), *positive = rl_in(k, 4);
    return positive ? BACK_LIKE(positive, target) : BACK_LIKE(x, target);
}

/* ---- losses with a margin ----
 * Reductions: 0 none, 1 mean, 2 sum. attr[0]: samples, attr[1]: classes. */
static rl_status margin_sizes(rl_call *k, const rl_view *x) {
    char text[RL_DIMS_TEXT];
    if (x->ndim > 2 || (x->ndim && x->shape[x->ndim - 1] == 0))
        return rl_error_set(RL_RUNTIME,
                            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
                            rl_dims_text(text, x->shape, x->ndim));
    k->attr[0] = x->ndim == 2 ? x->shape[0] : 1;
    k->attr[1] = x->ndim ? x->shape[x->ndim - 1] : 1;
    return RL_OK;
}

static rl_status margin_dtypes(const rl_view *x, const rl_view *target, const rl_view *weight) {
    const bool classes = target->dtype == RL_I64;
    if (classes && (!weight || weight->dtype == x->dtype)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s",
                        rl_dtype_title(classes ? x->dtype : RL_I64),
                        rl_dtype_title(classes ? weight->dtype : target->dtype));
}

/* of the arguments from `first` on; each: does every sample keep its loss? */
static rl_status multi_margin(rl_call *k, int first, bool *each) {
    const rl_view *x = k->arg[first].u.t, *target = k->arg[first + 1].u.t, *weight = rl_in(k, first + 4);
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    const int64_t p = rl_int(k, first + 2);
    if (p != 1 && p != 2) return rl_error_set(RL_RUNTIME, "only p == 1 and p == 2 supported");
    if (margin_sizes(k, x) != RL_OK) return RL_FAIL;
    if (target->ndim > 1 || target->numel != k->attr[0])
        return rl_error_set(RL_RUNTIME,
                            "multi_margin_loss: target tensor should be 1-D with size equal to the number of "
                            "input samples (batch size). Expected target size [%lld], but got %s. Input has "
                            "shape %s.",
                            (long long)k->attr[0], rl_dims_text(a, target->shape, target->ndim),
                            rl_dims_text(b, x->shape, x->ndim));
    if (weight && (weight->ndim > 1 || weight->numel != k->attr[1]))
        return rl_error_set(RL_RUNTIME, "inconsistent weight size, expected %lld but got %s",
                            (long long)k->attr[1], rl_dims_text(a, weight->shape, weight->ndim));
    *each = k->arg[first + 5].u.i == NONE && target->ndim > 0;
    return margin_dtypes(x, target, weight);
}

static rl_status multilabel_margin(rl_call *k, int first, bool *each) {
    const rl_view *x = k->arg[first].u.t, *target = k->arg[first + 1].u.t;
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    if (margin_sizes(k, x) != RL_OK) return RL_FAIL;
    if (x->ndim == 2 ? !rl_dims_same(x, target) : target->ndim > 1 || target->numel != k->attr[1])
        return rl_error_set(RL_RUNTIME, "inconsistent target size: %s for input of size: %s",
                            rl_dims_text(a, target->shape, target->ndim), rl_dims_text(b, x->shape, x->ndim));
    *each = k->arg[first + 2].u.i == NONE && target->ndim > 1;
    return margin_dtypes(x, target, NULL);
}

static rl_status margin_backward(rl_call *k, bool each) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    char text[RL_DIMS_TEXT];
    if (each ? grad->ndim != 1 || grad->numel != k->attr[0] : grad->ndim > 1 || grad->numel != 1)
        return rl_error_set(RL_RUNTIME, "%s: grad_output has sizes %s", k->name,
                            rl_dims_text(text, grad->shape, grad->ndim));
    if (grad->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(grad->dtype));
    return rl_out_dims(k, 0, x->shape, x->ndim);
}

#define MARGIN_RULES(name)                                                                                   \
    RL_SHAPE(name##_loss) {                                                                                  \
        bool each;                                                                                           \
        return name(k, 0, &each) == RL_OK ? rl_out_dims(k, 0, k->attr, each) : RL_FAIL;                      \
    }                                                                                                        \
    RL_SHAPE(name##_loss_backward) {                                                                         \
        bool each;                                                                                           \
        return name(k, 1, &each) == RL_OK ? margin_backward(k, each) : RL_FAIL;                              \
    }
MARGIN_RULES(multi_margin)
MARGIN_RULES(multilabel_margin)
