/* Shape rules of activations. */
#include "shape.h"

RL_SHAPE(relu) {
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_RUNTIME, "Boolean inputs not supported for relu");
    return shape_same(k);
}

/* attr[0]: the tanh approximation? */
static rl_status gelu_mode(rl_call *k, const char *approximate) {
    k->attr[0] = strcmp(approximate, "tanh") == 0;
    if (!k->attr[0] && strcmp(approximate, "none") != 0)
        return rl_error_set(RL_RUNTIME, "approximate argument must be either none or tanh.");
    return RL_OK;
}
RL_SHAPE(gelu) {
    return gelu_mode(k, k->arg[1].u.s) == RL_OK ? shape_same(k) : RL_FAIL;
}
RL_SHAPE(gelu_backward) {
    return gelu_mode(k, k->arg[2].u.s) == RL_OK ? shape_broadcast(k) : RL_FAIL;
}

RL_SHAPE(prelu) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t;
    if (w->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "prelu: Type promoting not supported. Got %s and %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(w->dtype));
    if (w->ndim > 1)
        return rl_error_set(
            RL_RUNTIME, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", w->ndim);
    if (w->numel != 1) {
        if (x->ndim == 0) return rl_error_set(RL_RUNTIME, "Not allow zero-dim input tensor.");
        int64_t channels = x->ndim > 1 ? x->shape[1] : 1;
        if (channels != w->numel)
            return rl_error_set(RL_RUNTIME,
                                "Mismatch of parameter numbers and input channel size. Found parameter "
                                "numbers = %lld and channel size = %lld.",
                                (long long)w->numel, (long long)channels);
    }
    return shape_same(k);
}

RL_SHAPE(rrelu) {
    if (!(rl_num(k, 1) <= rl_num(k, 2)))
        return rl_error_set(RL_RUNTIME, "Lower bound should be less than or equal to the upper bound");
    if (k->arg[3].u.i && rl_tensor_arg(k, 0)->dtype == RL_F16)
        return rl_error_set(RL_NOTIMPL, "\"rrelu_with_noise_out_cpu\" not implemented for 'Half'");
    return rl_out_as_input(k, 0);
}

RL_SHAPE(log_sigmoid) {
    return rl_out_as_input(k, 0);
}

RL_SHAPE(celu) {
    if (rl_num(k, 1) == 0) return rl_error_set(RL_RUNTIME, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return shape_same(k);
}

RL_SHAPE(softshrink) {
    int dtype = rl_tensor_arg(k, 0)->dtype;
    double lambd = rl_num(k, 1), most = rl_largest(dtype);
    if (!(lambd >= 0 && lambd <= most))
        return rl_error_set(RL_RUNTIME, "lambda must be in range [0, %g] for input dtype %s, but found %g",
                            most, rl_dtype_title(dtype), lambd);
    return shape_same(k);
}

RL_SHAPE(glu) { /* attr[0]: the dimension */
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i, shape[RL_MAX_DIMS];
    if (x->ndim == 0) return rl_error_set(RL_RUNTIME, "glu does not support 0-dimensional tensors");
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (x->shape[dim] % 2)
        return rl_error_set(RL_RUNTIME, "Halving dimension must be even, but dimension %lld is size %lld",
                            (long long)dim, (long long)x->shape[dim]);
    memcpy(shape, x->shape, (size_t)x->ndim * sizeof *shape);
    shape[dim] /= 2;
    k->attr[0] = dim;
    if (rl_out_dims(k, 0, shape, x->ndim) != RL_OK) return RL_FAIL;
    rl_view half = *x;
    half.shape = shape;
    if (k->out[0]->numel) rl_strides_as(k->out[0], &half);
    return RL_OK;
}
