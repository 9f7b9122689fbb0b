/* Running sums and products. */
#include "lines.h"

#define SCAN(name, start, float_op, int_op)                                                                  \
    static void name##_line(const rl_line_job *job, rl_line *l, char *const *p) {                            \
        rl_element total = {.i = start};                                                                     \
        if (job->floats) total.d = start;                                                                    \
        for (int64_t i = 0; i < job->n; i++) {                                                               \
            if (job->floats)                                                                                 \
                l->values[i].d = total.d = total.d float_op l->values[i].d;                                  \
            else                                                                                             \
                l->values[i].i = total.i = RL_WRAP(total.i, int_op, l->values[i].i);                         \
        }                                                                                                    \
        if (job->floats)                                                                                     \
            rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);                       \
        else                                                                                                 \
            rl_row_put_ints(job->dtype, p[0], job->step[0], job->n, &l->values->i);                          \
    }                                                                                                        \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_line_job job = {.run = name##_line};                                                              \
        return rl_lines_run(k, &job);                                                                        \
    }
SCAN(cumsum, 0, +, +)
SCAN(cumprod, 1, *, *)
