/* Shape rules of the layers' rows. Windows leave in attr[]:
 *   0,1 pad before (h, w)   2,3 pad after   4,5 stride   6,7 dilation   8 groups      convolution
 *   0,1 kernel   2,3 stride   4,5 padding   6,7 dilation                              pooling */
#include "shape.h"

RL_SHAPE(matmul) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS];
    char ta[RL_DIMS_TEXT], tb[RL_DIMS_TEXT];
    if (a->ndim == 0 || b->ndim == 0)
        return rl_error_set(RL_RUNTIME,
                            "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                            a->ndim, b->ndim);
    int64_t m = a->ndim > 1 ? a->shape[a->ndim - 2] : 1, ka = a->shape[a->ndim - 1];
    int64_t kb = b->shape[b->ndim > 1 ? b->ndim - 2 : 0], n = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    if (ka != kb) {
        if (a->ndim == 1 && b->ndim == 1)
            return rl_error_set(
                RL_RUNTIME,
                "inconsistent tensor size, expected tensor %s and src %s to have the same number of "
                "elements, but got %lld and %lld elements respectively",
                rl_dims_text(ta, a->shape, 1), rl_dims_text(tb, b->shape, 1), (long long)ka, (long long)kb);
        if (a->ndim == 2 && b->ndim == 1)
            return rl_error_set(RL_RUNTIME, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                                (long long)m, (long long)m, (long long)ka, (long long)kb);
        if (a->ndim <= 2 || b->ndim <= 2) {
            for (int i = 0; i < a->ndim - 2; i++) m *= a->shape[i];
            return rl_error_set(RL_RUNTIME,
                                "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                                (long long)m, (long long)ka, (long long)kb, (long long)n);
        }
        return rl_error_set(RL_RUNTIME,
                            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
                            "got: [%lld, %lld].",
                            (long long)a->shape[a->ndim - 3], (long long)ka, (long long)b->shape[b->ndim - 3],
                            (long long)kb);
    }
    rl_view la = {.shape = a->shape, .ndim = (uint8_t)(a->ndim > 2 ? a->ndim - 2 : 0)};
    rl_view lb = {.shape = b->shape, .ndim = (uint8_t)(b->ndim > 2 ? b->ndim - 2 : 0)};
    int lead;
    if (rl_dims_broadcast(&la, &lb, shape, &lead) != RL_OK) return RL_FAIL;
    if (a->ndim > 1) shape[lead++] = m;
    if (b->ndim > 1) shape[lead++] = n;
    return rl_out_dims(k, 0, shape, lead);
}

RL_SHAPE(linear) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    int64_t shape[RL_MAX_DIMS], rows = 1;
    if (w->ndim > 2 || w->ndim < 1 || x->ndim < 1)
        return rl_error_set(
            RL_RUNTIME,
            "linear: expected input of at least 1 and weight of 1 or 2 dimensions, got %dD and %dD", x->ndim,
            w->ndim);
    int64_t in = x->shape[x->ndim - 1], k_w = w->shape[w->ndim - 1], n = w->ndim == 2 ? w->shape[0] : 1;
    for (int d = 0; d < x->ndim - 1; d++) rows *= shape[d] = x->shape[d];
    if (in != k_w) {
        return rl_error_set(RL_RUNTIME, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                            (long long)rows, (long long)in, (long long)k_w, (long long)n);
    }
    if (bias && (bias->ndim > 1 || (bias->ndim == 1 && bias->shape[0] != n && bias->shape[0] != 1)))
        return rl_error_set(
            RL_RUNTIME,
            "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
            "dimension %d.  Target sizes: [%lld, %lld].  Tensor sizes: [%lld]",
            (long long)n, (long long)bias->shape[0], x->ndim - 1, (long long)rows, (long long)n,
            (long long)bias->shape[0]);
    if (w->ndim == 1) return rl_out_dims(k, 0, shape, x->ndim - 1);
    shape[x->ndim - 1] = n;
    return rl_out_dims(k, 0, shape, x->ndim);
}

