/* Along one dimension: running sums and products, sorting, the largest. */
#include "loops.h"
#include <string.h>

/* Note [Lines]
 * A line is the elements along the dimension, widened to double or int64: NaN counts as the largest number.
 *     values, order    what a line is and where its elements stood
 *     other, places    room for a merge */
typedef union {
    double d;
    int64_t i;
} element;
typedef struct {
    element *values, *other;
    int64_t *order, *places;
} line;
typedef struct line_job line_job;
struct line_job {
    rl_walk lines;      /* operands: output, [second output,] input; without the dimension */
    int dtype, outputs; /* of the input */
    bool floats, descending;
    int64_t n, keep, step[3]; /* elements of a line, of the output's, byte steps along both */
    element *memory;
    void (*run)(const line_job *job, line *l, char *const *p);
};

static void line_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const line_job *job = ctx;
    element *at = job->memory + (int64_t)thread * 4 * job->n;
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_WALK_OPS];
        line l = {at, at + job->n, (int64_t *)(at + 2 * job->n), (int64_t *)(at + 3 * job->n)};
        for (int op = 0; op < job->lines.nops; op++) p[op] = job->lines.base[op];
        rl_walk_seek(&job->lines, i, p);
        int in = job->outputs;
        if (job->floats)
            rl_row_doubles(job->dtype, p[in], job->step[in], job->n, &l.values->d);
        else
            rl_row_ints(job->dtype, p[in], job->step[in], job->n, &l.values->i);
        job->run(job, &l, p);
    }
}

static rl_status lines_run(rl_call *k, line_job *job) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->attr[0], item = rl_itemsize(x->dtype);
    rl_walk *w = &job->lines;
    if (k->out[0]->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    job->floats = rl_is_float(x->dtype);
    job->outputs = k->n_out;
    rl_walk_begin(w, k->out[0], RL_WRITE);
    if (k->n_out == 2) rl_walk_add(w, k->out[1]);
    for (int i = 1; i < k->n_out; i++) rl_data(k->out[i], RL_WRITE);
    w->base[w->nops] = rl_data(x, RL_READ);
    for (int d = 0; d < w->ndim; d++) w->stride[w->nops][d] = x->strides[d] * item;
    w->nops++;
    job->n = x->ndim ? x->shape[dim] : 1;
    job->keep = x->ndim ? k->out[0]->shape[dim] : 1;
    for (int op = 0; op < w->nops; op++) job->step[op] = w->ndim ? w->stride[op][dim] : 0;
    if (w->ndim) rl_walk_drop(w, 1ull << dim);
    rl_walk_merge(w);
    job->memory = k->svc->scratch(k, RL_COUNT(job->n, 4, k->threads), 8);
    if (!job->memory) return RL_FAIL;
    if (w->numel * job->n <= RL_GRAIN / 8)
        line_part(job, 0, w->numel, 0);
    else
        k->svc->parallel(k, w->numel, RL_GRAIN / 8 / job->n + 1, line_part, job);
    return RL_OK;
}

/* ---- running totals ---- */
#define SCAN(name, start, float_op, int_op)                                                                  \
    static void name##_line(const line_job *job, line *l, char *const *p) {                                  \
        element total = {.i = start};                                                                        \
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
        line_job job = {.run = name##_line};                                                                 \
        return lines_run(k, &job);                                                                           \
    }
SCAN(cumsum, 0, +, +)
SCAN(cumprod, 1, *, *)

/* ---- order ---- */
static bool before(const line_job *job, element a, element b) {
    if (job->floats)
        return job->descending ? a.d > b.d || (a.d != a.d && b.d == b.d)
                               : a.d < b.d || (b.d != b.d && a.d == a.d);
    return job->descending ? a.i > b.i : a.i < b.i;
}

/* merges sorted runs of doubling length, from one pair of arrays to the other */
static void line_sort(const line_job *job, line *l) {
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
        line swapped = {l->other, l->values, l->places, l->order};
        *l = swapped;
    }
}

static void values_put(const line_job *job, const line *l, char *to) {
    if (job->floats)
        rl_row_put_doubles(job->dtype, to, job->step[0], job->keep, &l->values->d);
    else
        rl_row_put_ints(job->dtype, to, job->step[0], job->keep, &l->values->i);
}

static void sort_line(const line_job *job, line *l, char *const *p) {
    line_sort(job, l);
    values_put(job, l, p[0]);
    rl_row_put_ints(RL_I64, p[1], job->step[1], job->keep, l->order);
}

static void argsort_line(const line_job *job, line *l, char *const *p) {
    line_sort(job, l);
    rl_row_put_ints(RL_I64, p[0], job->step[0], job->n, l->order);
}

RL_KERNEL(ref_sort) {
    line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return lines_run(k, &job);
}
RL_KERNEL(ref_topk) {
    line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return lines_run(k, &job);
}
RL_KERNEL(ref_argsort) {
    line_job job = {.run = argsort_line, .descending = k->attr[1] != 0};
    return lines_run(k, &job);
}
