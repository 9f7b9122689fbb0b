/* Pooling of one to three dimensions, with or without indices, plain and adaptive. */
#include "pool.h"
#include <math.h>

typedef struct pool_job pool_job;
struct pool_job {
    rl_walk planes; /* operand 0: the input */
    rl_pool_plan plan;
    int dtype;
    int64_t step[3];
    bool count_pad;
    int64_t divisor;
    char *to, *indices; /* contiguous outputs */
    void (*one)(const pool_job *job, const char *from, const rl_span *w[3], int64_t at);
    /* or a whole line of outputs, w[2] being its first window */
    void (*line)(const pool_job *job, const char *from, const rl_span *w[3], int64_t at);
    int64_t kernel, stride, pad; /* along the line */
};

static void pool_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *from = job->planes.base[0];
        int64_t at = i * job->plan.places;
        rl_walk_seek(&job->planes, i, &from);
        for (int64_t d = 0; d < job->plan.out[0]; d++)
            for (int64_t h = 0; h < job->plan.out[1]; h++) {
                const rl_span *w[3] = {&job->plan.spans[0][d], &job->plan.spans[1][h], job->plan.spans[2]};
                if (job->line) job->line(job, from, w, at);
                for (int64_t o = 0; !job->line && o < job->plan.out[2]; o++, w[2]++)
                    job->one(job, from, w, at + o);
                at += job->plan.out[2];
            }
    }
}

/* `out` gives the dims of the answer; it goes to job->to and job->indices */
static rl_status pool_run(rl_call *k, pool_job *job, const rl_view *x, const rl_view *out, bool adaptive) {
    int n = (int)rl_window_of(k)->spatial, lead = x->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    if (rl_pool_plan_read(k, &job->plan, x, out, adaptive) != RL_OK) return RL_FAIL;
    for (int i = 0; i < 3; i++)
        job->step[i] = i < 3 - n ? 0 : x->strides[x->ndim - 3 + i] * rl_itemsize(x->dtype);
    rl_walk_begin(&job->planes, x, RL_READ);
    rl_walk_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job->planes);
    double ns = 16 * RL_REF_NS * (double)job->plan.places;
    k->svc->parallel(k, job->planes.numel, ns, pool_part, job);
    return RL_OK;
}

/* ---- the largest: NaN wins, the first of equals ---- */
#define MAX_ONE(D, T, C, LOAD, STORE, name, lowest)                                                          \
    static void name##_##D(const pool_job *job, const char *from, const rl_span *w[3], int64_t at) {         \
        C most = lowest;                                                                                     \
        int64_t place = (w[0]->start * job->plan.size[1] + w[1]->start) * job->plan.size[2] + w[2]->start;   \
        for (int64_t d = w[0]->start; d < w[0]->end; d += job->plan.dilation[0])                             \
            for (int64_t h = w[1]->start; h < w[1]->end; h += job->plan.dilation[1]) {                       \
                const char *row = from + d * job->step[0] + h * job->step[1];                                \
                for (int64_t i = w[2]->start; i < w[2]->end; i += job->plan.dilation[2]) {                   \
                    const C x = LOAD(*(const T *)(row + i * job->step[2]));                                  \
                    if (x > most || x != x) {                                                                \
                        most = x;                                                                            \
                        place = (d * job->plan.size[1] + h) * job->plan.size[2] + i;                         \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        ((T *)job->to)[at] = STORE(most);                                                                    \
        if (job->indices) ((int64_t *)job->indices)[at] = place;                                             \
    }
RL_EACH_FLOAT(MAX_ONE, max, -INFINITY)
#define MAX_INT(D, T, C, LOAD, STORE, name)                                                                  \
    MAX_ONE(D, T, C, LOAD, STORE, name, (T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2)
RL_EACH_INT(MAX_INT, max)

/* Note [Lines of windows]
 * Windows with one step between them: element t of all windows of a line is compared in one loop without a
 * branch for the padding. `lo` to `hi` are the windows in which element t is no padding. */
static void line_range(const pool_job *job, int64_t t, int64_t *lo, int64_t *hi) {
    int64_t before = job->pad - t * job->plan.dilation[2], left = job->plan.size[2] + before;
    *lo = before > 0 ? (before + job->stride - 1) / job->stride : 0;
    *hi = left > 0 ? (left + job->stride - 1) / job->stride : 0;
    if (*hi > job->plan.out[2]) *hi = job->plan.out[2];
}

static void line_start(const pool_job *job, const rl_span *w[3], int64_t *place) {
    int64_t row = (w[0]->start * job->plan.size[1] + w[1]->start) * job->plan.size[2];
    for (int64_t o = 0; o < job->plan.out[2]; o++) place[o] = row + w[2][o].start;
}

/* most and place of the windows lo .. hi; x: of window lo, elements `step` bytes apart */
#define MAX_LINE(D, T, C, LOAD, STORE, name, lowest)                                                         \
    static void name##_row_##D(T *restrict most, int64_t *restrict place, const char *restrict x,            \
                               int64_t step, int64_t n, int64_t at, int64_t stride) {                        \
        for (int64_t o = 0; o < n; o++, x += step, at += stride) {                                           \
            const T v = *(const T *)x;                                                                       \
            const C a = LOAD(v), old = LOAD(most[o]);                                                        \
            bool beats = a > old || a != a;                                                                  \
            most[o] = beats ? v : most[o];                                                                   \
            place[o] = beats ? at : place[o];                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_line_##D(const pool_job *job, const char *from, const rl_span *w[3], int64_t at) {    \
        T *most = (T *)job->to + at;                                                                         \
        int64_t *place = (int64_t *)job->indices + at, lo, hi;                                               \
        for (int64_t o = 0; o < job->plan.out[2]; o++) most[o] = STORE((C)lowest);                           \
        line_start(job, w, place);                                                                           \
        for (int64_t d = w[0]->start; d < w[0]->end; d += job->plan.dilation[0])                             \
            for (int64_t h = w[1]->start; h < w[1]->end; h += job->plan.dilation[1]) {                       \
                const char *row = from + d * job->step[0] + h * job->step[1];                                \
                for (int64_t t = 0; t < job->kernel; t++) {                                                  \
                    line_range(job, t, &lo, &hi);                                                            \
                    int64_t x = lo * job->stride - job->pad + t * job->plan.dilation[2];                     \
                    name##_row_##D(most + lo, place + lo, row + x * job->step[2],                            \
                                   job->stride * job->step[2], hi - lo,                                      \
                                   (d * job->plan.size[1] + h) * job->plan.size[2] + x, job->stride);        \
                }                                                                                            \
            }                                                                                                \
    }
RL_EACH_FLOAT(MAX_LINE, max, -INFINITY)
#define INT_LINE(D, T, C, LOAD, STORE, name)                                                                 \
    MAX_LINE(D, T, C, LOAD, STORE, name, ((T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2))
RL_EACH_INT(INT_LINE, max)

typedef void (*max_fn)(const pool_job *, const char *, const rl_span *[3], int64_t);
static max_fn max_one_of(int dtype) {
    static const max_fn ones[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, max) RL_EACH_INT(RL_ENTRY, max)};
    return ones[dtype];
}
static max_fn max_line_of(int dtype) {
    static const max_fn lines[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, max_line)
                                                 RL_EACH_INT(RL_ENTRY, max_line)};
    return lines[dtype];
}

/* fills in what job->to and job->indices lack from scratch */
static rl_status max_lines(rl_call *k, pool_job *job, const rl_view *x, const rl_view *out) {
    job->line = max_line_of(x->dtype);
    job->kernel = rl_window_of(k)->kernel[2], job->stride = rl_window_of(k)->stride[2];
    job->pad = rl_window_of(k)->before[2];
    if (!job->to) job->to = k->svc->scratch(k, RL_COUNT(out->numel), rl_itemsize(x->dtype));
    if (!job->indices) job->indices = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(int64_t));
    return job->to && job->indices ? pool_run(k, job, x, out, false) : RL_FAIL;
}

