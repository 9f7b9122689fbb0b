/* Elements in order: sorting, the largest. */
#include "lines.h"

static bool before(const rl_line_job *job, rl_element a, rl_element b) {
    if (job->floats)
        return job->descending ? a.d > b.d || (a.d != a.d && b.d == b.d)
                               : a.d < b.d || (b.d != b.d && a.d == a.d);
    return job->descending ? a.i > b.i : a.i < b.i;
}

/* merges sorted runs of doubling length, from one pair of arrays to the other */
static void line_sort(const rl_line_job *job, rl_line *l) {
    const int64_t n = job->n;
    for (int64_t i = 0; i < n; i++) l->order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t low = 0; low < n; low += 2 * run) {
            int64_t middle = low + run < n ? low + run : n, high = low + 2 * run < n ? low + 2 * run : n;
            for (int64_t a = low, b = middle, to = low; to < high; to++) {
                bool second = a == middle || (b < high && before(job, l->values[b], l->values[a]));
                int64_t from = second ? b++ : a++;
                l->other[to] = l->values[from];
                l->places[to] = l->order[from];
            }
        }
        rl_line swapped = {l->other, l->values, l->places, l->order};
        *l = swapped;
    }
}

static void values_put(const rl_line_job *job, const rl_line *l, char *to) {
    if (job->floats)
        rl_row_put_doubles(job->dtype, to, job->step[0], job->keep, &l->values->d);
    else
        rl_row_put_ints(job->dtype, to, job->step[0], job->keep, &l->values->i);
}

static void sort_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    values_put(job, l, p[0]);
    rl_row_put_ints(RL_I64, p[1], job->step[1], job->keep, l->order);
}

static void argsort_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    rl_row_put_ints(RL_I64, p[0], job->step[0], job->n, l->order);
}

RL_KERNEL(ref_sort) {
    rl_line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_topk) {
    rl_line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_argsort) {
    rl_line_job job = {.run = argsort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}
