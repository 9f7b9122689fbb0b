/* Reductions over segments of one dimension, and their gradient.
 *
 * A line is the elements of data along the axis. Where its segments begin and end is read while it is
 * reduced, and kept inside of the line: another thread may write to lengths and offsets meanwhile. */
#include "loops.h"
#include <math.h>

enum { SUM, MEAN, PROD, MOST, LEAST, CHUNK = 256 };
enum { GOOD, NEGATIVE, UNEVEN };
typedef struct {
    rl_walk lines, more;                   /* operands: output, data, segments; gradient, result */
    int64_t step[5];                       /* bytes along the axis */
    int64_t n, segments;                   /* elements of a line, segments of it */
    int dtype, marks, kind;                /* of data, of lengths or offsets */
    bool offsets, checked, given, outputs; /* given: an initial value; outputs: more operands */
    double initial;
    int bad;
} segment_job;
typedef struct {
    int64_t first, n;
} segment;

static int64_t mark(const segment_job *job, char *const *p, int64_t i) {
    int64_t value;
    rl_row_ints(job->marks, p[2] + i * job->step[2], 0, 1, &value);
    return value;
}

static segment segment_next(const segment_job *job, char *const *p, int64_t i, int64_t end) {
    int64_t first = job->offsets ? mark(job, p, i) : end;
    first = first < 0 ? 0 : first > job->n ? job->n : first;
    int64_t stop = job->offsets ? mark(job, p, i + 1) : 0, n = job->offsets ? stop : mark(job, p, i);
    if (job->offsets) n = stop <= first ? 0 : stop - first;
    return (segment){first, n < 0 ? 0 : n > job->n - first ? job->n - first : n};
}

static double join(int kind, double a, double x) {
    switch (kind) {
    case PROD: return a * x;
    case MOST: return a != a || a > x ? a : x;
    case LEAST: return a != a || a < x ? a : x;
    default: return a + x;
    }
}

static double line_fold(const segment_job *job, const char *from, segment s, int64_t skip) {
    static const double neutral[] = {0, 0, 1, -INFINITY, INFINITY};
    double x[CHUNK], all = job->given ? job->initial : neutral[job->kind];
    for (int64_t at = 0, m; at < s.n; at += m) {
        m = s.n - at < CHUNK ? s.n - at : CHUNK;
        rl_row_doubles(job->dtype, from + (s.first + at) * job->step[1], job->step[1], m, x);
        for (int64_t i = 0; i < m; i++)
            if (at + i != skip) all = join(job->kind, all, x[i]);
    }
    return all;
}

static void reduce_line(const segment_job *job, char *const *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < job->segments; i++) {
        segment s = segment_next(job, p, i, end);
        double all = line_fold(job, p[1], s, -1);
        if (job->kind == MEAN && s.n) all /= (double)s.n;
        if (job->kind == MEAN && !s.n && !job->given) all = NAN;
        rl_row_put_double(job->dtype, p[0] + i * job->step[0], all);
        end = s.first + s.n;
    }
}

static double element(const segment_job *job, const char *p) {
    return rl_row_double(job->dtype, p);
}

/* what goes to element i of a segment; share: how many are the extreme */
static double element_grad(const segment_job *job, const char *from, segment s, int64_t i, double grad,
                           double result, double share) {
    double x = element(job, from + (s.first + i) * job->step[1]);
    switch (job->kind) {
    case MEAN: return grad / (double)s.n;
    case PROD: return grad * (x == 0 || x != x ? line_fold(job, from, s, i) : result / x);
    case MOST:
    case LEAST: return x != x || x == result ? grad / share : 0;
    default: return grad;
    }
}

static double extremes(const segment_job *job, const char *from, segment s, double result) {
    double n = 0;
    for (int64_t i = 0; i < s.n; i++) {
        double x = element(job, from + (s.first + i) * job->step[1]);
        n += x != x || x == result;
    }
    return n;
}

static void backward_line(const segment_job *job, char *const *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < job->n; i++) rl_row_put_double(job->dtype, p[0] + i * job->step[0], 0);
    for (int64_t i = 0; i < job->segments; i++) {
        segment s = segment_next(job, p, i, end);
        double grad = element(job, p[3] + i * job->step[3]), result = element(job, p[4] + i * job->step[4]);
        double share = job->kind >= MOST ? extremes(job, p[1], s, result) : 1;
        for (int64_t j = 0; j < s.n; j++)
            rl_row_put_double(job->dtype, p[0] + (s.first + j) * job->step[0],
                              element_grad(job, p[1], s, j, grad, result, share));
        end = s.first + s.n;
    }
}

