/* Shape rules of fractional max pooling. They leave kernel and spatial of an rl_window. */
#include "contract/window.h"
#include "shape.h"

static rl_status fractional_list(const rl_call *k, int arg, int n, const char *what, int64_t *to) {
    const rl_slot *s = &k->arg[arg];
    if (s->tag == RL_INTS && s->n != n)
        return rl_error_set(RL_RUNTIME,
                            "fractional_max_pool%dd: %s must either be a single Int or tuple of %sInts", n,
                            what, n == 3 ? "three " : "");
    return rl_ints_read(k, arg, n, to);
}

/* every window must find a place; one below 0 is empty */
static rl_status fractional_fits(const rl_view *x, int n, int64_t *kernel, const int64_t *size) {
    static const char *const axes[] = {"time", "height", "width"};
    for (int i = 0; i < n; i++) {
        const char *axis = axes[3 - n + i];
        int64_t have = x->shape[x->ndim - n + i];
        __int128 needs = (__int128)size[i] + kernel[i] - 1;
        bool fits = n == 3 ? needs < have : needs <= have; /* as PyTorch */
        if (!fits)
            return rl_error_set(
                RL_RUNTIME, "fractional_max_pool%dd%s(): pool %s %lld too large relative to input %s %lld", n,
                n == 3 ? "_out" : "", axis, (long long)kernel[i], axis, (long long)have);
        if (kernel[i] < 0) kernel[i] = 0;
    }
    return RL_OK;
}

static rl_status fractional_samples(const rl_view *x, const rl_view *samples, int n) {
    int lead = x->ndim - n;
    if (samples->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples to have the same dtype as input");
    if (samples->ndim != 3)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples to have 3 dimensions, got %d", samples->ndim);
    if (samples->shape[0] < (lead == 2 ? x->shape[0] : 1))
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(0) no less then input batch size.");
    if (samples->shape[1] != x->shape[lead - 1])
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(1) equals to input channel size.");
    if (samples->shape[2] != n)
        return rl_error_set(RL_RUNTIME, "Expect _random_samples.size(2) equals to %d; got %lld.", n,
                            (long long)samples->shape[2]);
    return RL_OK;
}

static rl_status fractional(rl_call *k, int n) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[5], size[3];
    int64_t *kernel = rl_window_made(k)->kernel + 3 - n;
    char text[RL_DIMS_TEXT];
    int lead = x->ndim - n;
    if (fractional_list(k, 1, n, "kernel_size", kernel) != RL_OK ||
        fractional_list(k, 2, n, "output_size", size) != RL_OK)
        return RL_FAIL;
    if (lead != 1 && lead != 2)
        return rl_error_set(RL_RUNTIME, "fractional_max_pool%dd%s(): Expected %dD or %dD tensor, but got: %s",
                            n, n == 3 ? "_out" : "", n + 1, n + 2, rl_dims_text(text, x->shape, x->ndim));
    for (int d = lead - 1; d < x->ndim; d++)
        if (x->shape[d] == 0)
            return rl_error_set(
                RL_RUNTIME,
                "fractional_max_pool%dd%s(): Expected input to have non-zero size for non-batch "
                "dimensions, but got%s with dimension %d being empty.",
                n, n == 3 ? "_out" : "", rl_dims_text(text, x->shape, x->ndim), d);
    if (fractional_fits(x, n, kernel, size) != RL_OK || fractional_samples(x, k->arg[3].u.t, n) != RL_OK)
        return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) shape[d] = d < lead ? x->shape[d] : size[d - lead];
    rl_window_made(k)->spatial = n;
    k->out[1]->dtype = RL_I64;
    return rl_out_dims(k, 0, shape, x->ndim) == RL_OK ? rl_out_dims(k, 1, shape, x->ndim) : RL_FAIL;
}

RL_SHAPE(fractional_max_pool2d) {
    return fractional(k, 2);
}
RL_SHAPE(fractional_max_pool3d) {
    return fractional(k, 3);
}

static rl_status fractional_back(rl_call *k, int n) {
    int64_t ignored[3];
    if (fractional_list(k, 2, n, "kernel_size", ignored) != RL_OK ||
        fractional_list(k, 3, n, "output_size", ignored) != RL_OK)
        return RL_FAIL;
    return rl_adaptive_max_back(k, n, 4);
}
RL_SHAPE(fractional_max_pool2d_backward) {
    return fractional_back(k, 2);
}
RL_SHAPE(fractional_max_pool3d_backward) {
    return fractional_back(k, 3);
}
