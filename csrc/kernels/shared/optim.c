/* See Note [Steps]: the numbers of each step. */
#include "optim_numbers.h"

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

void rl_step_group(const rl_call *k, const rl_step_plan *plan, double *a) {
    const int first = plan->lists + plan->counts, end = k->n_arg - RL_STEP_SCALES;
    for (int i = first; i < end; i++) a[i - first] = rl_num(k, i);
}

static void number_of(rl_call *k, const rl_step_plan *plan, int i, const double *group, double *s) {
    rl_step_counts c = {{0}, false};
    for (int j = 0; j < plan->counts; j++) {
        const rl_view *v = k->arg[plan->lists + j].u.ts[i];
        c.at[j] = count_read(v);
        c.wide = v->dtype == RL_F64;
    }
    plan->prepare(group, &c, s);
    for (int j = 0; j < plan->counts; j++) count_write(k->arg[plan->lists + j].u.ts[i], c.at[j]);
}

void rl_step_number(rl_call *k, const rl_step_plan *plan, int i, double *s) {
    double group[RL_STEP_GROUP];
    rl_step_group(k, plan, group);
    number_of(k, plan, i, group, s);
}

double *rl_step_numbers(rl_call *k, const rl_step_plan *plan) {
    double group[RL_STEP_GROUP];
    const int n = k->arg[0].n;
    double *all = k->svc->scratch(k, RL_COUNT(n, RL_STEP_NUMBERS), sizeof *all);
    rl_step_group(k, plan, group);
    for (int i = 0; all && i < n; i++) number_of(k, plan, i, group, all + (int64_t)i * RL_STEP_NUMBERS);
    return all;
}

#define X(name, lists, counts) const rl_step_plan rl_step_##name = {lists, counts, step_numbers_##name};
RL_STEPS(X)
#undef X