/* one window dimension: how many places it takes, or -1 */
static int64_t window_places(int64_t size, int64_t before, int64_t after, int64_t kernel, int64_t stride,
                             int64_t dilation) {
    int64_t reach, padded;
    if (__builtin_mul_overflow(dilation, kernel - 1, &reach) ||
        __builtin_add_overflow(size, before, &padded) || __builtin_add_overflow(padded, after, &padded))
        return -1;
    return padded - reach - 1 < 0 ? -1 : (padded - reach - 1) / stride + 1;
}

static rl_status conv_padding(rl_call *k, const rl_view *w) {
    const rl_slot *pad = &k->arg[4];
    if (pad->tag != RL_TEXT) {
        if (rl_ints_read(k, 4, 2, k->attr) != RL_OK) return RL_FAIL;
        memcpy(k->attr + 2, k->attr, 2 * sizeof *k->attr);
        return rl_conv_pads(k->attr, 2);
    }
    bool same = strcmp(pad->u.s, "same") == 0;
    if (!same && strcmp(pad->u.s, "valid") != 0)
        return rl_error_set(RL_RUNTIME, "Invalid padding string: '%s'", pad->u.s);
    for (int i = 0; i < 2; i++) {
        if (same && k->attr[4 + i] != 1)
            return rl_error_set(RL_RUNTIME, "padding='same' is not supported for strided convolutions");
        int64_t total = 0;
        if (same && __builtin_mul_overflow(k->attr[6 + i], w->shape[2 + i] - 1, &total))
            return rl_error_set(RL_RUNTIME, "conv2d: sizes are too large");
        k->attr[i] = total / 2;
        k->attr[2 + i] = total - total / 2;
    }
    return RL_OK;
}

/* the int[2] arguments hold one or two numbers */
static rl_status pair_length(rl_call *k, int arg, const char *what) {
    const rl_slot *s = &k->arg[arg];
    if (s->tag != RL_INTS || s->n == 1 || s->n == 2) return RL_OK;
    char text[RL_DIMS_TEXT];
    if (k->arg[4].tag == RL_TEXT && strcmp(k->arg[4].u.s, "same") == 0)
        return rl_error_set(RL_RUNTIME, "%s cannot broadcast to 2 dimensions", what);
    return rl_error_set(RL_RUNTIME,
                        "expected %s to be a single integer value or a list of 2 values to match the "
                        "convolution dimensions, but got %s=%s",
                        what, what, rl_dims_text(text, s->u.ints, s->n));
}

