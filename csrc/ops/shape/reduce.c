/* Shape rules of reductions and running sums. */
#include "shape.h"

static rl_status reduce_out(rl_call *k, uint64_t mask, bool keepdim) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1))
            shape[n++] = x->shape[d];
        else if (keepdim)
            shape[n++] = 1;
    }
    k->attr[0] = (int64_t)mask;
    for (int i = 0; i < k->n_out; i++)
        if (rl_out_dims(k, i, shape, n) != RL_OK) return RL_FAIL;
    return RL_OK;
}

static uint64_t every_dim(const rl_view *x) {
    return x->ndim == 64 ? ~0ull : (1ull << x->ndim) - 1;
}

/* the mask of a dim argument: None and [] mean all */
static rl_status dims_mask(const rl_view *x, const rl_value *s, uint64_t *mask) {
    int64_t one = s->u.i;
    const int64_t *dims = s->tag == RL_INTS ? s->u.ints : &one;
    int n = s->tag == RL_INTS ? s->n : s->tag == RL_INT ? 1 : 0;
    *mask = 0;
    for (int i = 0; i < n; i++) {
        int64_t d = dims[i];
        if (rl_dim_wrap(&d, x->ndim) != RL_OK) return RL_FAIL;
        if (*mask >> d & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)d);
        *mask |= 1ull << d;
    }
    if (n == 0) *mask = every_dim(x);
    return RL_OK;
}

static rl_status reduce_dims(rl_call *k, int dim_arg, int keep_arg) {
    uint64_t mask;
    if (dims_mask(k->arg[0].u.t, &k->arg[dim_arg], &mask) != RL_OK) return RL_FAIL;
    return reduce_out(k, mask, k->arg[keep_arg].u.i != 0);
}

RL_SHAPE(reduce) {
    return reduce_dims(k, 1, 2);
}

RL_SHAPE(reduce_lost) { /* has no keepdim */
    uint64_t mask;
    if (dims_mask(k->arg[0].u.t, &k->arg[1], &mask) != RL_OK) return RL_FAIL;
    return reduce_out(k, mask, false);
}

/* any and all: an empty list of dims reduces none */
RL_SHAPE(reduce_listed) {
    if (k->arg[1].tag != RL_INTS || k->arg[1].n) return reduce_dims(k, 1, 2);
    return reduce_out(k, 0, k->arg[2].u.i != 0);
}

static rl_status only_floats(rl_call *k) {
    if (rl_is_float(rl_tensor_arg(k, 0)->dtype)) return RL_OK;
    return rl_error_set(RL_RUNTIME, "%s only support floating point and complex dtypes",
                        k->n_out == 2 ? k->name : "std and var");
}

RL_SHAPE(reduce_var) {
    if (only_floats(k) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[2].tag == RL_NONE ? 1 : rl_int(k, 2);
    return reduce_dims(k, 1, 3);
}

RL_SHAPE(reduce_unbiased) {
    if (only_floats(k) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[1].u.i;
    return reduce_out(k, every_dim(k->arg[0].u.t), false);
}

RL_SHAPE(reduce_unbiased_dim) {
    if (only_floats(k) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[2].u.i;
    return reduce_dims(k, 1, 3);
}

static rl_status not_empty(rl_call *k, uint64_t mask) {
    const char *name = k->name;
    const rl_view *x = k->arg[0].u.t;
    if (x->numel || k->out[0]->numel == 0) return RL_OK;
    if (mask == every_dim(x) && strncmp(name, "arg", 3) == 0)
        return rl_error_set(RL_INDEX, "%s(): Expected reduction dim to be specified for input.numel() == 0.",
                            name);
    if (mask == every_dim(x))
        return rl_error_set(RL_RUNTIME,
                            "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                            "the reduction dim with the 'dim' argument.",
                            name);
    for (int d = 0; d < x->ndim; d++)
        if ((mask >> d & 1) && x->shape[d] == 0)
            return rl_error_set(RL_INDEX, "%s(): Expected reduction dim %d to have non-zero size.", name, d);
    return RL_OK;
}

RL_SHAPE(reduce_some) {
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

RL_SHAPE(reduce_every) {
    uint64_t mask = every_dim(k->arg[0].u.t);
    if (reduce_out(k, mask, false) != RL_OK) return RL_FAIL;
    return not_empty(k, mask);
}

RL_SHAPE(reduce_arg) {
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_RUNTIME, "%s(): does not support bool input", k->name);
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

RL_SHAPE(reduce_arg_dim) {
    k->out[1]->dtype = RL_I64;
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    return not_empty(k, (uint64_t)k->attr[0]);
}

/* the smallest and the largest */
RL_SHAPE(aminmax) {
    const rl_view *x = k->arg[0].u.t;
    if (reduce_dims(k, 1, 2) != RL_OK) return RL_FAIL;
    if (x->numel || k->out[0]->numel == 0) return RL_OK;
    if (k->arg[1].tag == RL_INT)
        return rl_error_set(RL_INDEX, "aminmax: Expected reduction dim %d to have non-zero size.",
                            __builtin_ctzll((uint64_t)k->attr[0]));
    return rl_error_set(RL_RUNTIME,
                        "aminmax(): cannot compute aminmax over an empty dimension as the operation "
                        "has no identity.");
}

/* ---- along one dimension, which is left in attr[0] ---- */
RL_SHAPE(scan) {
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL) /* only when dtype= asks for it */
        return rl_error_set(RL_NOTIMPL, "\"%s_out_cpu\" not implemented for 'Bool'", k->name);
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    return rl_out_as_input(k, 0);
}

RL_SHAPE(scan_log) {
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    return rl_out_as_input(k, 0);
}

/* values and where they stand */
RL_SHAPE(scan_extreme) {
    const rl_view *x = k->arg[0].u.t;
    k->out[1]->dtype = RL_I64;
    if (rl_dim_read(k, 1) != RL_OK || rl_out_as_input(k, 0) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 1, x->shape, x->ndim);
}

/* ---- reductions over segments ----
 * attr[0] is the axis, attr[1] the kind. */
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
