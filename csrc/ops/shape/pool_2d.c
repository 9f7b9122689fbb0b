/* Shape rules of pooling over two dimensions. They leave in attr[]:
 *   0,1 kernel (h, w)   2,3 stride   4,5 padding   6,7 dilation */
#include "shape.h"

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
