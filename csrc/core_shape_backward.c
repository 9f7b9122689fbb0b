/* Shape rules of the backward rows: what the forward row would have answered says how large the gradient
 * must be. attr[] is left as the forward's rule leaves it. */
#include "core_shape.h"

static bool same_dims(const rl_view *v, const rl_view *w) {
    return v->ndim == w->ndim && memcmp(v->shape, w->shape, (size_t)v->ndim * sizeof *v->shape) == 0;
}

static rl_status gradient_differs(const rl_call *k, const rl_view *want) {
    const rl_view *grad = k->arg[0].u.t;
    char a[RL_DIMS_TEXT], b[RL_DIMS_TEXT];
    return rl_error_set(RL_RUNTIME, "%s: expected grad_output to have sizes %s, but got %s", k->name,
                        rl_dims_text(a, want->shape, want->ndim), rl_dims_text(b, grad->shape, grad->ndim));
}

/* ---- convolutions ---- */
/* a view that has only dims: of an int[] argument */
static rl_status sizes_read(const rl_call *k, int arg, rl_view *v) {
    const rl_slot *s = &k->arg[arg];
    char text[RL_DIMS_TEXT];
    int n = s->tag == RL_INTS ? s->n : 1;
    const int64_t *sizes = s->tag == RL_INTS ? s->u.ints : &s->u.i;
    *v = (rl_view){.dtype = k->arg[0].u.t->dtype, .ndim = (uint8_t)n};
    if (n > RL_SMALL_DIMS)
        return rl_error_set(RL_RUNTIME, "%s: sizes %s have too many dimensions", k->name,
                            rl_dims_text(text, sizes, n));
    v->shape = v->small;
    for (int d = 0; d < n; d++) {
        if (sizes[d] < 0)
            return rl_error_set(RL_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)sizes[d], rl_dims_text(text, sizes, n));
        v->shape[d] = sizes[d];
    }
    return RL_OK;
}

static rl_status conv_back(rl_call *k, const rl_view *x, const rl_view *w, const rl_view *answer, int n) {
    rl_view expected = {.dtype = x->dtype};
    if (rl_conv_expected(k, x, w, n, &expected) != RL_OK) return RL_FAIL;
    if (!same_dims(&expected, k->arg[0].u.t)) return gradient_differs(k, &expected);
    return rl_out_dims(k, 0, answer->shape, answer->ndim);
}

static rl_status conv_input(rl_call *k, int n) {
    rl_view x;
    if (sizes_read(k, 2, &x) != RL_OK) return RL_FAIL;
    return conv_back(k, &x, k->arg[1].u.t, &x, n);
}
static rl_status conv_weight(rl_call *k, int n) {
    rl_view w;
    if (sizes_read(k, 2, &w) != RL_OK) return RL_FAIL;
    return conv_back(k, k->arg[1].u.t, &w, &w, n);
}

RL_SHAPE(conv1d_input) {
    return conv_input(k, 1);
}
RL_SHAPE(conv2d_input) {
    return conv_input(k, 2);
}
RL_SHAPE(conv3d_input) {
    return conv_input(k, 3);
}
RL_SHAPE(conv1d_weight) {
    return conv_weight(k, 1);
}
RL_SHAPE(conv2d_weight) {
    return conv_weight(k, 2);
}
RL_SHAPE(conv3d_weight) {
    return conv_weight(k, 3);
}

RL_SHAPE(conv_bias) { /* attr[0]: the dimension of the channels */
    const rl_view *grad = k->arg[0].u.t;
    int64_t n = k->arg[1].u.i;
    if (n < 1 || n > 3 || (grad->ndim != n + 1 && grad->ndim != n + 2))
        return rl_error_set(RL_RUNTIME, "conv_bias: expected a gradient of %lld or %lld dimensions, got %d",
                            (long long)n + 1, (long long)n + 2, grad->ndim);
    k->attr[0] = grad->ndim - n - 1;
    return rl_out_dims(k, 0, grad->shape + k->attr[0], 1);
}
