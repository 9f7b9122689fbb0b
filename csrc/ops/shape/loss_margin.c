/* Shape rules of losses with a margin. Reductions: 0 none, 1 mean, 2 sum. attr[0]: samples, attr[1]: classes.
 */
#include "shape.h"

enum { NONE };

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
