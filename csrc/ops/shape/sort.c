/* Shape rules of elements in order: attr[0] is the dimension. */
#include "shape.h"

static rl_status sorted(rl_call *k, int dim_arg) { /* attr[1]: descending */
    if (rl_dim_read(k, dim_arg) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[dim_arg + 1].u.i;
    if (k->n_out == 1) return rl_out_like_input(k, 0);
    k->out[1]->dtype = RL_I64;
    return rl_out_like_input(k, 0) == RL_OK ? rl_out_like_input(k, 1) : RL_FAIL;
}

RL_SHAPE(sort) {
    return sorted(k, 1);
}
RL_SHAPE(sort_stable) {
    return sorted(k, 2);
}

RL_SHAPE(topk) { /* attr[1]: largest */
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS], n = k->arg[1].u.i;
    if (x->dtype == RL_BOOL) return rl_error_set(RL_RUNTIME, "topk does not support bool dtypes on CPU");
    if (rl_dim_read(k, 2) != RL_OK) return RL_FAIL;
    if (n < 0 || n > (x->ndim ? x->shape[k->attr[0]] : 1))
        return rl_error_set(RL_RUNTIME, "selected index k out of range");
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    if (x->ndim) shape[k->attr[0]] = n;
    k->attr[1] = k->arg[3].u.i;
    k->out[1]->dtype = RL_I64;
    if (rl_out_dims(k, 0, shape, x->ndim) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 1, shape, x->ndim);
}

/* ---- one element of each line ---- */
static rl_status chosen(rl_call *k, int dim_arg) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[RL_MAX_DIMS];
    const bool kept = k->arg[dim_arg + 1].u.i != 0;
    int n = 0;
    if (rl_dim_read(k, dim_arg) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++)
        if (d != k->attr[0] || kept) shape[n++] = d == k->attr[0] ? 1 : x->shape[d];
    k->out[1]->dtype = RL_I64;
    if (rl_out_dims(k, 0, shape, n) != RL_OK || rl_out_dims(k, 1, shape, n) != RL_OK) return RL_FAIL;
    if (x->numel || !k->out[0]->numel) return RL_OK;
    return rl_error_set(RL_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.", k->name,
                        (long long)k->attr[0]);
}

RL_SHAPE(kthvalue) { /* attr[1]: k */
    const rl_view *x = k->arg[0].u.t;
    if (chosen(k, 2) != RL_OK) return RL_FAIL;
    k->attr[1] = k->arg[1].u.i;
    if (k->attr[1] >= 1 && k->attr[1] <= rl_size_along(x, k->attr[0])) return RL_OK;
    return rl_error_set(RL_RUNTIME, "kthvalue(): selected number k out of range for dimension %lld",
                        (long long)k->attr[0]);
}
RL_SHAPE(median_dim) {
    return chosen(k, 1);
}
RL_SHAPE(mode) {
    return chosen(k, 1);
}
RL_SHAPE(median) {
    k->attr[0] = -1;
    return rl_out_dims(k, 0, NULL, 0);
}

/* ---- binary search; attr[0]: the kernel's truth ---- */
RL_SHAPE(search) {
    const rl_view *x = k->arg[0].u.t, *lines = k->arg[1].u.t;
    bool fits = lines->ndim == 1 || (lines->ndim > 1 && lines->ndim == x->ndim);
    for (int d = 0; fits && d < lines->ndim - 1; d++) fits = lines->shape[d] == x->shape[d];
    if (!fits || lines->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "%s: expected lines that fit the input, of its dtype", k->name);
    k->attr[0] = k->arg[2].u.i;
    return rl_out_as_input(k, 0);
}

/* ---- counting ---- */
RL_SHAPE(sort_rows) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim == 2) return rl_out_dims(k, 0, x->shape, 1);
    return rl_error_set(RL_RUNTIME, "%s: expected a matrix", k->name);
}

RL_SHAPE(bin_counts) {
    const rl_view *x = k->arg[0].u.t, *weights = rl_in(k, 1);
    const int64_t bins = k->arg[2].u.i;
    if (x->ndim != 1 || (weights && !rl_dims_same(x, weights)))
        return rl_error_set(RL_RUNTIME, "%s: expected vectors of one length", k->name);
    if (weights) k->out[0]->dtype = weights->dtype;
    return rl_out_dims(k, 0, &bins, 1);
}

RL_SHAPE(histc) {
    const int64_t bins = k->arg[1].u.i;
    if (bins > 0) return rl_out_dims(k, 0, &bins, 1);
    return rl_error_set(RL_RUNTIME, "torch.histogram(): bins must be > 0, but got %lld for dimension 0",
                        (long long)bins);
}

RL_SHAPE(cell_counts) {
    const rl_view *x = k->arg[0].u.t, *edges = k->arg[1].u.t, *weight = rl_in(k, 2);
    if (x->ndim != 1 || edges->ndim != 1 || edges->numel < 2 || (weight && !rl_dims_same(x, weight)))
        return rl_error_set(RL_RUNTIME, "%s: expected vectors, of at least two edges", k->name);
    const int64_t bins = edges->numel - 1;
    return rl_out_dims(k, 0, &bins, 1);
}

RL_SHAPE(run_marks) {
    if (rl_tensor_arg(k, 0)->ndim == 1) return rl_out_as_input(k, 0);
    return rl_error_set(RL_RUNTIME, "%s: expected a vector", k->name);
}
