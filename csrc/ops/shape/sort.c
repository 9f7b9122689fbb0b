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