RL_SHAPE(conv2d) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    int64_t groups = k->arg[6].u.i, shape[4];
    char tx[RL_DIMS_TEXT], tw[RL_DIMS_TEXT];
    if ((x->ndim != 3 && x->ndim != 4))
        return rl_error_set(
            RL_RUNTIME, "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: %s",
            rl_dims_text(tx, x->shape, x->ndim));
    if (w->ndim != 4)
        return rl_error_set(
            RL_RUNTIME,
            "weight should have at least three dimensions, and %dD was given to a 2-D convolution", w->ndim);
    if (groups <= 0) return rl_error_set(RL_RUNTIME, "non-positive groups is not supported");
    if (pair_length(k, 3, "stride") != RL_OK || pair_length(k, 4, "padding") != RL_OK ||
        pair_length(k, 5, "dilation") != RL_OK || rl_ints_read(k, 3, 2, k->attr + 4) != RL_OK ||
        rl_ints_read(k, 5, 2, k->attr + 6) != RL_OK)
        return RL_FAIL;
    for (int i = 0; i < 2; i++) {
        if (k->attr[4 + i] <= 0) return rl_error_set(RL_RUNTIME, "non-positive stride is not supported");
        if (k->attr[6 + i] <= 0)
            return rl_error_set(RL_RUNTIME, "dilation should be greater than zero, but got %s",
                                rl_dims_text(tx, k->attr + 6, 2));
        if (w->shape[2 + i] <= 0)
            return rl_error_set(RL_RUNTIME, "weight should have a kernel of at least one element, but has %s",
                                rl_dims_text(tw, w->shape, 4));
    }
    k->attr[8] = groups;
    if (conv_padding(k, w) != RL_OK) return RL_FAIL;
    int64_t channels = x->shape[x->ndim - 3];
    rl_dims_text(tw, w->shape, 4);
    if (w->shape[0] < groups || w->shape[0] % groups)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got "
                            "weight of size %s instead",
                            (long long)groups, (long long)groups, tw);
    int64_t expected;
    if (__builtin_mul_overflow(w->shape[1], groups, &expected) || channels != expected)
        return rl_error_set(RL_RUNTIME,
                            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, "
                            "but got %lld channels instead",
                            (long long)groups, tw, rl_dims_text(tx, x->shape, x->ndim), (long long)expected,
                            (long long)channels);
    if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0]))
        return rl_error_set(RL_RUNTIME,
                            "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, "
                            "but got bias of size %s instead",
                            tw, (long long)w->shape[0], rl_dims_text(tx, bias->shape, bias->ndim));
    int n = x->ndim;
    if (n == 4) shape[0] = x->shape[0];
    shape[n - 3] = w->shape[0];
    for (int i = 0; i < 2; i++) {
        shape[n - 2 + i] = window_places(x->shape[n - 2 + i], k->attr[i], k->attr[2 + i], w->shape[2 + i],
                                         k->attr[4 + i], k->attr[6 + i]);
        if (shape[n - 2 + i] < 1) {
            long long padded[2], reach[2];
            for (int j = 0; j < 2; j++) {
                if (__builtin_add_overflow(x->shape[n - 2 + j], k->attr[j], &padded[j]) ||
                    __builtin_add_overflow(padded[j], k->attr[2 + j], &padded[j]) ||
                    __builtin_mul_overflow(k->attr[6 + j], w->shape[2 + j] - 1, &reach[j]) ||
                    __builtin_add_overflow(reach[j], 1, &reach[j]))
                    return rl_error_set(RL_RUNTIME, "conv2d: sizes are too large");
            }
            return rl_error_set(
                RL_RUNTIME,
                "Calculated padded input size per channel: (%lld x %lld). Kernel size: (%lld x %lld). "
                "Kernel size can't be greater than actual input size",
                padded[0], padded[1], reach[0], reach[1]);
        }
    }
    return rl_out_dims(k, 0, shape, n);
}

