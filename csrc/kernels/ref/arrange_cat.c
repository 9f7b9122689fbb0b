/* Tensors joined along a dimension. */
#include "loops.h"
#include <string.h>

RL_KERNEL(ref_cat) {
    const rl_slot *list = &k->arg[0];
    const rl_view *out = k->out[0];
    int64_t dim = k->attr[0], at = 0, item = rl_itemsize(out->dtype);
    char *memory = rl_data(out, RL_WRITE);
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        rl_cast_pair pair = {out->dtype, v->dtype};
        rl_walk w, from;
        if (v->numel == 0) continue;
        /* the dims are the part's, the strides of operand 0 the output's */
        rl_walk_begin(&from, v, RL_READ);
        w = from;
        w.nops = 2;
        w.base[1] = from.base[0];
        w.base[0] = memory + at * out->strides[dim] * item;
        for (int d = 0; d < w.ndim; d++) {
            w.stride[1][d] = from.stride[0][d];
            w.stride[0][d] = out->strides[d] * item;
        }
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, RL_REF_NS, rl_strip_between(pair.to, pair.from), &pair);
        at += v->shape[dim];
    }
    return RL_OK;
}