rl_status rl_pool_indices(rl_call *k, const rl_view *x, const rl_view *out, int64_t *indices) {
    pool_job job = {.indices = (char *)indices};
    return max_lines(k, &job, x, out);
}

RL_CHOOSER
RL_KERNEL(ref_max_pool_nd) {
    const rl_view *x = k->arg[0].u.t;
    pool_job job = {0};
    if (!max_line_of(x->dtype)) return RL_UNSUPPORTED;
    job.to = rl_data(k->out[0], RL_WRITE);
    if (k->n_out == 2) job.indices = rl_data(k->out[1], RL_WRITE);
    return max_lines(k, &job, x, k->out[0]);
}
RL_CHOOSER
RL_KERNEL(ref_adaptive_max_pool_nd) {
    const rl_view *x = k->arg[0].u.t;
    pool_job job = {.one = max_one_of(x->dtype)};
    if (!job.one) return RL_UNSUPPORTED;
    job.to = rl_data(k->out[0], RL_WRITE);
    if (k->n_out == 2) job.indices = rl_data(k->out[1], RL_WRITE);
    return pool_run(k, &job, x, k->out[0], true);
}

/* ---- averages ---- */
static double window_sum(const pool_job *job, const char *from, const rl_span *w[3]) {
    double row[64], sum = 0;
    for (int64_t d = w[0]->start; d < w[0]->end; d++)
        for (int64_t h = w[1]->start; h < w[1]->end; h++)
            for (int64_t i = w[2]->start; i < w[2]->end; i += 64) {
                int64_t n = w[2]->end - i < 64 ? w[2]->end - i : 64;
                rl_row_doubles(job->dtype, from + d * job->step[0] + h * job->step[1] + i * job->step[2],
                               job->step[2], n, row);
                for (int64_t j = 0; j < n; j++) sum += row[j];
            }
    return sum;
}

static void avg_one(const pool_job *job, const char *from, const rl_span *w[3], int64_t at) {
    int64_t count = 1, full = 1;
    for (int i = 0; i < 3; i++) {
        count *= w[i]->end > w[i]->start ? w[i]->end - w[i]->start : 0;
        full *= w[i]->full;
    }
    double mean = 0;
    if (count)
        mean = window_sum(job, from, w) / (double)(job->divisor     ? job->divisor
                                                   : job->count_pad ? full
                                                                    : count);
    rl_row_put_double(job->dtype, job->to + at * rl_itemsize(job->dtype), mean);
}

RL_KERNEL(ref_avg_pool_nd) {
    pool_job job = {.one = avg_one,
                    .count_pad = rl_window_of(k)->count_padding != 0,
                    .divisor = rl_window_of(k)->divisor};
    job.to = rl_data(k->out[0], RL_WRITE);
    return pool_run(k, &job, k->arg[0].u.t, k->out[0], false);
}

RL_KERNEL(ref_adaptive_avg_pool_nd) {
    pool_job job = {.one = avg_one};
    job.to = rl_data(k->out[0], RL_WRITE);
    return pool_run(k, &job, k->arg[0].u.t, k->out[0], true);
}
