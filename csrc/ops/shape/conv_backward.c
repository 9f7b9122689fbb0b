/* Shape rules of the gradients of convolutions. They leave what the forward's rule leaves. */
#include "contract/window.h"
#include "shape.h"

static rl_status conv_back(rl_call *k, const rl_view *x, const rl_view *w, const rl_view *answer, int n) {
    rl_view expected = {.dtype = x->dtype};
    if (rl_conv_expected(k, x, w, n, &expected) != RL_OK) return RL_FAIL;
    if (!rl_dims_same(&expected, k->arg[0].u.t)) return rl_gradient_differs(k, &expected);
    return rl_out_dims(k, 0, answer->shape, answer->ndim);
}

static rl_status conv_input(rl_call *k, int n) {
    rl_view x;
    if (rl_sizes_read(k, 2, &x) != RL_OK) return RL_FAIL;
    return conv_back(k, &x, k->arg[1].u.t, &x, n);
}
static rl_status conv_weight(rl_call *k, int n) {
    rl_view w;
    if (rl_sizes_read(k, 2, &w) != RL_OK) return RL_FAIL;
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

RL_SHAPE(conv_bias) {
    const rl_view *grad = k->arg[0].u.t;
    int64_t n = k->arg[1].u.i;
    if (n < 1 || n > 3 || (grad->ndim != n + 1 && grad->ndim != n + 2))
        return rl_error_set(RL_RUNTIME, "conv_bias: expected a gradient of %lld or %lld dimensions, got %d",
                            (long long)n + 1, (long long)n + 2, grad->ndim);
    rl_window_made(k)->spatial = n;
    return rl_out_dims(k, 0, grad->shape + grad->ndim - n - 1, 1);
}
