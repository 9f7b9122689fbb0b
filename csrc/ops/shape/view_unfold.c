/* Shape rule of sliding slices. */
#include "shape.h"
#include "core/error.h"
#include "core/view.h"

/* (.., n, ..) becomes (.., (n - size) / step + 1, .., size); a number counts as a vector of one */
RL_SHAPE(unfold) {
    const rl_view *x = k->arg[0].u.t;
    rl_view *v = k->out[0];
    int64_t dim = k->arg[1].u.i, size = k->arg[2].u.i, step = k->arg[3].u.i;
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    int64_t whole = x->ndim ? x->shape[dim] : 1, stride = x->ndim ? x->strides[dim] : 1;
    if (size < 0) return rl_error_set(RL_RUNTIME, "size is %lld but must be >= 0", (long long)size);
    if (size > whole)
        return rl_error_set(RL_RUNTIME, "maximum size for tensor at dimension %lld is %lld but size is %lld",
                            (long long)dim, (long long)whole, (long long)size);
    if (step <= 0) return rl_error_set(RL_RUNTIME, "step is %lld but must be > 0", (long long)step);
    if (rl_view_dims(v, x->ndim + 1) != RL_OK) return RL_FAIL;
    for (int d = 0; d < x->ndim; d++) {
        v->shape[d] = d == dim ? (whole - size) / step + 1 : x->shape[d];
        v->strides[d] = d == dim ? rl_stride_scaled(stride, step) : x->strides[d];
    }
    v->shape[x->ndim] = size;
    v->strides[x->ndim] = stride;
    v->offset = x->offset;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    return v->numel < 0 ? rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow") : RL_OK;
}
