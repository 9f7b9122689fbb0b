/* Shape rules of elements at places of their own: gather, scatter, masks, the flat tensor.
 * Values of indices are checked by the kernels, where they are used. */
#include "shape.h"

RL_SHAPE(gather) { /* attr[0]: the dimension */
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t;
    int64_t dim = k->arg[1].u.i;
    char have[RL_DIMS_TEXT], want[RL_DIMS_TEXT];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "gather(): Expected dtype int32/int64 for index");
    int x_dims = x->ndim ? x->ndim : 1, index_dims = index->ndim ? index->ndim : 1;
    if (index->numel && x_dims != index_dims)
        return rl_error_set(RL_RUNTIME,
                            "Index tensor must have the same number of dimensions as input tensor");
    for (int d = 0; index->numel && d < x->ndim && d < index->ndim; d++)
        if (d != dim && index->shape[d] > x->shape[d])
            return rl_error_set(RL_RUNTIME,
                                "Size does not match at dimension %d expected index %s to be no larger than "
                                "self %s apart from dimension %lld",
                                d, rl_dims_text(have, index->shape, index->ndim),
                                rl_dims_text(want, x->shape, x->ndim), (long long)dim);
    k->attr[0] = dim;
    return rl_out_dims(k, 0, index->shape, index->ndim);
}

/* ---- scatter: attr[0] the dimension, attr[1] how elements join (RL_JOIN_*) ---- */
static int depth(const rl_view *v) {
    return v->ndim ? v->ndim : 1;
}

static rl_status scattered(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = rl_in(k, 3);
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT], three[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->numel && index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "scatter(): Expected dtype int32/int64 for index");
    if (source && source->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
    if (index->numel == 0) return rl_out_as_input(k, 0);
    if (depth(index) != depth(x))
        return rl_error_set(RL_RUNTIME,
                            "Index tensor must have the same number of dimensions as self tensor");
    if (source && depth(index) != depth(source))
        return rl_error_set(RL_RUNTIME, "Index tensor must have the same number of dimensions as src tensor");
    bool fits = true;
    for (int d = 0; d < depth(index); d++) {
        int64_t size = rl_size_along(index, d);
        fits &= (d == dim || size <= rl_size_along(x, d)) && (!source || size <= rl_size_along(source, d));
    }
    if (fits) return rl_out_as_input(k, 0);
    rl_dims_text(one, index->shape, index->ndim);
    rl_dims_text(two, x->shape, x->ndim);
    if (!source)
        return rl_error_set(RL_RUNTIME,
                            "Expected index %s to be no larger than self %s apart from dimension %lld", one,
                            two, (long long)dim);
    return rl_error_set(
        RL_RUNTIME,
        "Expected index %s to be no larger than self %s apart from dimension %lld and to be no "
        "larger size than src %s",
        one, two, (long long)dim, rl_dims_text(three, source->shape, source->ndim));
}

RL_SHAPE(scatter) {
    k->attr[1] = RL_JOIN_SET;
    return scattered(k);
}
RL_SHAPE(scatter_add) {
    k->attr[1] = RL_JOIN_ADD;
    return scattered(k);
}

RL_SHAPE(scatter_join) {
    const char *how = k->arg[4].u.s;
    k->attr[1] = strcmp(how, "add") == 0 ? RL_JOIN_ADD : RL_JOIN_MUL;
    if (k->attr[1] == RL_JOIN_MUL && strcmp(how, "multiply") != 0)
        return rl_error_set(RL_RUNTIME, "reduce argument must be either add or multiply.");
    return scattered(k);
}

RL_SHAPE(scatter_reduce) {
    static const char *const names[] = {[RL_JOIN_ADD] = "sum",
                                        [RL_JOIN_MUL] = "prod",
                                        [RL_JOIN_MAX] = "amax",
                                        [RL_JOIN_MIN] = "amin",
                                        [RL_JOIN_MEAN] = "mean"};
    k->attr[1] = RL_JOIN_MEAN;
    while (k->attr[1] && strcmp(names[k->attr[1]], k->arg[4].u.s) != 0) k->attr[1]--;
    if (k->attr[1] == RL_JOIN_SET)
        return rl_error_set(RL_RUNTIME,
                            "reduce argument must be either sum, prod, mean, amax or amin, got %s",
                            k->arg[4].u.s);
    if (k->attr[1] == RL_JOIN_MEAN && rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL,
                            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'");
    return scattered(k);
}

/* ---- the flat tensor ---- */
RL_SHAPE(take) {
    const rl_view *index = k->arg[1].u.t;
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "take(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (rl_tensor_arg(k, 0)->numel == 0 && index->numel)
        return rl_error_set(RL_INDEX, "take(): tried to take from an empty tensor");
    return rl_out_dims(k, 0, index->shape, index->ndim);
}

RL_SHAPE(put) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[1].u.t, *source = k->arg[2].u.t;
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "put_(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(
            RL_RUNTIME,
            "put_(): self and source expected to have the same dtype, but got self.dtype = %s "
            "and source.dtype = %s",
            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (index->numel != source->numel)
        return rl_error_set(RL_INDEX,
                            "put_(): Expected source and index to have the same number of elements, but got "
                            "source.numel() = %lld, index.numel() = %lld",
                            (long long)source->numel, (long long)index->numel);
    if (x->numel == 0 && index->numel)
        return rl_error_set(RL_INDEX, "put_(): Tried to put elements into an empty tensor");
    return rl_out_like_input(k, 0);
}

/* ---- masks ---- */
RL_SHAPE(masked_fill) {
    const rl_view *mask = k->arg[1].u.t, *value = rl_in(k, 2);
    if (mask->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                            rl_dtype_cpp_name(mask->dtype));
    if (value && value->ndim)
        return rl_error_set(
            RL_RUNTIME,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value->ndim);
    return rl_stretches(k, mask, "output");
}

RL_SHAPE(masked_scatter) {
    const rl_view *x = k->arg[0].u.t, *mask = k->arg[1].u.t, *source = k->arg[2].u.t;
    int64_t shape[RL_MAX_DIMS];
    int n;
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME,
                            "masked_scatter: expected self and source to have same dtypes but got%s and %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (mask->dtype != RL_BOOL)
        return rl_error_set(RL_RUNTIME,
                            "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                            rl_dtype_title(mask->dtype));
    if (rl_dims_broadcast(mask, x, shape, &n) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, shape, n);
}
