/* Running logarithms of sums of powers; running extremes and where they stand. */
#include "lines.h"
#include <math.h>

static double log_add(double a, double b) {
    double high = a > b || a != a ? a : b, low = high == a ? b : a;
    if (high == low && isinf(high)) return high;
    return high + log1p(exp(low - high));
}

static void logcumsumexp_line(const rl_line_job *job, rl_line *l, char *const *p) {
    double total = -INFINITY;
    for (int64_t i = 0; i < job->n; i++) l->values[i].d = total = log_add(total, l->values[i].d);
    rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);
}

RL_KERNEL(ref_logcumsumexp) {
    rl_line_job job = {.run = logcumsumexp_line};
    return rl_lines_run(k, &job);
}

/* the last of equals is where it stands; a NaN is the extreme from then on, and the last of them */
#define EXTREME(name, op)                                                                                    \
    static void name##_line(const rl_line_job *job, rl_line *l, char *const *p) {                            \
        rl_element best = l->values[0];                                                                      \
        int64_t at = 0;                                                                                      \
        for (int64_t i = 0; i < job->n; i++) {                                                               \
            const rl_element x = l->values[i];                                                               \
            if (job->floats ? x.d != x.d || x.d op best.d : x.i op best.i) best = x, at = i;                 \
            l->values[i] = best, l->places[i] = at;                                                          \
        }                                                                                                    \
        if (job->floats)                                                                                     \
            rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);                       \
        else                                                                                                 \
            rl_row_put_ints(job->dtype, p[0], job->step[0], job->n, &l->values->i);                          \
        rl_row_put_ints(RL_I64, p[1], job->step[1], job->n, l->places);                                      \
    }                                                                                                        \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_line_job job = {.run = name##_line};                                                              \
        return rl_lines_run(k, &job);                                                                        \
    }
EXTREME(cummax, >=)
EXTREME(cummin, <=)
