/* Shape rules of pictures in another size: (input, output_size, [align_corners], factors ...), and of the
 * gradients (grad_output, output_size, input_size, [align_corners], factors ...). */
#include "kernel_abi/resize.h"
#include "shape.h"
#include <stdio.h>

/* "(H: 4, W: 5)" */
enum { SIZES_TEXT = 80 };
static const char *sizes_text(char *text, const int64_t *size, int n) {
    int used = 0;
    for (int i = 0; i < n; i++)
        used += snprintf(text + used, (size_t)(SIZES_TEXT - used), "%s%c: %lld%s", i ? ", " : "(",
                         "DHW"[3 - n + i], (long long)size[i], i == n - 1 ? ")" : "");
    return text;
}

/* PyTorch's checks of both sizes; shape: what the output will have */
static rl_status resize_sizes(rl_call *k, int n, const rl_view *x, int64_t shape[5]) {
    char in[SIZES_TEXT], out[SIZES_TEXT];
    bool empty = false;
    if (k->arg[1].tag == RL_INTS && k->arg[1].n != n)
        return rl_error_set(RL_RUNTIME, "It is expected output_size equals to %d, but got size %d", n,
                            k->arg[1].n);
    if (x->ndim != n + 2)
        return rl_error_set(RL_RUNTIME, "It is expected input_size equals to %d, but got size %d", n + 2,
                            x->ndim);
    shape[0] = x->shape[0], shape[1] = x->shape[1];
    if (rl_ints_read(k, 1, n, shape + 2) != RL_OK) return RL_FAIL;
    for (int i = 2; i < n + 2; i++) empty |= x->shape[i] <= 0 || shape[i] <= 0;
    if (empty)
        return rl_error_set(
            RL_RUNTIME, "Input and output sizes should be greater than 0, but got input %s %soutput %s",
            sizes_text(in, x->shape + 2, n), n == 1 ? "and " : "", sizes_text(out, shape + 2, n));
    return RL_OK;
}

/* `at`: the argument behind the sizes */
static void resize_read(rl_call *k, rl_resize_mode mode, int n, int at) {
    rl_resize *r = rl_resize_made(k);
    *r = (rl_resize){.mode = mode, .spatial = n};
    if (mode > RL_RESIZE_EXACT) r->corners = k->arg[at++].u.i;
    for (int i = 3 - n; i < 3; i++, at++) r->factor[i] = k->arg[at].tag == RL_NONE ? 0 : rl_num(k, at);
}

/* In PyTorch kernels for few elements side by side look at the sizes before they look at factors. */
static bool resize_snaps(const rl_view *x, const rl_view *out) {
    if (out->ndim == 3) return false;
    if (out->ndim == 4 && out->shape[2] + out->shape[3] <= 128) return true;
    return x->shape[1] > 3 && x->strides && rl_looks_channels_last(x);
}

static rl_status resize_shape(rl_call *k, rl_resize_mode mode) {
    const rl_view *x = k->arg[0].u.t;
    const int at = 2, n = k->n_arg - at - (mode > RL_RESIZE_EXACT);
    int64_t shape[5];
    char text[RL_DIMS_TEXT];
    if (resize_sizes(k, n, x, shape) != RL_OK) return RL_FAIL;
    if (x->shape[1] == 0)
        return rl_error_set(RL_RUNTIME, "Non-empty %dD data tensor expected but got a tensor with sizes %s",
                            n + 2, rl_dims_text(text, x->shape, n + 2));
    if (rl_out_dims(k, 0, shape, n + 2) != RL_OK) return RL_FAIL;
    resize_read(k, mode, n, at);
    rl_resize_made(k)->snaps = mode <= RL_RESIZE_EXACT && resize_snaps(x, k->out[0]);
    return RL_OK;
}

/* PyTorch has other words for one dim */
static rl_status grad_fits(const rl_view *grad, const int64_t *shape, int ndim) {
    if (ndim > 3 && grad->ndim != ndim)
        return rl_error_set(RL_RUNTIME,
                            "Expected grad_output to be a tensor of dimension %d but got: dimension %d", ndim,
                            grad->ndim);
    for (int i = 0; i < ndim; i++) {
        if (grad->ndim == ndim && grad->shape[i] == shape[i]) continue;
        if (ndim > 3)
            return rl_error_set(RL_RUNTIME,
                                "Expected grad_output to have the same shape as output; output.size(%d) = "
                                "%lld but got grad_output.size(%d) = %lld",
                                i, (long long)shape[i], i, (long long)grad->shape[i]);
        return rl_error_set(RL_RUNTIME,
                            "Expected a tensor of dimension %d and tensor.size[%d] == %lld but got: "
                            "dimension %d and tensor.size[%d] = %lld",
                            ndim, i, (long long)shape[i], grad->ndim, i,
                            (long long)(i < grad->ndim ? grad->shape[i] : 0));
    }
    return RL_OK;
}

static rl_status resize_back_shape(rl_call *k, rl_resize_mode mode) {
    const int at = 3, n = k->n_arg - at - (mode > RL_RESIZE_EXACT);
    int64_t shape[5];
    rl_view x;
    if (rl_sizes_read(k, 2, &x) != RL_OK || resize_sizes(k, n, &x, shape) != RL_OK ||
        grad_fits(k->arg[0].u.t, shape, n + 2) != RL_OK)
        return RL_FAIL;
    if (rl_out_dims(k, 0, x.shape, n + 2) != RL_OK) return RL_FAIL;
    resize_read(k, mode, n, at);
    rl_resize_made(k)->snaps = mode <= RL_RESIZE_EXACT;
    rl_resize_made(k)->back = true;
    return RL_OK;
}

#define MODE(name, mode)                                                                                     \
    RL_SHAPE(resize_##name) {                                                                                \
        return resize_shape(k, mode);                                                                        \
    }                                                                                                        \
    RL_SHAPE(resize_##name##_back) {                                                                         \
        return resize_back_shape(k, mode);                                                                   \
    }
MODE(nearest, RL_RESIZE_NEAREST)
MODE(exact, RL_RESIZE_EXACT)
MODE(linear, RL_RESIZE_LINEAR)
MODE(cubic, RL_RESIZE_CUBIC)
MODE(linear_aa, RL_RESIZE_LINEAR_AA)
MODE(cubic_aa, RL_RESIZE_CUBIC_AA)
MODE(lanczos_aa, RL_RESIZE_LANCZOS_AA)
