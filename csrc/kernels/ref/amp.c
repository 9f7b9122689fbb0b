/* What a gradient scaler does to gradients and to its scale. */
#include "loops.h"
#include <math.h>

typedef struct {
    float factor;
    uint32_t *found; /* the bits of a float */
} unscale_numbers;
static const uint32_t ONE = 0x3f800000;

/* several threads may find something: all store the same */
#define UNSCALE_LOOP(D, T, C, LOAD, STORE, unused)                                                           \
    static void unscale_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {               \
        const unscale_numbers *u = ctx;                                                                      \
        const C factor = (C)u->factor;                                                                       \
        int bad = 0;                                                                                         \
        if (step[0] == sizeof(T)) {                                                                          \
            T *x = (T *)p[0];                                                                                \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const C a = LOAD(x[i]);                                                                      \
                bad |= !(a - a == 0);                                                                        \
                x[i] = STORE((C)(a * factor));                                                               \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                T *x = (T *)(p[0] + i * step[0]);                                                            \
                const C a = LOAD(*x);                                                                        \
                bad |= !(a - a == 0);                                                                        \
                *x = STORE((C)(a * factor));                                                                 \
            }                                                                                                \
        }                                                                                                    \
        if (bad) __atomic_store_n(u->found, ONE, __ATOMIC_RELAXED);                                          \
    }
RL_EACH_FLOAT(UNSCALE_LOOP, )
static const rl_inner_loop unscale_loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, unscale)};

/* (grads, found_inf, inv_scale) */
RL_KERNEL(ref_amp_unscale) {
    const rl_value *grads = &k->arg[0];
    const unscale_numbers u = {*(const float *)rl_const_data(rl_in(k, 2)), rl_data(rl_in(k, 1), RL_WRITE)};
    for (int i = 0; i < grads->n; i++) {
        rl_iter w;
        rl_iter_begin(&w, grads->u.ts[i], RL_WRITE);
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, RL_REF_NS, unscale_loops[grads->u.ts[i]->dtype], &u);
    }
    return RL_OK;
}

/* (scale, growth_tracker, found_inf, growth, backoff, interval) */
RL_KERNEL(ref_amp_update_scale) {
    const float scale = *(const float *)rl_const_data(rl_in(k, 0));
    const bool found = *(const float *)rl_const_data(rl_in(k, 2)) != 0;
    int32_t *tracker = rl_data(rl_in(k, 1), RL_WRITE);
    const uint32_t steps = (uint32_t)*tracker + 1;
    const bool grows = !found && (int32_t)steps == rl_int(k, 5);
    const float grown = (float)((double)scale * rl_num(k, 3));
    float next = scale;
    if (found) next = (float)((double)scale * rl_num(k, 4));
    if (grows && isfinite(grown)) next = grown;
    *(float *)rl_data(k->out[0], RL_WRITE) = next;
    *tracker = found || grows ? 0 : (int32_t)steps;
    return RL_OK;
}
