/* Shape rules of reductions over segments: attr[0] is the axis, attr[1] the kind. */
#include "shape.h"

static rl_status kind_read(rl_call *k, int arg) {
    static const char *const kinds[] = {"sum", "mean", "prod", "max",  "min",
                                        NULL,  NULL,   NULL,   "amax", "amin"};
    const char *name = k->arg[arg].u.s;
    for (int i = 0; i < 10; i++)
        if (kinds[i] && strcmp(kinds[i], name) == 0) {
            k->attr[1] = i % 5;
            return RL_OK;
        }
    return rl_error_set(RL_RUNTIME, "reduce argument must be either sum, prod, mean, amax or amin, got %s",
                        name);
}

/* the segments of data: a row of them for each place before the axis */
static rl_status segments_fit(const rl_view *data, const rl_view *given, const rl_view *lengths,
                              int64_t axis) {
    if (given->ndim == 0 || data->ndim < given->ndim)
        return rl_error_set(RL_RUNTIME,
                            "Expected data.dim() >= lengths_value.dim() to be true, but got false.  "
                            "(Could this error message be improved?  If so, please report an "
                            "enhancement request to PyTorch.)");
    if (axis != given->ndim - 1)
        return rl_error_set(RL_RUNTIME,
                            "segment_reduce(): Expected axis to be the last dimension of %s but got %lld.",
                            lengths ? "lengths" : "offsets", (long long)axis);
    for (int64_t d = 0; d < axis; d++)
        if (given->shape[d] != data->shape[d])
            return rl_error_set(RL_RUNTIME,
                                "segment_reduce(): data has %lld rows in dimension %d, but there are "
                                "segments of %lld",
                                (long long)data->shape[d], (int)d, (long long)given->shape[d]);
    if (given->dtype != RL_I64 && given->dtype != RL_I32)
        return rl_error_set(RL_NOTIMPL, "\"_segment_reduce_%s_cpu_kernel1\" not implemented for '%s'",
                            lengths ? "lengths" : "offsets", rl_dtype_title(given->dtype));
    if (!lengths && given->shape[axis] == 0)
        return rl_error_set(RL_RUNTIME, "segment_reduce(): offsets must not be empty");
    return RL_OK;
}

RL_SHAPE(segment_reduce) {
    const rl_view *data = rl_in(k, 0), *lengths = rl_in(k, 2), *offsets = rl_in(k, 4);
    const rl_view *given = offsets ? offsets : lengths;
    int64_t axis = rl_int(k, 5), shape[RL_MAX_DIMS];
    if (rl_in(k, 3))
        return rl_error_set(RL_RUNTIME, "segment_reduce(): indices based reduction is not supported yet.");
    if (!given)
        return rl_error_set(RL_RUNTIME, "segment_reduce(): Either lengths or offsets must be defined.");
    if (rl_dim_wrap(&axis, data->ndim) != RL_OK || kind_read(k, 1) != RL_OK ||
        segments_fit(data, given, offsets ? NULL : lengths, axis) != RL_OK)
        return RL_FAIL;
    k->attr[0] = axis;
    for (int d = 0; d < data->ndim; d++) shape[d] = data->shape[d];
    shape[axis] = given->shape[axis] - (offsets != NULL);
    return rl_out_dims(k, 0, shape, data->ndim);
}

RL_SHAPE(segment_reduce_backward) {
    const rl_view *grad = rl_in(k, 0), *output = rl_in(k, 1), *data = rl_in(k, 2), *lengths = rl_in(k, 4);
    const rl_view *offsets = rl_in(k, 5), *given = offsets ? offsets : lengths;
    int64_t axis = rl_int(k, 6);
    if (!given)
        return rl_error_set(RL_RUNTIME, "segment_reduce(): Either lengths or offsets must be defined.");
    if (grad->dtype != data->dtype || output->dtype != data->dtype)
        return rl_error_set(RL_RUNTIME, "segment_reduce(): the gradient has another dtype than the data");
    if (rl_dim_wrap(&axis, data->ndim) != RL_OK || kind_read(k, 3) != RL_OK ||
        segments_fit(data, given, offsets ? NULL : lengths, axis) != RL_OK)
        return RL_FAIL;
    k->attr[0] = axis;
    for (int d = 0; d < data->ndim; d++) {
        int64_t size = d == axis ? given->shape[d] - (offsets != NULL) : data->shape[d];
        if (grad->ndim != data->ndim || output->ndim != data->ndim || grad->shape[d] != size ||
            output->shape[d] != size)
            return rl_error_set(RL_RUNTIME, "segment_reduce(): the gradient does not fit the segments");
    }
    return rl_out_dims(k, 0, data->shape, data->ndim);
}
