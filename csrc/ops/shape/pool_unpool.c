/* Shape rules of the way back from max pooling. */
#include "contract/window.h"
#include "shape.h"

/* the n numbers of an argument; one alone stands for all only where it is no list */
static rl_status exactly(const rl_call *k, int arg, int n, const char *what, int64_t *to) {
    const rl_slot *s = &k->arg[arg];
    if (s->tag == RL_INTS && s->n != n)
        return rl_error_set(RL_RUNTIME, "There should be exactly %s in %s, but got%s %d elements.",
                            n == 2 ? "two elements (height, width)" : "three elements (depth, height, width)",
                            what, strcmp(what, "output_size") == 0 ? "" : ":", s->n);
    return rl_ints_read(k, arg, n, to);
}

static rl_status unpool_steps(const rl_call *k, int n) {
    int64_t stride[3], padding[3];
    if (exactly(k, 3, n, "stride", stride) != RL_OK || exactly(k, 4, n, "padding", padding) != RL_OK)
        return RL_FAIL;
    for (int i = 0; i < n; i++)
        if (stride[i] <= 0)
            return rl_error_set(RL_RUNTIME,
                                "strides should be greater than zero, but got stride: [%lld, %lld, %lld]",
                                (long long)stride[0], (long long)stride[1], (long long)stride[2]);
    return RL_OK;
}

static rl_status unpool_input(const rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t, *indices = k->arg[1].u.t;
    char text[RL_DIMS_TEXT], other[RL_DIMS_TEXT];
    if (x->ndim != n + 1 && x->ndim != n + 2)
        return rl_error_set(RL_RUNTIME,
                            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with "
                            "%d dimensions.",
                            n, n + 1, n + 2, x->ndim);
    if (!rl_dims_same(x, indices))
        return rl_error_set(RL_RUNTIME,
                            "Expected shape of indices to be same as that of the input tensor (%s) but got "
                            "indices tensor with shape: %s",
                            rl_dims_text(text, x->shape, x->ndim),
                            rl_dims_text(other, indices->shape, indices->ndim));
    for (int d = 1; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "max_unpooling%dd_forward_out_cpu(): Expected input to have non-zero size for "
                "non-batch dimensions, but got %s with dimension %d being empty.",
                n, rl_dims_text(text, x->shape, x->ndim), d);
    return RL_OK;
}

static rl_status unpool(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t, *indices = k->arg[1].u.t;
    int64_t shape[5], size[3];
    if (indices->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "elements in indices should be type int64%s%s",
                            n == 2 ? " but got: " : "", n == 2 ? rl_dtype_title(indices->dtype) : "");
    if (n == 2 && exactly(k, 2, n, "output_size", size) != RL_OK) return RL_FAIL;
    if (n == 3 && x->ndim != n + 1 && x->ndim != n + 2) return unpool_input(k, n);
    if (n == 3 && (exactly(k, 2, n, "output_size", size) != RL_OK || unpool_steps(k, n) != RL_OK))
        return RL_FAIL;
    if (unpool_input(k, n) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++) {
        char text[RL_DIMS_TEXT], *last;
        if (size[i] >= 0) continue;
        rl_dims_text(text, size, n);
        last = text + strlen(text) - 1;
        *last = '\0';
        return rl_error_set(RL_RUNTIME,
                            "max_unpooling%dd(): output_size must contain non-negative spatial dimensions, "
                            "but got output_size=(%s)",
                            n, text + 1);
    }
    int lead = x->ndim - n;
    for (int d = 0; d < x->ndim; d++) shape[d] = d < lead ? x->shape[d] : size[d - lead];
    rl_window_made(k)->spatial = n;
    return rl_out_dims(k, 0, shape, x->ndim);
}

RL_SHAPE(max_unpool2d) {
    return unpool(k, 2);
}
RL_SHAPE(max_unpool3d) {
    return unpool(k, 3);
}
