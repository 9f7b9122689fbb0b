/* Derivatives of reductions. */
#include "grad.h"
#include <string.h>

/* which dims an int[]? dim argument means; all when it is None or empty */
static uint64_t dims_of(rl_back *g, int arg, int ndim) {
    V dim = X(arg);
    uint64_t mask = 0;
    int n = dim.tag == RL_INTS ? dim.n : dim.tag == RL_INT;
    for (int i = 0; i < n; i++) {
        int64_t d = dim.tag == RL_INTS ? dim.u.ints[i] : dim.u.i;
        mask |= (uint64_t)1 << (d < 0 ? d + ndim : d);
    }
    return n ? mask : ~(uint64_t)0;
}

/* a reduced tensor's gradient, with its lost dims as 1 again, stretched to the argument's shape */
static V stretched(rl_back *g, V grad, int dim_arg, bool kept) {
    const rl_meta *like = rl_back_like(g, 0);
    int64_t shape[RL_MAX_DIMS];
    uint64_t mask = dims_of(g, dim_arg, like->ndim);
    for (int d = 0; d < like->ndim; d++) shape[d] = mask >> d & 1 ? 1 : like->shape[d];
    if (!kept && like->ndim) grad = OP(reshape, grad, INTS(shape, like->ndim));
    return OP(expand, grad, rl_back_size(g, 0));
}

FORMULA(sum) {
    TO(0, stretched(g, G, 1, rl_back_int(g, 2)));
}

FORMULA(mean) {
    if (!rl_back_wants(g, 0)) return;
    const rl_meta *like = rl_back_like(g, 0);
    uint64_t mask = dims_of(g, 1, like->ndim);
    double n = 1;
    for (int d = 0; d < like->ndim; d++)
        if (mask >> d & 1) n *= (double)like->shape[d];
    rl_back_pass(g, 0, OP(div, stretched(g, G, 1, rl_back_int(g, 2)), NUM(n)));
}
