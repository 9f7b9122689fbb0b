/* Shape rules of what a vector of indices names along one dimension, which they leave in attr[0]. */
#include "shape.h"
#include <stdio.h>

/* equal but for dim; numbers have no dims to leave out */
static bool same_slices(const rl_view *a, const rl_view *b, int64_t dim) {
    int64_t one[RL_MAX_DIMS], two[RL_MAX_DIMS];
    int n = 0, m = 0;
    for (int d = 0; d < a->ndim; d++)
        if (d != dim) one[n++] = a->shape[d];
    for (int d = 0; d < b->ndim; d++)
        if (d != dim) two[m++] = b->shape[d];
    return n == m && memcmp(one, two, (size_t)n * sizeof *one) == 0;
}

/* PyTorch names them as the operators in place. */
static rl_status added(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = k->arg[3].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->ndim > 1)
        return rl_error_set(
            RL_INDEX, "%s_(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s",
            k->name, index->ndim, rl_dtype_title(index->dtype), rl_dims_text(one, index->shape, index->ndim));
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "%s_(): Expected dtype int32/int64 for index but got: %s", k->name,
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME, "%s_(): self (%s) and source (%s) must have the same scalar type",
                            k->name, rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (dim && dim >= source->ndim)
        return rl_error_set(RL_RUNTIME,
                            "%s_(): Indexing dim %lld is out of bounds of the source tensor with dim %d",
                            k->name, (long long)dim, source->ndim);
    if (index->numel != rl_size_along(source, dim))
        return rl_error_set(RL_RUNTIME,
                            "%s_(): Number of indices (%lld) should be equal to source.size(dim): "
                            "(%lld), for dim: %lld",
                            k->name, (long long)index->numel, (long long)rl_size_along(source, dim),
                            (long long)dim);
    if (!same_slices(x, source, x->ndim && source->ndim ? dim : -1))
        return rl_error_set(RL_RUNTIME,
                            "source tensor shape must match self tensor shape, excluding the specified "
                            "dimension. Got self.shape = %s source.shape = %s",
                            rl_dims_text(one, x->shape, x->ndim),
                            rl_dims_text(two, source->shape, source->ndim));
    return rl_out_as_input(k, 0);
}

RL_SHAPE(index_add) {
    return added(k);
}

RL_SHAPE(index_reduce) { /* attr[1]: RL_JOIN_* */
    static const char *const names[] = {
        [RL_JOIN_MUL] = "prod", [RL_JOIN_MAX] = "amax", [RL_JOIN_MIN] = "amin", [RL_JOIN_MEAN] = "mean"};
    const char *how = k->arg[4].u.s;
    k->attr[1] = RL_JOIN_MEAN;
    while (k->attr[1] > RL_JOIN_ADD && strcmp(names[k->attr[1]], how) != 0) k->attr[1]--;
    if (k->attr[1] == RL_JOIN_ADD)
        return rl_error_set(
            RL_RUNTIME, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.",
            how);
    if (k->attr[1] == RL_JOIN_MEAN && rl_tensor_arg(k, 0)->dtype == RL_BOOL)
        return rl_error_set(RL_NOTIMPL, "\"div_floor_cpu\" not implemented for 'Bool'");
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL && rl_tensor_arg(k, 0)->ndim < 2)
        return rl_error_set(RL_NOTIMPL, "\"index_func_\" not implemented for 'Bool'");
    if (rl_tensor_arg(k, 0)->dtype == RL_BOOL && !k->arg[5].u.i)
        return rl_error_set(RL_NOTIMPL,
                            "\"index_reduce_func_exclude_input_init\" not implemented for 'Bool'");
    return added(k);
}

/* "3 4" of the dims but one */
static const char *slice_text(char text[RL_DIMS_TEXT], const rl_view *v, int64_t dim) {
    size_t used = 0;
    *text = 0;
    for (int d = 0; d < v->ndim && used < RL_DIMS_TEXT; d++)
        if (d != dim)
            used += (size_t)snprintf(text + used, RL_DIMS_TEXT - used, "%s%lld", used ? " " : "",
                                     (long long)v->shape[d]);
    return text;
}

RL_SHAPE(index_copy) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *source = k->arg[3].u.t;
    char one[RL_DIMS_TEXT], two[RL_DIMS_TEXT];
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    int64_t dim = k->attr[0];
    if (index->ndim > 1)
        return rl_error_set(RL_INDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)",
                            index->ndim);
    if (source->ndim == 0 && index->numel != 1)
        return rl_error_set(RL_INDEX,
                            "index_copy_(): When source is scalar, index should have one element (got %lld)",
                            (long long)index->numel);
    if (source->ndim != x->ndim && source->ndim && x->ndim)
        return rl_error_set(
            RL_INDEX,
            "index_copy_(): When source and destination are not scalars, their dimensionality "
            "must match. Source dimensionality (%d), destination dimensionality (%d)",
            source->ndim, x->ndim);
    if (index->dtype != RL_I64)
        return rl_error_set(RL_RUNTIME, "index_copy_(): Expected a long tensor for index, but got %s",
                            rl_dtype_title(index->dtype));
    if (x->dtype != source->dtype)
        return rl_error_set(RL_RUNTIME,
                            "index_copy_(): self and source expected to have the same dtype, but got (self) "
                            "%s and (source) %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(source->dtype));
    if (!same_slices(x, source, dim))
        return rl_error_set(
            RL_RUNTIME,
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            "slice shape: %s at dimension %lld and source slice shape: %s at dimension 0.",
            slice_text(one, x, dim), (long long)dim, slice_text(two, source, dim));
    if (source->ndim && index->numel != source->shape[dim])
        return rl_error_set(
            RL_INDEX, "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
            (long long)index->numel, (long long)source->shape[dim]);
    return rl_out_as_input(k, 0);
}

RL_SHAPE(index_fill) {
    const rl_view *index = k->arg[2].u.t, *value = rl_in(k, 3);
    if (value && value->ndim)
        return rl_error_set(RL_RUNTIME,
                            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                            "dimension(s).",
                            value->ndim);
    if (index->dtype != RL_I64)
        return rl_error_set(RL_INDEX, "index_fill_(): Expected dtype int64 for index.");
    if (rl_dim_read(k, 1) != RL_OK) return RL_FAIL;
    if (index->ndim > 1) return rl_error_set(RL_RUNTIME, "Index has to be a vector/scalar");
    return rl_out_like_input(k, 0);
}

RL_SHAPE(index_select) { /* attr[0]: the dimension */
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t;
    int64_t dim = k->arg[1].u.i, shape[RL_MAX_DIMS];
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    if (index->ndim > 1) return rl_error_set(RL_INDEX, "index_select(): Index is supposed to be a vector");
    if (index->dtype != RL_I64 && index->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
    if (x->ndim == 0 && index->numel != 1)
        return rl_error_set(RL_RUNTIME,
                            "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                            (long long)index->numel);
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    if (x->ndim) shape[dim] = index->numel;
    k->attr[0] = dim;
    return rl_out_dims(k, 0, shape, x->ndim);
}