/* ---- pooling ---- */
static rl_status pool_out(rl_call *k, const char *name, int dilation_arg, bool ceil_mode) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[4];
    char text[RL_DIMS_TEXT];
    int n = x->ndim;
    if (rl_pool_list(k, 1, "kernel_size", 2) != RL_OK || rl_pool_list(k, 2, "stride", 2) != RL_OK ||
        rl_pool_list(k, 3, "padding", 2) != RL_OK ||
        (dilation_arg && rl_pool_list(k, dilation_arg, "dilation", 2) != RL_OK))
        return RL_FAIL;
    bool own = rl_ints_of(k, 2).n > 0;
    k->attr[6] = k->attr[7] = 1;
    if (rl_ints_read(k, 1, 2, k->attr) != RL_OK || rl_ints_read(k, own ? 2 : 1, 2, k->attr + 2) != RL_OK ||
        rl_ints_read(k, 3, 2, k->attr + 4) != RL_OK ||
        (dilation_arg && rl_ints_read(k, dilation_arg, 2, k->attr + 6) != RL_OK))
        return RL_FAIL;
    for (int j = 0; j < 8; j++)
        if (k->attr[j] > INT32_MAX) return rl_error_set(RL_RUNTIME, "integer out of range");
    for (int i = 0; i < 2; i++)
        if (k->attr[2 + i] <= 0) return rl_error_set(RL_RUNTIME, "stride should not be zero");
    for (int i = 0; i < 2; i++)
        if (k->attr[i] <= 0)
            return rl_error_set(RL_RUNTIME,
                                "kernel size should be greater than zero, but got kH: %lld kW: %lld",
                                (long long)k->attr[0], (long long)k->attr[1]);
    for (int i = 0; i < 2; i++)
        if (k->attr[6 + i] <= 0)
            return rl_error_set(
                RL_RUNTIME, "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld",
                (long long)k->attr[6], (long long)k->attr[7]);
    bool sizes = n == 3 || n == 4;
    for (int d = n - 3; sizes && d < n; d++) sizes = x->shape[d] > 0;
    if (!sizes)
        return rl_error_set(
            RL_RUNTIME,
            n == 3 || n == 4
                ? "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s"
                : "non-empty 3D or 4D (batch mode) tensor expected for input",
            rl_dims_text(text, x->shape, n));
    for (int i = 0; i < 2; i++) {
        int64_t reach = ((k->attr[i] - 1) * k->attr[6 + i] + 1) / 2;
        if (k->attr[4 + i] < 0)
            return rl_error_set(RL_RUNTIME, "pad must be non-negative, but got pad: %lld",
                                (long long)k->attr[4 + i]);
        if (k->attr[4 + i] > reach)
            return rl_error_set(RL_RUNTIME,
                                dilation_arg ? "pad should be at most half of effective kernel size, but got "
                                               "pad=%lld, kernel_size=%lld and dilation=%lld"
                                             : "pad should be at most half of effective kernel size, but got "
                                               "pad=%lld, kernel_size=%lld and dilation=%lld",
                                (long long)k->attr[4 + i], (long long)k->attr[i], (long long)k->attr[6 + i]);
    }
    for (int d = 0; d < n - 2; d++) shape[d] = x->shape[d];
    for (int i = 0; i < 2; i++)
        shape[n - 2 + i] = rl_pool_places(x->shape[n - 2 + i], k->attr[4 + i], k->attr[i], k->attr[2 + i],
                                          k->attr[6 + i], ceil_mode);
    if (shape[n - 1] < 1 || shape[n - 2] < 1)
        return rl_error_set(RL_RUNTIME,
                            "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). "
                            "Output size is too small",
                            (long long)x->shape[n - 3], (long long)x->shape[n - 2],
                            (long long)x->shape[n - 1], (long long)x->shape[n - 3], (long long)shape[n - 2],
                            (long long)shape[n - 1]);
    (void)name;
    for (int i = 0; dilation_arg && i < 2; i++)
        k->attr[i] = rl_pool_reach(k->attr[i], x->shape[n - 2 + i], k->attr[4 + i], k->attr[6 + i]);
    return rl_out_dims(k, 0, shape, n);
}

RL_SHAPE(max_pool2d) {
    return pool_out(k, "max_pool2d", 4, k->arg[5].u.i != 0);
}

RL_SHAPE(avg_pool2d) { /* attr[8]: count padding, attr[9]: divisor or 0 */
    k->attr[8] = k->arg[5].u.i;
    k->attr[9] = k->arg[6].tag == RL_NONE ? 0 : k->arg[6].u.i;
    if (k->arg[6].tag != RL_NONE && k->attr[9] == 0)
        return rl_error_set(RL_RUNTIME, "divisor must be not zero");
    return pool_out(k, "avg_pool2d", 0, k->arg[4].u.i != 0);
}

RL_SHAPE(adaptive_avg_pool2d) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[4], wanted[2];
    char text[RL_DIMS_TEXT];
    int n = x->ndim;
    if (n != 3 && n != 4)
        return rl_error_set(RL_RUNTIME, "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got %s",
                            rl_dims_text(text, x->shape, n));
    if (k->arg[1].tag == RL_INTS && k->arg[1].n != 2)
        return rl_error_set(RL_RUNTIME, "adaptive_avg_pool2d: output_size must be 2");
    if (rl_ints_read(k, 1, 2, wanted) != RL_OK) return RL_FAIL;
    for (int d = 0; d < n - 2; d++) shape[d] = x->shape[d];
    for (int i = 0; i < 2; i++) { /* INT64_MIN stands for None */
        shape[n - 2 + i] = wanted[i] == INT64_MIN ? x->shape[n - 2 + i] : wanted[i];
        if (shape[n - 2 + i] < 0)
            return rl_error_set(
                RL_RUNTIME,
                "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0");
    }
    for (int d = n - 3; d < n; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but "
                "input has sizes %s with dimension %d being empty",
                rl_dims_text(text, x->shape, n), d);
    return rl_out_dims(k, 0, shape, n);
}

