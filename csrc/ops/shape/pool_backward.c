/* Shape rules of the gradients of pooling. They leave what the forward's rule leaves. */
#include "contract/window.h"
#include "shape.h"

static rl_status indices_like_gradient(const rl_call *k, const rl_view *indices) {
    if (indices->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "%s: expected indices of dtype int64, but got %s", k->name,
                            rl_dtype_name(indices->dtype));
    if (rl_dims_same(indices, k->arg[0].u.t)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "%s: expected grad_output and indices to have the same sizes", k->name);
}

static rl_status max_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "max_pool1d", "max_pool2d", "max_pool3d"};
    rl_view expected;
    rl_call forward = rl_call_forward(k, names[n], &expected);
    if (rl_pool_shape(&forward, n, 4, forward.arg[5].u.i != 0) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return rl_gradient_as_input(k, &expected);
}

static rl_status max_pool_indices_back(rl_call *k, int n) {
    if (indices_like_gradient(k, k->arg[7].u.t) != RL_OK) return RL_FAIL;
    return max_pool_back(k, n);
}

/* of the window only `spatial` */
static rl_status adaptive_back(rl_call *k, int n) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    char text[RL_DIMS_TEXT];
    bool fits = (x->ndim == n + 1 || x->ndim == n + 2) && grad->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim - n; d++) fits = grad->shape[d] == x->shape[d];
    for (int d = x->ndim - n; fits && d < x->ndim; d++) fits = x->shape[d] > 0 || grad->shape[d] == 0;
    if (!fits)
        return rl_error_set(RL_RUNTIME, "%s(): grad_output does not fit an input with sizes %s", k->name,
                            rl_dims_text(text, x->shape, x->ndim));
    rl_window_made(k)->spatial = n;
    return rl_gradient_as_input(k, grad);
}

rl_status rl_adaptive_max_back(rl_call *k, int n, int at) {
    if (indices_like_gradient(k, k->arg[at].u.t) != RL_OK) return RL_FAIL;
    return adaptive_back(k, n);
}

#define POOL_BACK(n)                                                                                         \
    RL_SHAPE(max_pool##n##d_backward) {                                                                      \
        return max_pool_back(k, n);                                                                          \
    }                                                                                                        \
    RL_SHAPE(max_pool##n##d_indices_backward) {                                                              \
        return max_pool_indices_back(k, n);                                                                  \
    }                                                                                                        \
    RL_SHAPE(adaptive_max_pool##n##d_backward) {                                                             \
        return rl_adaptive_max_back(k, n, 2);                                                                \
    }
POOL_BACK(1)
POOL_BACK(2)
POOL_BACK(3)

/* ---- means ---- */
static rl_status avg_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "avg_pool1d", "avg_pool2d", "avg_pool3d"};
    rl_view expected;
    rl_call forward = rl_call_forward(k, names[n], &expected);
    if (rl_pool_means(&forward, n) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return rl_gradient_as_input(k, &expected);
}

#define AVG_BACK(n)                                                                                          \
    RL_SHAPE(avg_pool##n##d_backward) {                                                                      \
        return avg_pool_back(k, n);                                                                          \
    }                                                                                                        \
    RL_SHAPE(adaptive_avg_pool##n##d_backward) {                                                             \
        return adaptive_back(k, n);                                                                          \
    }
AVG_BACK(1)
AVG_BACK(2)
AVG_BACK(3)