/* lengths must cover the line */
static int line_check(const segment_job *job, char *const *p) {
    int64_t all = 0;
    for (int64_t i = 0; i < job->segments; i++) {
        int64_t n = mark(job, p, i);
        if (n < 0) return NEGATIVE;
        all = RL_WRAP(all, +, n);
        if (n > job->n || all > job->n) return UNEVEN;
    }
    return all == job->n ? GOOD : UNEVEN;
}

static void segment_part(void *ctx, int64_t begin, int64_t end, int thread) {
    segment_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[5];
        for (int op = 0; op < 3; op++) p[op] = job->lines.base[op];
        rl_walk_seek(&job->lines, i, p);
        for (int op = 0; job->outputs && op < 2; op++) p[3 + op] = job->more.base[op];
        if (job->outputs) rl_walk_seek(&job->more, i, p + 3);
        int bad = job->checked ? line_check(job, p) : GOOD;
        if (bad)
            __atomic_store_n(&job->bad, bad, __ATOMIC_RELAXED);
        else if (job->outputs)
            backward_line(job, p);
        else
            reduce_line(job, p);
    }
}

/* one more operand, of as many dims as lead to its axis; answers its step along that */
static int64_t operand(rl_walk *w, const rl_view *v, int64_t axis) {
    const int op = w->nops++;
    const int64_t item = rl_itemsize(v->dtype);
    w->base[op] = rl_data(v, RL_READ);
    for (int d = 0; d < w->ndim; d++) w->stride[op][d] = d < v->ndim ? v->strides[d] * item : 0;
    return w->stride[op][axis];
}

static rl_status segments_run(rl_call *k, segment_job *job, const rl_view *data, const rl_view *marks,
                              int initial) {
    const int64_t axis = k->attr[0];
    if (k->out[0]->numel == 0) return RL_OK;
    job->kind = (int)k->attr[1];
    job->dtype = data->dtype, job->marks = marks->dtype;
    job->n = data->shape[axis];
    job->segments = marks->shape[axis] - job->offsets;
    job->given = k->arg[initial].tag != RL_NONE;
    if (job->given) job->initial = rl_num(k, initial);
    rl_walk_begin(&job->lines, k->out[0], RL_WRITE);
    job->step[0] = job->lines.stride[0][axis];
    job->more = job->lines;
    job->step[1] = operand(&job->lines, data, axis);
    job->step[2] = operand(&job->lines, marks, axis);
    rl_walk_drop(&job->lines, 1ull << axis);
    if (job->outputs) {
        job->more.nops = 0;
        job->step[3] = operand(&job->more, rl_in(k, 0), axis);
        job->step[4] = operand(&job->more, rl_in(k, 1), axis);
        rl_walk_drop(&job->more, 1ull << axis);
    }
    k->svc->parallel(k, job->lines.numel, 8 * RL_REF_NS * (double)(job->n + job->segments + 1), segment_part,
                     job);
    if (job->bad == NEGATIVE) return rl_fail(k, RL_RUNTIME, "lengths contains negative value!");
    if (job->bad)
        return rl_fail(k, RL_RUNTIME,
                       "segment_reduce(): Expected all rows of lengths along axis to sum to "
                       "data.size(lengths.dim()-1) when !unsafe.");
    return RL_OK;
}

RL_KERNEL(ref_segment_reduce) {
    const rl_view *offsets = rl_in(k, 4);
    segment_job job = {.offsets = offsets != NULL, .checked = !offsets && !k->arg[6].u.i};
    return segments_run(k, &job, rl_in(k, 0), offsets ? offsets : rl_in(k, 2), 7);
}

RL_KERNEL(ref_segment_reduce_backward) {
    const rl_view *offsets = rl_in(k, 5);
    segment_job job = {.offsets = offsets != NULL, .outputs = true};
    return segments_run(k, &job, rl_in(k, 2), offsets ? offsets : rl_in(k, 4), 7);
}