rl_status rl_one_dim(const rl_view *v) {
    if (!v || v->ndim == 1 || v->numel <= 1) return RL_OK;
    return rl_error_set(RL_RUNTIME, "TensorAccessor expected 1 dims but tensor has %d", v->ndim);
}

RL_SHAPE(batch_norm) { /* args 1 to 4: weight, bias, running_mean, running_var */
    static const char *const names[] = {"", "weight", "bias", "running_mean", "running_var"};
    const rl_view *x = k->arg[0].u.t;
    bool training = k->arg[5].u.i != 0;
    if (x->ndim < 2)
        return rl_error_set(RL_RUNTIME, "batch_norm: expected an input of at least 2 dimensions, got %dD",
                            x->ndim);
    if (!training && (!rl_in(k, 3) || !rl_in(k, 4)))
        return rl_error_set(RL_RUNTIME, "running_mean must be defined in evaluation mode");
    if (!rl_in(k, 3) != !rl_in(k, 4))
        return rl_error_set(RL_RUNTIME,
                            "running_mean and running_var must either both be None or neither be None");
    for (int i = 1; i <= 4; i++) {
        const rl_view *v = rl_in(k, i);
        if (v && v->numel != x->shape[1])
            return rl_error_set(RL_RUNTIME, "%s should contain %lld elements not %lld", names[i],
                                (long long)x->shape[1], (long long)v->numel);
        if (rl_one_dim(v) != RL_OK) return RL_FAIL;
        if (v && v->dtype != x->dtype && x->dtype == RL_F64)
            return rl_error_set(RL_RUNTIME, "mixed dtype (CPU): all inputs must share same datatype.");
        if (v && v->dtype != x->dtype && v->dtype != RL_F32)
            return rl_error_set(RL_RUNTIME,
                                "mixed dtype (CPU): expect parameter to have scalar type of Float");
    }
    if (rl_out_dims(k, 0, x->shape, x->ndim) != RL_OK) return RL_FAIL;
    /* for the derivative: mean and 1 / deviation; without training they are known */
    const rl_view *weight = rl_in(k, 1) ? rl_in(k, 1) : rl_in(k, 2);
    int64_t kept = training ? x->shape[1] : 0;
    for (int i = 1; i < k->n_out; i++) {
        if (weight) k->out[i]->dtype = weight->dtype;
        if (rl_out_dims(k, i, &kept, 1) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}

RL_SHAPE(dropout) {
    double p = rl_num(k, 1);
    if (!(p >= 0 && p <= 1))
        return rl_error_set(RL_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    for (int i = k->n_out - 1; i > 0; i--) /* the mask */
        if (rl_out_dims(k, i, k->arg[0].u.t->shape, k->arg[0].u.t->ndim) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, k->arg[0].u.t->shape, k->arg[0].u.t->ndim);
}

static rl_status resize_out(rl_call *k) {
    const rl_view *x = k->arg[0].u.t;
    char text[RL_DIMS_TEXT];
    if (k->arg[1].tag == RL_INTS && k->arg[1].n != 2)
        return rl_error_set(RL_RUNTIME, "It is expected output_size equals to 2, but got size %d",
                            k->arg[1].n);
    if (x->ndim != 4)
        return rl_error_set(RL_RUNTIME, "It is expected input_size equals to 4, but got size %d", x->ndim);
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    if (rl_ints_read(k, 1, 2, shape + 2) != RL_OK) return RL_FAIL;
    if (x->shape[2] <= 0 || x->shape[3] <= 0 || shape[2] <= 0 || shape[3] <= 0)
        return rl_error_set(
            RL_RUNTIME,
            "Input and output sizes should be greater than 0, but got input (H: %lld, W: %lld) output (H: "
            "%lld, W: %lld)",
            (long long)x->shape[2], (long long)x->shape[3], (long long)shape[2], (long long)shape[3]);
    if (x->shape[1] == 0)
        return rl_error_set(RL_RUNTIME, "Non-empty 4D data tensor expected but got a tensor with sizes %s",
                            rl_dims_text(text, x->shape, 4));
    return rl_out_dims(k, 0, shape, 4);
}

RL_SHAPE(upsample2d) {
    return resize_out(k);
}
RL_SHAPE(upsample2d_nearest) {
    return resize_out(k);
}

RL_SHAPE(pad) { /* attr[0]: 0 constant, 1 reflect, 2 replicate, 3 circular */
    static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *pad = &k->arg[1];
    int64_t shape[RL_MAX_DIMS];
    char text[RL_DIMS_TEXT];
    int mode = 0, n = pad->n;
    if (pad->tag != RL_INTS)
        return rl_error_set(RL_TYPE, "pad(): argument 'pad' (position 2) must be tuple of ints, not int");
    while (mode < 4 && strcmp(modes[mode], k->arg[2].u.s) != 0) mode++;
    if (mode == 4) return rl_error_set(RL_NOTIMPL, "Unrecognised padding mode %s", k->arg[2].u.s);
    if (n % 2) return rl_error_set(RL_RUNTIME, "Padding length must be divisible by 2");
    if (n / 2 > x->ndim)
        return rl_error_set(RL_RUNTIME,
                            "Padding length should be less than or equal to two times the input dimension "
                            "but got padding length %d and input of dimension %d",
                            n, x->ndim);
    if (mode && !(n / 2 >= 1 && n / 2 <= 3 && (x->ndim == n / 2 + 1 || x->ndim == n / 2 + 2)))
        return rl_error_set(RL_NOTIMPL,
                            "Padding size %d is not supported for %dD input tensor.\n"
                            "Supported combinations for non-constant padding:\n"
                            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
                            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
                            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
                            n, x->ndim);
    if (mode && k->arg[3].tag != RL_NONE)
        return rl_error_set(RL_RUNTIME, "Padding mode \"%s\" doesn't take in value argument", modes[mode]);
    k->attr[0] = mode;
    for (int d = x->ndim - 1; d >= 0; d--) {
        int at = 2 * (x->ndim - 1 - d);
        int64_t left = at < n ? pad->u.ints[at] : 0, right = at < n ? pad->u.ints[at + 1] : 0,
                size = x->shape[d];
        if (__builtin_add_overflow(size, left, &shape[d]) ||
            __builtin_add_overflow(shape[d], right, &shape[d]))
            return rl_error_set(RL_RUNTIME, "padding is too large");
        if (mode == 1 && at < n && (left >= size || right >= size))
            return rl_error_set(RL_RUNTIME,
                                "Argument #4: Padding size should be less than the corresponding input "
                                "dimension, but got: padding (%lld, %lld) at dimension %d of input %s",
                                (long long)left, (long long)right, d, rl_dims_text(text, x->shape, x->ndim));
        if (mode == 3 && at < n && (left > size || right > size))
            return rl_error_set(RL_RUNTIME, "Padding value causes wrapping around more than once.");
        if (mode && size == 0 && at < n) /* nothing is there to repeat */
            return rl_error_set(
                RL_RUNTIME,
                "Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other "
                "non-zero dimensions for input, but got: %s",
                n / 2 + 1, n / 2 + 2, rl_dims_text(text, x->shape, x->ndim));
        if (mode && (left < 0 || right < 0))
            return rl_error_set(RL_RUNTIME, "negative padding is only supported in constant mode");
        if (shape[d] < 0 || (mode && shape[d] < 1))
            return rl_error_set(
                RL_RUNTIME,
                "The input size %lld, plus negative padding %lld and %lld, resulted in a negative output "
                "size, which is invalid. Check dimension %d of your input.",
                (long long)size, (long long)left, (long long)right, d);
    }
    return rl_out_dims(k, 0, shape, x->ndim);
}
