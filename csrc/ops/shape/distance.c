/* Shape rules of distances between rows. */
#include "shape.h"

/* what stands before the last two dimensions, stretched */
static rl_status batches_of(const rl_view *a, const rl_view *b, int64_t *shape, int *n) {
    rl_view la = {.shape = a->shape, .ndim = (uint8_t)(a->ndim - 2)};
    rl_view lb = {.shape = b->shape, .ndim = (uint8_t)(b->ndim - 2)};
    return rl_dims_broadcast(&la, &lb, shape, n);
}

/* two matrices or batches of them, the first of them argument `at` */
static rl_status pair_agrees(const rl_call *k, int at) {
    const rl_view *a = k->arg[at].u.t, *b = k->arg[at + 1].u.t;
    if (a->ndim < 2 || b->ndim < 2)
        return rl_error_set(RL_RUNTIME, "cdist only supports at least 2D tensors, X%d got: %dD",
                            a->ndim < 2 ? 1 : 2, a->ndim < 2 ? a->ndim : b->ndim);
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 1])
        return rl_error_set(RL_RUNTIME, "X1 and X2 must have the same number of columns. X1: %lld X2: %lld",
                            (long long)a->shape[a->ndim - 1], (long long)b->shape[b->ndim - 1]);
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(a->dtype),
                            rl_dtype_title(b->dtype));
    return RL_OK;
}

static rl_status order_suits(const rl_call *k, int arg, const char *what) {
    if (k->n_arg > arg && rl_num(k, arg) < 0)
        return rl_error_set(RL_RUNTIME, "%s only supports non-negative p values", what);
    return RL_OK;
}

RL_SHAPE(cdist) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS + 2];
    int n;
    if (pair_agrees(k, 0) != RL_OK || order_suits(k, 2, "cdist") != RL_OK ||
        batches_of(a, b, shape, &n) != RL_OK)
        return RL_FAIL;
    shape[n++] = a->shape[a->ndim - 2];
    shape[n++] = b->shape[b->ndim - 2];
    return rl_out_dims(k, 0, shape, n);
}

/* of grad, x1, x2, p, cdist: x1 with all batches */
RL_SHAPE(cdist_backward) {
    const rl_view *a = k->arg[1].u.t, *b = k->arg[2].u.t;
    int64_t shape[RL_MAX_DIMS + 2];
    int n;
    if (pair_agrees(k, 1) != RL_OK || batches_of(a, b, shape, &n) != RL_OK) return RL_FAIL;
    shape[n] = a->shape[a->ndim - 2], shape[n + 1] = b->shape[b->ndim - 2];
    const rl_view want = {.shape = shape, .ndim = (uint8_t)(n + 2)};
    for (int i = 0; i < 5; i += 4) {
        const rl_view *v = k->arg[i].u.t;
        if (!rl_dims_same(v, &want) || v->dtype != a->dtype)
            return rl_error_set(RL_RUNTIME, "_cdist_backward: %s does not look like the distances",
                                i ? "cdist" : "grad");
    }
    shape[n + 1] = a->shape[a->ndim - 1];
    return rl_out_dims(k, 0, shape, n + 2);
}

static rl_status pairs_of(const rl_view *x, int64_t *pairs) {
    const int64_t n = x->shape[0];
    if (__builtin_mul_overflow(n, n - (n > 0), pairs))
        return rl_error_set(RL_RUNTIME, "pdist: there are too many pairs of rows");
    *pairs /= 2;
    return RL_OK;
}

RL_SHAPE(pdist) {
    const rl_view *x = k->arg[0].u.t;
    int64_t pairs;
    if (x->ndim != 2) return rl_error_set(RL_RUNTIME, "pdist only supports 2D tensors, got: %dD", x->ndim);
    if (order_suits(k, 1, "pdist") != RL_OK || pairs_of(x, &pairs) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, &pairs, 1);
}

RL_SHAPE(pdist_backward) {
    const rl_view *x = k->arg[1].u.t;
    int64_t pairs;
    if (x->ndim != 2) return rl_error_set(RL_RUNTIME, "pdist only supports 2D tensors, got: %dD", x->ndim);
    if (pairs_of(x, &pairs) != RL_OK) return RL_FAIL;
    for (int i = 0; i < 4; i += 3) {
        const rl_view *v = k->arg[i].u.t;
        if (v->ndim != 1 || v->shape[0] != pairs || v->dtype != x->dtype)
            return rl_error_set(RL_RUNTIME, "_pdist_backward: %s does not look like the distances",
                                i ? "pdist" : "grad");
    }
    return rl_out_dims(k, 0, x->shape, 2);
}
