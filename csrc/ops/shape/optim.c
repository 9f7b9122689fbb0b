/* Shape rules of optimisers' steps. */
#include "shape.h"

/* lists of tensors that must pair up: params, grads, and buffers or none */
RL_SHAPE(optim) {
    for (int i = 1; i < k->n_arg && k->arg[i].tag == RL_TENSORS; i++)
        for (int j = 0; j < k->arg[i].n; j++) {
            const rl_view *p = k->arg[0].u.ts[j], *v = k->arg[i].u.ts[j];
            if (k->arg[i].n != k->arg[0].n || p->dtype != v->dtype || p->ndim != v->ndim ||
                (p->ndim && memcmp(p->shape, v->shape, p->ndim * sizeof *p->shape) != 0))
                return rl_error_set(RL_RUNTIME, "%s: the lists must hold tensors of equal shapes and dtypes",
                                    k->name);
        }
    return RL_OK;
}
