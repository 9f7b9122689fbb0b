/* Shape rules of the backward rows: what the forward row would have answered says how large the gradient
 * must be. attr[] is left as the forward's rule leaves it. */
#include "shape.h"

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

/* ---- pooling ---- */
/* The forward row's call: k's arguments without the gradient. */
static rl_call forward_call(const rl_call *k, const char *name, rl_view *out) {
    rl_call forward = *k;
    forward.name = name;
    forward.n_arg = k->n_arg - 1;
    for (int i = 0; i < forward.n_arg; i++) forward.arg[i] = k->arg[i + 1];
    *out = (rl_view){.dtype = k->arg[0].u.t->dtype};
    forward.out[0] = out;
    forward.n_out = 1;
    return forward;
}

/* the gradient must look like the forward's answer; this row's looks like the forward's input */
static rl_status as_input(rl_call *k, const rl_view *expected) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    if (!same_dims(expected, grad)) return gradient_differs(k, expected);
    if (grad->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(x->dtype),
                            rl_dtype_title(grad->dtype));
    return rl_out_dims(k, 0, x->shape, x->ndim);
}

static rl_status indices_like_gradient(const rl_call *k, const rl_view *indices) {
    if (indices->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "%s: expected indices of dtype int64, but got %s", k->name,
                            rl_dtype_name(indices->dtype));
    if (same_dims(indices, k->arg[0].u.t)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "%s: expected grad_output and indices to have the same sizes", k->name);
}

static rl_status max_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "max_pool1d", "max_pool2d", "max_pool3d"};
    rl_view expected;
    rl_call forward = forward_call(k, names[n], &expected);
    if (rl_pool_shape(&forward, n, 4, forward.arg[5].u.i != 0) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return as_input(k, &expected);
}

static rl_status max_pool_indices_back(rl_call *k, int n) {
    if (indices_like_gradient(k, k->arg[7].u.t) != RL_OK) return RL_FAIL;
    return max_pool_back(k, n);
}

enum { SPATIAL = 14 };
/* attr[14]: dimensions of a plane, as the other pools have it */
static rl_status adaptive_back(rl_call *k, int n) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    char text[RL_DIMS_TEXT];
    bool fits = (x->ndim == n + 1 || x->ndim == n + 2) && grad->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim - n; d++) fits = grad->shape[d] == x->shape[d];
    for (int d = x->ndim - n; fits && d < x->ndim; d++) fits = x->shape[d] > 0 || grad->shape[d] == 0;
    if (!fits)
        return rl_error_set(RL_RUNTIME, "%s(): grad_output does not fit an input with sizes %s", k->name,
                            rl_dims_text(text, x->shape, x->ndim));
    k->attr[SPATIAL] = n;
    return as_input(k, grad);
}

static rl_status adaptive_max_back(rl_call *k, int n) {
    if (indices_like_gradient(k, k->arg[2].u.t) != RL_OK) return RL_FAIL;
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
        return adaptive_max_back(k, n);                                                                      \
    }
POOL_BACK(1)
POOL_BACK(2)
POOL_BACK(3)

/* ---- softmax ---- */
RL_SHAPE(softmax_backward) { /* attr[0]: the dimension */
    const rl_view *grad = k->arg[0].u.t, *out = k->arg[1].u.t;
    int64_t dim = k->arg[2].u.i;
    if (rl_dim_wrap(&dim, out->ndim) != RL_OK) return RL_FAIL;
    k->attr[0] = dim;
    if (!same_dims(grad, out)) return gradient_differs(k, out);
    return as_input(k, out);
}

/* ---- means ---- */
static rl_status avg_pool_back(rl_call *k, int n) {
    static const char *const names[] = {"", "avg_pool1d", "avg_pool2d", "avg_pool3d"};
    rl_view expected;
    rl_call forward = forward_call(k, names[n], &expected);
    bool divides = n > 1 && forward.arg[6].tag != RL_NONE;
    forward.attr[12] = forward.arg[5].u.i;
    forward.attr[13] = divides ? forward.arg[6].u.i : 0;
    if (divides && forward.attr[13] == 0) return rl_error_set(RL_RUNTIME, "divisor must be not zero");
    if (rl_pool_shape(&forward, n, 0, forward.arg[4].u.i != 0) != RL_OK) return RL_FAIL;
    memcpy(k->attr, forward.attr, sizeof k->attr);
    return as_input(k, &expected);
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

/* ---- resizing and padding: the input is known by its sizes ---- */
RL_SHAPE(upsample2d_backward) { /* args 1, 2: output size, input size */
    const rl_view *grad = k->arg[0].u.t;
    rl_view x;
    char text[RL_DIMS_TEXT];
    int64_t sizes[2];
    if (sizes_read(k, 2, &x) != RL_OK || rl_ints_read(k, 1, 2, sizes) != RL_OK) return RL_FAIL;
    bool fits =
        x.ndim == 4 && grad->ndim == 4 && grad->shape[0] == x.shape[0] && grad->shape[1] == x.shape[1];
    for (int i = 0; fits && i < 2; i++)
        fits = grad->shape[2 + i] == sizes[i] && grad->shape[2 + i] > 0 && x.shape[2 + i] > 0;
    if (!fits)
        return rl_error_set(RL_RUNTIME,
                            "%s: grad_output with sizes %s does not fit output_size and input_size", k->name,
                            rl_dims_text(text, grad->shape, grad->ndim));
    k->attr[SPATIAL] = 2;
    return rl_out_dims(k, 0, x.shape, 4);
}

rl_status shape_pad(rl_call *k);
RL_SHAPE(pad_backward) { /* args 1 to 3: input size, pad, mode; attr[0]: the mode */
    rl_view x, expected;
    rl_call forward = forward_call(k, "pad", &expected);
    if (sizes_read(k, 1, &x) != RL_OK) return RL_FAIL;
    forward.arg[0] = (rl_slot){.tag = RL_TENSOR, .u.t = &x};
    forward.arg[3] = (rl_slot){.tag = RL_NONE};
    if (shape_pad(&forward) != RL_OK) return RL_FAIL;
    if (forward.attr[0] == 0)
        return rl_error_set(RL_RUNTIME, "pad_backward: the gradient of constant padding is padding by the "
                                        "negative numbers");
    if (!same_dims(&expected, k->arg[0].u.t)) return gradient_differs(k, &expected);
    k->attr[0] = forward.attr[0];
    k->attr[SPATIAL] = k->arg[2].n / 2;
    return rl_out_dims(k, 0, x.shape, x.ndim);
}

RL_SHAPE(embedding_dense_backward) {
    const rl_view *grad = k->arg[0].u.t, *index = k->arg[1].u.t;
    int64_t shape[2] = {k->arg[2].u.i, grad->ndim ? grad->shape[grad->ndim - 1] : 0};
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME,
                            "Expected tensor for argument #2 'indices' to have one of the following scalar "
                            "types: Long, Int; but got torch.%sTensor instead (while checking arguments for "
                            "embedding_backward)",
                            rl_dtype_title(index->dtype));
    rl_view lead = {.shape = grad->shape, .ndim = (uint8_t)(grad->ndim ? grad->ndim - 1 : 0)};
    if (grad->ndim == 0 || !same_dims(&lead, index))
        return rl_error_set(RL_RUNTIME, "embedding_dense_backward: grad_output does not fit the indices");
    return rl_out_dims(k, 0, shape, 2);
}
