/* Shape rules of softmax: attr[0] is the dimension. */
#include "shape.h"

RL_SHAPE(softmax) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->arg[1].u.i;
    if (rl_dim_wrap(&dim, x->ndim) != RL_OK) return RL_FAIL;
    k->attr[0] = dim;
    return rl_out_as_input(k, 0);
}

RL_SHAPE(softmax_backward) { /* attr[0]: the dimension */
    const rl_view *grad = k->arg[0].u.t, *out = k->arg[1].u.t;
    int64_t dim = k->arg[2].u.i;
    if (rl_dim_wrap(&dim, out->ndim) != RL_OK) return RL_FAIL;
    k->attr[0] = dim;
    if (!rl_dims_same(grad, out)) return rl_gradient_differs(k, out);
    return rl_gradient_as_input(k, out);
}
