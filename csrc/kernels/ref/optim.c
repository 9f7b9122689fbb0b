/* Steps of optimisers over lists of parameters of any floating dtype and layout. */
#include "loops.h"
#include <math.h>

typedef struct {
    double rate, momentum, fresh, decay; /* fresh: 1 - dampening */
    bool nesterov, maximize, buffers;
} sgd_numbers;

/* every step is rounded to the dtype, as PyTorch's separate operators do */
#define SGD_STRIP(D, T, C, LOAD, STORE, fma_)                                                                \
    static void sgd_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                   \
        const sgd_numbers *s = ctx;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T *param = (T *)(p[0] + i * step[0]), *buffer = (T *)(p[2] + i * step[2]);                       \
            C w = LOAD(*param), g = LOAD(*(const T *)(p[1] + i * step[1]));                                  \
            if (s->maximize) g = -g;                                                                         \
            if (s->decay != 0) g = LOAD(STORE(fma_(w, (C)s->decay, g)));                                     \
            if (s->buffers) {                                                                                \
                C b = LOAD(STORE((C)(LOAD(*buffer) * (C)s->momentum)));                                      \
                *buffer = STORE(fma_(g, (C)s->fresh, b));                                                    \
                b = LOAD(*buffer);                                                                           \
                g = s->nesterov ? LOAD(STORE(fma_(b, (C)s->momentum, g))) : b;                               \
            }                                                                                                \
            *param = STORE(fma_(g, (C) - s->rate, w));                                                       \
        }                                                                                                    \
    }
SGD_STRIP(F16, rl_half, float, rl_from_half, rl_to_half, fmaf)
SGD_STRIP(BF16, rl_bfloat, float, rl_from_bfloat, rl_to_bfloat, fmaf)
SGD_STRIP(F32, float, float, RL_AS_IS, RL_AS_IS, fmaf)
SGD_STRIP(F64, double, double, RL_AS_IS, RL_AS_IS, fma)
static const rl_strip sgd_strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, sgd)};

/* (params, grads, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize) */
RL_KERNEL(ref_sgd) {
    rl_slot *p = &k->arg[0], *g = &k->arg[1], *b = &k->arg[2];
    sgd_numbers s = {rl_num(k, 3), rl_num(k, 4),      1 - rl_num(k, 5), rl_num(k, 6),
                     rl_int(k, 7), rl_int(k, 8) != 0, b->n > 0};
    for (int i = 0; i < p->n; i++) {
        rl_walk w;
        rl_walk_begin(&w, p->u.ts[i], RL_WRITE);
        rl_walk_add(&w, g->u.ts[i]);
        rl_walk_add(&w, b->n ? b->u.ts[i] : p->u.ts[i]);
        if (b->n) rl_data(b->u.ts[i], RL_WRITE);
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, RL_REF_NS, sgd_strips[p->u.ts[i]->dtype], &s);
    }
    return RL_OK;
}
