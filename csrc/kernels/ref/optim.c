/* Steps of optimisers over lists of parameters of any floating dtype and layout. Note [Steps] */
#include "kernels/shared/optim.h"
#include "kernels/shared/words.h"
#include "loops.h"

#include "kernels/shared/optim_impl.inc"
#define WORDS_DOUBLE
#include "kernels/shared/words.h"

#include "kernels/shared/optim_impl.inc"

typedef struct {
    const double *numbers;
    bool given[RL_STEP_LISTS]; /* lists that are not empty */
} step_context;

#define STEP_LOOP(D, T, C, LOAD, STORE, name, lists, suffix)                                                 \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        const step_context *c = ctx;                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            C e[RL_STEP_LISTS] = {0};                                                                        \
            for (int l = 0; l < lists; l++)                                                                  \
                if (c->given[l]) e[l] = LOAD(*(const T *)(p[l] + i * step[l]));                              \
            step_##name##suffix(c->numbers, e);                                                              \
            for (int l = 0; l < lists; l++)                                                                  \
                if (c->given[l] && l != 1) *(T *)(p[l] + i * step[l]) = STORE(e[l]);                         \
        }                                                                                                    \
    }

/* parameter i, its gradient and state; a list that is empty stands still at the parameter */
static void step_iter(rl_call *k, const rl_step_plan *plan, int i, rl_iter *w) {
    rl_iter_begin(w, k->arg[0].u.ts[i], RL_WRITE);
    for (int l = 1; l < plan->lists; l++) {
        const bool given = k->arg[l].n > 0;
        rl_iter_add(w, k->arg[given ? l : 0].u.ts[i]);
        if (given && l > 1) rl_data(k->arg[l].u.ts[i], RL_WRITE);
    }
    rl_iter_merge(w);
}

static rl_status step_lists(rl_call *k, const rl_step_plan *plan, const rl_inner_loop *loops) {
    const double *numbers = rl_step_numbers(k, plan);
    step_context c;
    if (!numbers) return RL_FAIL;
    for (int l = 0; l < plan->lists; l++) c.given[l] = k->arg[l].n > 0;
    for (int i = 0; i < k->arg[0].n; i++) {
        rl_iter w;
        c.numbers = numbers + (int64_t)i * RL_STEP_NUMBERS;
        step_iter(k, plan, i, &w);
        rl_iter_parallel(k, &w, RL_REF_NS, loops[k->arg[0].u.ts[i]->dtype], &c);
    }
    return RL_OK;
}

#define STEP_KERNEL(name, lists)                                                                             \
    STEP_LOOP(F16, rl_half, float, rl_from_half, rl_to_half, name, lists, )                                  \
    STEP_LOOP(BF16, rl_bfloat, float, rl_from_bfloat, rl_to_bfloat, name, lists, )                           \
    STEP_LOOP(F32, float, float, RL_AS_IS, RL_AS_IS, name, lists, )                                          \
    STEP_LOOP(F64, double, double, RL_AS_IS, RL_AS_IS, name, lists, _f64)                                    \
    static const rl_inner_loop name##_loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, name)};                   \
    RL_KERNEL(ref_##name) {                                                                                  \
        return step_lists(k, &rl_step_##name, name##_loops);                                                 \
    }
STEP_KERNEL(sgd, 3)
STEP_KERNEL(adam, 5)
STEP_KERNEL(adadelta, 4)
STEP_KERNEL(adagrad, 3)
STEP_KERNEL(adamax, 4)
STEP_KERNEL(asgd, 3)
STEP_KERNEL(nadam, 4)
STEP_KERNEL(radam, 4)
STEP_KERNEL(rmsprop, 5)
STEP_KERNEL(rprop, 4)
