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

void rl_step_number(rl_call *k, const rl_step_plan *plan, int i, double *s) {
    rl_step_counts c = {{0}, false};
    for (int j = 0; j < plan->counts; j++) {
        const rl_view *v = k->arg[plan->lists + j].u.ts[i];
        c.at[j] = count_read(v);
        c.wide = v->dtype == RL_F64;
    }
    plan->prepare(k, plan->lists + plan->counts, &c, s);
    for (int j = 0; j < plan->counts; j++) count_write(k->arg[plan->lists + j].u.ts[i], c.at[j]);
}

double *rl_step_numbers(rl_call *k, const rl_step_plan *plan) {
    const int n = k->arg[0].n;
    double *all = k->svc->scratch(k, RL_COUNT(n, RL_STEP_NUMBERS), sizeof *all);
    for (int i = 0; all && i < n; i++) rl_step_number(k, plan, i, all + (int64_t)i * RL_STEP_NUMBERS);
    return all;
}

/* (lr, momentum, dampening, weight_decay, nesterov, maximize) */
static void prepare_sgd(const rl_call *k, int a, rl_step_counts *c, double *s) {
    (void)c;
    s[0] = -rl_num(k, a);
    s[1] = rl_num(k, a + 1);
    s[2] = 1 - rl_num(k, a + 2);
    s[3] = rl_num(k, a + 3);
    s[4] = rl_num(k, a + 4);
    s[5] = rl_num(k, a + 5);
}

/* (lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay) */
static void prepare_adam(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double lr = rl_num(k, a), beta1 = rl_num(k, a + 1), beta2 = rl_num(k, a + 2),
                 decay = rl_num(k, a + 4), t = ++c->at[0];
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

/* (lr, rho, eps, weight_decay, maximize) */
static void prepare_adadelta(const rl_call *k, int a, rl_step_counts *c, double *s) {
    ++c->at[0];
    s[0] = -rl_num(k, a);
    s[1] = rl_num(k, a + 1);
    s[2] = 1 - rl_num(k, a + 1);
    s[3] = rl_num(k, a + 2);
    s[4] = rl_num(k, a + 3);
    s[5] = rl_num(k, a + 4);
}

/* (lr, lr_decay, weight_decay, eps, maximize) */
static void prepare_adagrad(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double t = ++c->at[0];
    s[0] = -rl_num(k, a) / (1 + (t - 1) * rl_num(k, a + 1));
    s[1] = rl_num(k, a + 2);
    s[2] = rl_num(k, a + 3);
    s[3] = rl_num(k, a + 4);
}

/* (lr, beta1, beta2, eps, weight_decay, maximize) */
static void prepare_adamax(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double beta1 = rl_num(k, a + 1), t = ++c->at[0];
    s[0] = -rl_num(k, a) / (1 - pow(beta1, t));
    s[1] = 1 - beta1;
    s[2] = rl_num(k, a + 2);
    s[3] = rl_num(k, a + 3);
    s[4] = rl_num(k, a + 4);
    s[5] = rl_num(k, a + 5);
}

/* (lr, lambd, alpha, t0, weight_decay, maximize); counts: step, eta, mu */
static void prepare_asgd(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double lr = rl_num(k, a), lambd = rl_num(k, a + 1), since = ++c->at[0] - rl_num(k, a + 3);
    s[0] = 1 - lambd * c->at[1];
    s[1] = -c->at[1];
    s[2] = c->at[2];
    s[3] = rl_num(k, a + 4);
    s[4] = rl_num(k, a + 5);
    c->at[1] = lr / pow(1 + lambd * lr * c->at[0], rl_num(k, a + 2));
    c->at[2] = 1 / (since > 1 ? since : 1);
}

/* (lr, beta1, beta2, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize); counts: step,
 * mu_product */
static void prepare_nadam(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double lr = rl_num(k, a), beta1 = rl_num(k, a + 1), beta2 = rl_num(k, a + 2),
                 decay = rl_num(k, a + 4), fade = rl_num(k, a + 5), t = ++c->at[0];
    const bool decoupled = rl_int(k, a + 6) != 0;
    const double mu = beta1 * (1 - 0.5 * pow(0.96, t * fade)),
                 next = beta1 * (1 - 0.5 * pow(0.96, (t + 1) * fade));
    c->at[1] = c->wide ? c->at[1] * mu : (double)((float)c->at[1] * (float)mu);
    s[0] = -lr * (1 - mu) / (1 - c->at[1]);
    s[1] = -lr * next / (1 - c->at[1] * next);
    s[2] = 1 - beta1;
    s[3] = beta2;
    s[4] = 1 - beta2;
    s[5] = 1 - pow(beta2, t);
    s[6] = rl_num(k, a + 3);
    s[7] = decoupled ? 0 : decay;
    s[8] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[9] = rl_num(k, a + 7);
}

/* (lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize) */
static void prepare_radam(const rl_call *k, int a, rl_step_counts *c, double *s) {
    const double lr = rl_num(k, a), beta1 = rl_num(k, a + 1), beta2 = rl_num(k, a + 2),
                 decay = rl_num(k, a + 4), t = ++c->at[0];
    const bool decoupled = rl_int(k, a + 5) != 0;
    const double left = 1 - pow(beta2, t), most = 2 / (1 - beta2) - 1,
                 length = most - 2 * t * pow(beta2, t) / left; /* of the approximated moving average */
    s[0] = 1 - pow(beta1, t);
    s[1] = lr;
    s[2] = length > 5 ? sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
                      : 0; /* the variance is not tractable yet */
    s[3] = sqrt(left);
    s[4] = rl_num(k, a + 3);
    s[5] = 1 - beta1;
    s[6] = beta2;
    s[7] = 1 - beta2;
    s[8] = decoupled ? 0 : decay;
    s[9] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[10] = rl_num(k, a + 6);
}

/* (lr, alpha, eps, weight_decay, momentum, centered, maximize) */
static void prepare_rmsprop(const rl_call *k, int a, rl_step_counts *c, double *s) {
    ++c->at[0];
    s[0] = -rl_num(k, a);
    s[1] = rl_num(k, a + 1);
    s[2] = 1 - rl_num(k, a + 1);
    for (int i = 2; i < 7; i++) s[i + 1] = rl_num(k, a + i);
}

/* (etaminus, etaplus, step_size_min, step_size_max, maximize) */
static void prepare_rprop(const rl_call *k, int a, rl_step_counts *c, double *s) {
    ++c->at[0];
    for (int i = 0; i < 5; i++) s[i] = rl_num(k, a + i);
}

#define X(name, lists, counts) const rl_step_plan rl_step_##name = {lists, counts, prepare_##name};
RL_STEPS(X)
#undef X
