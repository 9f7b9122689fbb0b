/* Shape rules of sliding blocks. They leave an rl_window of two dimensions. */
#include "kernel_abi/window.h"
#include "shape.h"

static rl_status two(const rl_call *k, int arg, const char *what, int64_t *to) {
    const rl_value *s = &k->arg[arg];
    if (s->tag == RL_INTS && s->n != 2)
        return rl_error_set(RL_RUNTIME, "It is expected %s equals to 2, but got size %d", what, s->n);
    return rl_ints_read(k, arg, 2, to);
}

static rl_status out_of_range(const char *what, const char *must, const char *name, const int64_t *two) {
    return rl_error_set(RL_RUNTIME, "%s should be %s, but got %s_height: %lld %s_width: %lld", what, must,
                        name, (long long)two[1], name, (long long)two[2]);
}

/* kernel_size, dilation, padding and stride from argument `first` on */
static rl_status blocks_read(rl_call *k, int first) {
    rl_window *a = rl_window_made(k);
    a->spatial = 2;
    a->kernel[0] = a->dilation[0] = a->stride[0] = 1;
    a->before[0] = 0;
    if (two(k, first, "kernel_size", a->kernel + 1) != RL_OK ||
        two(k, first + 1, "dilation", a->dilation + 1) != RL_OK ||
        two(k, first + 2, "padding", a->before + 1) != RL_OK ||
        two(k, first + 3, "stride", a->stride + 1) != RL_OK)
        return RL_FAIL;
    for (int i = 1; i < 3; i++) {
        if (a->kernel[i] <= 0) return out_of_range("kernel size", "greater than zero", "kernel", a->kernel);
        if (a->dilation[i] <= 0)
            return out_of_range("dilation", "greater than zero", "dilation", a->dilation);
    }
    for (int i = 1; i < 3; i++)
        if (a->before[i] < 0) return out_of_range("padding", "non-negative", "pad", a->before);
    for (int i = 1; i < 3; i++)
        if (a->stride[i] <= 0) return out_of_range("stride", "greater than zero", "stride", a->stride);
    for (int i = 1; i < 3; i++)
        if (a->kernel[i] > INT32_MAX || a->dilation[i] > INT32_MAX || a->before[i] > INT32_MAX ||
            a->stride[i] > INT32_MAX)
            return rl_error_set(RL_RUNTIME, "integer out of range");
    return RL_OK;
}

/* how many blocks there are along dimension i (1 or 2), below 1: none */
static int64_t blocks(const rl_window *a, int i, int64_t size) {
    __int128 span = (__int128)size + 2 * a->before[i] - a->dilation[i] * (a->kernel[i] - 1) - 1;
    __int128 floor = span < 0 ? -((-span + a->stride[i] - 1) / a->stride[i]) : span / a->stride[i];
    return (int64_t)floor + 1;
}

RL_SHAPE(im2col) {
    const rl_view *x = k->arg[0].u.t;
    const rl_window *a = rl_window_of(k);
    char text[RL_DIMS_TEXT];
    int lead = x->ndim - 3;
    if (blocks_read(k, 1) != RL_OK) return RL_FAIL;
    if (x->ndim < 3) {
        int64_t third = 2; /* which PyTorch looks at first */
        return rl_dim_wrap(&third, x->ndim);
    }
    bool known = lead <= 1;
    for (int d = lead; known && d < x->ndim; d++) known = x->shape[d] > 0;
    if (!known)
        return rl_error_set(RL_RUNTIME,
                            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                            "non-zero dimensions for input, but got: %s",
                            rl_dims_text(text, x->shape, x->ndim));
    const int64_t *size = x->shape + lead + 1;
    int64_t high = blocks(a, 1, size[0]), wide = blocks(a, 2, size[1]), shape[3] = {1};
    if (high < 1 || wide < 1)
        return rl_error_set(RL_RUNTIME,
                            "Given input with spatial size (%lld, %lld), kernel_size=(%lld, %lld), "
                            "dilation=(%lld, %lld), padding=(%lld, %lld), calculated shape of the array of "
                            "sliding blocks as (%lld, %lld), but its components must be at least one.",
                            (long long)size[0], (long long)size[1], (long long)a->kernel[1],
                            (long long)a->kernel[2], (long long)a->dilation[1], (long long)a->dilation[2],
                            (long long)a->before[1], (long long)a->before[2], (long long)high,
                            (long long)wide);
    if (lead) shape[0] = x->shape[0];
    rl_count rows = RL_COUNT(x->shape[lead], a->kernel[1], a->kernel[2]), columns = RL_COUNT(high, wide);
    if (rows.n < 0 || columns.n < 0)
        return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    shape[lead] = rows.n, shape[lead + 1] = columns.n;
    return rl_out_dims(k, 0, shape, lead + 2);
}

static rl_status columns_fit(const rl_call *k, const rl_view *x, const int64_t *size) {
    const rl_window *a = rl_window_of(k);
    int64_t high = blocks(a, 1, size[0]), wide = blocks(a, 2, size[1]), have = x->shape[x->ndim - 1];
    rl_count both = high > 0 && wide > 0 ? RL_COUNT(high, wide) : (rl_count){0};
    if (high < 0) high = 0;
    if (wide < 0) wide = 0;
    if (both.n == have && have) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "Given output_size=(%lld, %lld), kernel_size=(%lld, %lld), dilation=(%lld, %lld), "
                        "padding=(%lld, %lld), stride=(%lld, %lld), expected size of input's dimension %d to "
                        "match the calculated number of sliding blocks %lld * %lld = %lld, but got "
                        "input.size(%d)=%lld.",
                        (long long)size[0], (long long)size[1], (long long)a->kernel[1],
                        (long long)a->kernel[2], (long long)a->dilation[1], (long long)a->dilation[2],
                        (long long)a->before[1], (long long)a->before[2], (long long)a->stride[1],
                        (long long)a->stride[2], x->ndim - 1, (long long)high, (long long)wide,
                        (long long)both.n, x->ndim - 1, (long long)have);
}

RL_SHAPE(col2im) {
    const rl_view *x = k->arg[0].u.t;
    const rl_window *a = rl_window_of(k);
    char text[RL_DIMS_TEXT];
    int lead = x->ndim - 2;
    int64_t size[2], shape[4] = {1};
    if (two(k, 1, "output_size", size) != RL_OK || blocks_read(k, 2) != RL_OK) return RL_FAIL;
    if ((lead != 0 && lead != 1) || x->shape[lead] == 0 || x->shape[lead + 1] == 0)
        return rl_error_set(RL_RUNTIME,
                            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
                            "non-zero dimensions for input, but got: %s",
                            rl_dims_text(text, x->shape, x->ndim));
    rl_count block = RL_COUNT(a->kernel[1], a->kernel[2]);
    if (block.n < 0 || x->shape[lead] % block.n)
        return rl_error_set(RL_RUNTIME,
                            "Expected size of input's dimension 1 to be divisible by the product of "
                            "kernel_size, but got input.size(1)=%lld and kernel_size=(%lld, %lld).",
                            (long long)x->shape[lead], (long long)a->kernel[1], (long long)a->kernel[2]);
    if (columns_fit(k, x, size) != RL_OK) return RL_FAIL;
    if (lead) shape[0] = x->shape[0];
    shape[lead] = x->shape[lead] / block.n;
    shape[lead + 1] = size[0], shape[lead + 2] = size[1];
    return rl_out_dims(k, 0, shape, lead + 3);
}
