/* Shape rules of the negative log likelihood. Reductions: 0 none, 1 mean, 2 sum. */
#include "shape.h"

enum { NONE, MEAN, SUM };

/* attr[0]: images, attr[1]: classes, attr[2]: places of an image */
static rl_status nll_sizes(rl_call *k, const rl_view *x, const rl_view *target, const rl_view *weight) {
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    int64_t classes = x->shape[x->ndim == 1 ? 0 : 1];
    if (target->dtype != RL_I64 && target->dtype != RL_U8)
        return rl_error_set(RL_RUNTIME, "expected target dtype to be Long or Byte, but got %s",
                            rl_dtype_title(target->dtype));
    if (weight && weight->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(weight->dtype));
    if (weight && (weight->ndim != 1 || weight->numel != classes))
        return rl_error_set(RL_RUNTIME,
                            "weight tensor should be defined either for all %lld classes or no classes but "
                            "got weight tensor of shape: %s",
                            (long long)classes, rl_dims_text(a, weight->shape, weight->ndim));
    bool fits = x->ndim == 1 || x->shape[0] == target->shape[0];
    for (int d = 2; fits && d < x->ndim; d++) fits = x->shape[d] == target->shape[d - 1];
    if (!fits)
        return rl_error_set(RL_RUNTIME, "size mismatch (got input: %s%s, target: %s%s",
                            rl_dims_text(a, x->shape, x->ndim), x->ndim > 2 ? " " : "",
                            rl_dims_text(b, target->shape, target->ndim), x->ndim > 2 ? "" : ")");
    k->attr[0] = x->ndim == 1 ? 1 : x->shape[0];
    k->attr[1] = classes;
    k->attr[2] = 1;
    for (int d = 2; d < x->ndim; d++) k->attr[2] *= x->shape[d];
    return RL_OK;
}

static rl_status nll_dims(const rl_view *x, const rl_view *target, bool planes) {
    if (planes && target->ndim != 3)
        return rl_error_set(
            RL_RUNTIME,
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d",
            target->ndim);
    if (planes && x->ndim != 4)
        return rl_error_set(
            RL_RUNTIME,
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: %d", x->ndim);
    if (!planes && (x->ndim < 1 || x->ndim > 2))
        return rl_error_set(RL_RUNTIME, "input tensor should be 1D or 2D");
    if (!planes && (target->ndim > 1 || (x->ndim == 2 && target->ndim == 0)))
        return rl_error_set(RL_RUNTIME, "0D or 1D target tensor expected, multi-target not supported");
    if (!planes && x->ndim == 1 && target->numel != 1)
        return rl_error_set(RL_VALUE, "For 1D input, 1D target must have size 1, but got target size: %lld",
                            (long long)target->numel);
    return RL_OK;
}

static rl_status nll_forward(rl_call *k, bool planes) {
    const rl_view *x = k->arg[0].u.t, *target = k->arg[1].u.t;
    if (nll_dims(x, target, planes) != RL_OK || nll_sizes(k, x, target, rl_in(k, 2)) != RL_OK) return RL_FAIL;
    bool each = k->arg[3].u.i == NONE && x->ndim > 1;
    if (rl_out_dims(k, 1, NULL, 0) != RL_OK) return RL_FAIL;
    return each ? rl_out_dims(k, 0, target->shape, target->ndim) : rl_out_dims(k, 0, NULL, 0);
}

static rl_status nll_backward(rl_call *k, bool planes) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t, *target = k->arg[2].u.t, *total = k->arg[6].u.t;
    char a[RL_DIMS_TEXT];
    if (nll_dims(x, target, planes) != RL_OK || nll_sizes(k, x, target, rl_in(k, 3)) != RL_OK) return RL_FAIL;
    if (total->numel != 1)
        return rl_error_set(RL_RUNTIME,
                            "expected total_weight to be a  single element tensor, got: %s (%lld elements)",
                            rl_dims_text(a, total->shape, total->ndim), (long long)total->numel);
    bool each = k->arg[4].u.i == NONE && x->ndim > 1;
    bool fits = each ? grad->ndim == target->ndim : grad->ndim <= 1 && grad->numel == 1;
    for (int d = 0; each && fits && d < grad->ndim; d++) fits = grad->shape[d] == target->shape[d];
    if (!fits)
        return rl_error_set(RL_RUNTIME, "%s: grad_output has sizes %s", k->name,
                            rl_dims_text(a, grad->shape, grad->ndim));
    if (grad->dtype != x->dtype || total->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(grad->dtype != x->dtype ? grad->dtype : total->dtype));
    return rl_out_dims(k, 0, x->shape, x->ndim);
}

RL_SHAPE(nll_loss_forward) {
    return nll_forward(k, false);
}
RL_SHAPE(nll_loss2d_forward) {
    return nll_forward(k, true);
}
RL_SHAPE(nll_loss_backward) {
    return nll_backward(k, false);
}
RL_SHAPE(nll_loss2d_backward) {
    return nll_backward(k, true);
}
