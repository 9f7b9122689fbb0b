/* What each step needs beside its elements: from the numbers of the group, a[], and the counts of a
 * parameter, which move on, to the s[] of optim_impl.inc. Note [Steps] */
#ifndef RL_KERNELS_SHARED_OPTIM_NUMBERS_H
#define RL_KERNELS_SHARED_OPTIM_NUMBERS_H
#include "optim.h"
#include <math.h>

#ifndef V_TARGET
#define V_TARGET
#endif

/* (lr, momentum, dampening, weight_decay, nesterov, maximize) */
V_TARGET static inline void step_numbers_sgd(const double *a, rl_step_counts *c, double *s) {
    (void)c;
    s[0] = -a[0];
    s[1] = a[1];
    s[2] = 1 - a[2];
    s[3] = a[3];
    s[4] = a[4];
    s[5] = a[5];
}

/* (lr, beta1, beta2, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay) */
V_TARGET static inline void step_numbers_adam(const double *a, rl_step_counts *c, double *s) {
    const double lr = a[0], beta1 = a[1], beta2 = a[2], decay = a[4], t = ++c->at[0];
    const bool decoupled = a[7] != 0;
    s[0] = -lr / (1 - pow(beta1, t));
    s[1] = 1 - beta1;
    s[2] = beta2;
    s[3] = 1 - beta2;
    s[4] = sqrt(1 - pow(beta2, t));
    s[5] = a[3];
    s[6] = decoupled ? 0 : decay;
    s[7] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[8] = a[5];
    s[9] = a[6];
}

/* (lr, rho, eps, weight_decay, maximize) */
V_TARGET static inline void step_numbers_adadelta(const double *a, rl_step_counts *c, double *s) {
    ++c->at[0];
    s[0] = -a[0];
    s[1] = a[1];
    s[2] = 1 - a[1];
    s[3] = a[2];
    s[4] = a[3];
    s[5] = a[4];
}

/* (lr, lr_decay, weight_decay, eps, maximize) */
V_TARGET static inline void step_numbers_adagrad(const double *a, rl_step_counts *c, double *s) {
    const double t = ++c->at[0];
    s[0] = -a[0] / (1 + (t - 1) * a[1]);
    s[1] = a[2];
    s[2] = a[3];
    s[3] = a[4];
}

/* (lr, beta1, beta2, eps, weight_decay, maximize) */
V_TARGET static inline void step_numbers_adamax(const double *a, rl_step_counts *c, double *s) {
    const double beta1 = a[1], t = ++c->at[0];
    s[0] = -a[0] / (1 - pow(beta1, t));
    s[1] = 1 - beta1;
    s[2] = a[2];
    s[3] = a[3];
    s[4] = a[4];
    s[5] = a[5];
}

/* (lr, lambd, alpha, t0, weight_decay, maximize); counts: step, eta, mu */
V_TARGET static inline void step_numbers_asgd(const double *a, rl_step_counts *c, double *s) {
    const double lr = a[0], lambd = a[1], since = ++c->at[0] - a[3];
    s[0] = 1 - lambd * c->at[1];
    s[1] = -c->at[1];
    s[2] = c->at[2];
    s[3] = a[4];
    s[4] = a[5];
    c->at[1] = lr / pow(1 + lambd * lr * c->at[0], a[2]);
    c->at[2] = 1 / (since > 1 ? since : 1);
}

/* (lr, beta1, beta2, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize); counts: step,
 * mu_product */
V_TARGET static inline void step_numbers_nadam(const double *a, rl_step_counts *c, double *s) {
    const double lr = a[0], beta1 = a[1], beta2 = a[2], decay = a[4], fade = a[5], t = ++c->at[0];
    const bool decoupled = a[6] != 0;
    const double mu = beta1 * (1 - 0.5 * pow(0.96, t * fade)),
                 next = beta1 * (1 - 0.5 * pow(0.96, (t + 1) * fade));
    c->at[1] = c->wide ? c->at[1] * mu : (double)((float)c->at[1] * (float)mu);
    s[0] = -lr * (1 - mu) / (1 - c->at[1]);
    s[1] = -lr * next / (1 - c->at[1] * next);
    s[2] = 1 - beta1;
    s[3] = beta2;
    s[4] = 1 - beta2;
    s[5] = 1 - pow(beta2, t);
    s[6] = a[3];
    s[7] = decoupled ? 0 : decay;
    s[8] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[9] = a[7];
}

/* (lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize) */
V_TARGET static inline void step_numbers_radam(const double *a, rl_step_counts *c, double *s) {
    const double lr = a[0], beta1 = a[1], beta2 = a[2], decay = a[4], t = ++c->at[0];
    const bool decoupled = a[5] != 0;
    const double left = 1 - pow(beta2, t), most = 2 / (1 - beta2) - 1,
                 length = most - 2 * t * pow(beta2, t) / left; /* of the approximated moving average */
    s[0] = 1 - pow(beta1, t);
    s[1] = lr;
    s[2] = length > 5 ? sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
                      : 0; /* the variance is not tractable yet */
    s[3] = sqrt(left);
    s[4] = a[3];
    s[5] = 1 - beta1;
    s[6] = beta2;
    s[7] = 1 - beta2;
    s[8] = decoupled ? 0 : decay;
    s[9] = decoupled && decay != 0 ? 1 - lr * decay : 1;
    s[10] = a[6];
}

/* (lr, alpha, eps, weight_decay, momentum, centered, maximize) */
V_TARGET static inline void step_numbers_rmsprop(const double *a, rl_step_counts *c, double *s) {
    ++c->at[0];
    s[0] = -a[0];
    s[1] = a[1];
    s[2] = 1 - a[1];
    for (int i = 2; i < 7; i++) s[i + 1] = a[i];
}

/* (etaminus, etaplus, step_size_min, step_size_max, maximize) */
V_TARGET static inline void step_numbers_rprop(const double *a, rl_step_counts *c, double *s) {
    ++c->at[0];
    for (int i = 0; i < 5; i++) s[i] = a[i];
}
#endif
