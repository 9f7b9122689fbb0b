/* See Note [Steps]: the numbers of each step. */
#include "optim.h"
#include <math.h>

static double count_read(const rl_view *v) {
    const void *p = rl_const_data(v);
    return v->dtype == RL_F64 ? *(const double *)p : (double)*(const float *)p;
}
static void count_write(const rl_view *v, double x) {
    void *p = rl_data(v, RL_WRITE);
    if (v->dtype == RL_F64)
        *(double *)p = x;
    else
        *(float *)p = (float)x;
}

double *rl_step_numbers(rl_call *k, const rl_step_plan *plan) {
    const int n = k->arg[0].n, numbers = plan->lists + plan->counts;
    double *all = k->svc->scratch(k, RL_COUNT(n, RL_STEP_NUMBERS), sizeof *all);
    for (int i = 0; all && i < n; i++) {
        double count[RL_STEP_COUNTS] = {0};
        for (int c = 0; c < plan->counts; c++) count[c] = count_read(k->arg[plan->lists + c].u.ts[i]);
        plan->prepare(k, numbers, count, all + (int64_t)i * RL_STEP_NUMBERS);
        for (int c = 0; c < plan->counts; c++) count_write(k->arg[plan->lists + c].u.ts[i], count[c]);
    }
    return all;
}

/* (lr, momentum, dampening, weight_decay, nesterov, maximize) */
static void prepare_sgd(const rl_call *k, int a, double *count, double *s) {
    (void)count;
    s[0] = -rl_num(k, a);
    s[1] = rl_num(k, a + 1);
    s[2] = 1 - rl_num(k, a + 2);
    s[3] = rl_num(k, a + 3);
    s[4] = rl_num(k, a + 4);
    s[5] = rl_num(k, a + 5);
}

/* (lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay) */
static void prepare_adam(const rl_call *k, int a, double *count, double *s) {
    const double lr = rl_num(k, a), beta1 = rl_num(k, a + 1), beta2 = rl_num(k, a + 2),
                 decay = rl_num(k, a + 4), t = ++count[0];
    const bool decoupled = rl_int(k, a + 7) != 0;
    s[0] = -lr / (1 - pow(beta1, t));
    s[1] = 1 - beta1;
    s[2] = beta2;
    s[3] = 1 - beta2;
    s[4] = sqrt(1 - pow(beta2, t));
    s[5] = rl_num(k, a + 3);
    s[6] = decoupled ? 0 : decay;
    s[7] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[8] = rl_num(k, a + 5);
    s[9] = rl_num(k, a + 6);
}

#define X(name, lists, counts) const rl_step_plan rl_step_##name = {lists, counts, prepare_##name};
RL_STEPS(X)
#undef X
