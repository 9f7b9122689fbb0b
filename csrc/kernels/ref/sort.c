/* Elements in order: sorting, the largest, the middle one. */
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

/* ---- one element of each line, by sorting it ---- */
static void put_one(const rl_line_job *job, const rl_line *l, int64_t at, char *const *p) {
    rl_line one = {l->values + at, NULL, NULL, NULL};
    values_put(job, &one, p[0]);
    if (job->along.in == 2) rl_row_put_ints(RL_I64, p[1], 0, 1, l->order + at);
}

static bool is_nan(const rl_line_job *job, rl_element a) {
    return job->floats && a.d != a.d;
}

static bool are_equal(const rl_line_job *job, rl_element a, rl_element b) {
    return job->floats ? a.d == b.d : a.i == b.i;
}

static void kth_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    put_one(job, l, job->place, p);
}

static void median_line(const rl_line_job *job, rl_line *l, char *const *p) {
    int64_t numbers = job->n;
    line_sort(job, l);
    while (numbers && is_nan(job, l->values[numbers - 1])) numbers--;
    const bool is_number = numbers == job->n || (numbers && job->ignores_nan);
    put_one(job, l, is_number ? (numbers - 1) / 2 : numbers, p);
}

static void mode_line(const rl_line_job *job, rl_line *l, char *const *p) {
    int64_t found = 0;
    line_sort(job, l);
    for (int64_t i = 1, run = 1, longest = 1; i < job->n; i++) {
        run = are_equal(job, l->values[i], l->values[i - 1]) ? run + 1 : 1;
        if (run > longest) longest = run, found = i;
    }
    put_one(job, l, found, p);
}

/* of no elements: NaN, as integers have it that are made of one */
static rl_status median_of_none(rl_call *k) {
    const rl_view *out = k->out[0];
    const double nan = __builtin_nan("");
    const int64_t least = out->dtype == RL_I64 ? INT64_MIN : out->dtype == RL_I32 ? INT32_MIN : 0;
    if (rl_is_float(out->dtype))
        rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), 0, 1, &nan);
    else
        rl_row_put_ints(out->dtype, rl_data(out, RL_WRITE), 0, 1, &least);
    return RL_OK;
}

static rl_status median(rl_call *k, bool ignores_nan) {
    rl_line_job job = {.run = median_line, .ignores_nan = ignores_nan};
    return k->attr[0] < 0 && rl_tensor_arg(k, 0)->numel == 0 ? median_of_none(k) : rl_lines_run(k, &job);
}

RL_KERNEL(ref_kthvalue) {
    rl_line_job job = {.run = kth_line, .place = k->attr[1] - 1};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_median) {
    return median(k, false);
}
RL_KERNEL(ref_nanmedian) {
    return median(k, true);
}
RL_KERNEL(ref_mode) {
    rl_line_job job = {.run = mode_line};
    return rl_lines_run(k, &job);
}
