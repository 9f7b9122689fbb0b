/* Shape rules of optimisers' steps: nothing is made, the lists must pair up. */
#include "shape.h"

static bool same_dims(const rl_view *a, const rl_view *b) {
    return a->ndim == b->ndim &&
           (a->ndim == 0 || memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0);
}

/* What a gradient scaler left on a GPU, if anything: one float32 each. On the CPU optimizers look themselves.
 */
static rl_status scales_fit(const rl_call *k) {
    for (int i = k->n_arg - 2; i < k->n_arg; i++) {
        if (k->arg[i].tag == RL_NONE) continue;
        const rl_view *v = k->arg[i].u.t;
        if (k->arg[i].tag != RL_TENSOR || v->numel != 1 || v->dtype != RL_F32 || v->device == RL_CPU)
            return rl_error_set(RL_RUNTIME, "%s: grad_scale and found_inf must be single float32 on a GPU",
                                k->name);
    }
    return RL_OK;
}

/* params, grads, state or none: as the parameters; the last `counts` lists hold single floats */
static rl_status lists_match(const rl_call *k, int counts) {
    int lists = 0;
    while (lists < k->n_arg && k->arg[lists].tag == RL_TENSORS) lists++;
    for (int i = 1; i < lists; i++)
        for (int j = 0; j < k->arg[i].n; j++) {
            if (k->arg[i].n != k->arg[0].n)
                return rl_error_set(RL_RUNTIME, "%s: the lists must be of one length", k->name);
            const rl_view *p = k->arg[0].u.ts[j], *v = k->arg[i].u.ts[j];
            if (i < lists - counts ? p->dtype != v->dtype || !rl_is_float(p->dtype) || !same_dims(p, v)
                                   : v->numel != 1 || (v->dtype != RL_F32 && v->dtype != RL_F64))
                return rl_error_set(RL_RUNTIME, "%s: the lists must hold tensors of equal shapes and dtypes",
                                    k->name);
        }
    for (int i = lists - counts; i < lists; i++)
        if (k->arg[i].n != k->arg[0].n)
            return rl_error_set(RL_RUNTIME, "%s: the lists must be of one length", k->name);
    return scales_fit(k);
}
RL_SHAPE(optim) {
    return lists_match(k, 0);
}
RL_SHAPE(optim_counted) {
    return lists_match(k, 1);
}
RL_SHAPE(optim_counted2) {
    return lists_match(k, 2);
}
RL_SHAPE(optim_counted3) {
    return lists_match(k, 3);
}
