/* Pooling of one to three dimensions, with or without indices, plain and adaptive.
 * attr[]: see core_shape_pool.c. */
#include "ref_loops.h"
#include <math.h>

enum { KERNEL = 0, STRIDE = 3, PADDING = 6, DILATION = 9, COUNT_PAD = 12, DIVISOR = 13, SPATIAL = 14 };

/* Note [Windows]
 * An output index of a dimension sees the input indices start, start + dilation, ... below end. `full` counts
 * padding, too. Depth, height and width; what a row lacks has size 1. */
typedef struct {
    int64_t start, end, full;
} window;
typedef struct pool_job pool_job;
struct pool_job {
    rl_walk planes; /* operand 0: the input */
    int dtype;
    int64_t size[3], out[3], step[3], dilation[3], places;
    window *windows[3];
    bool count_pad;
    int64_t divisor;
    char *to, *indices; /* contiguous outputs */
    void (*one)(const pool_job *job, const char *from, const window *w[3], int64_t at);
};

static void pool_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *from = job->planes.base[0];
        int64_t at = i * job->places;
        rl_walk_seek(&job->planes, i, &from);
        for (int64_t d = 0; d < job->out[0]; d++)
            for (int64_t h = 0; h < job->out[1]; h++)
                for (int64_t w = 0; w < job->out[2]; w++)
                    job->one(
                        job, from,
                        (const window *[3]){&job->windows[0][d], &job->windows[1][h], &job->windows[2][w]},
                        at++);
    }
}

static window plain_window(const rl_call *k, int i, int64_t at, int64_t size) {
    int64_t kernel = k->attr[KERNEL + i], pad = k->attr[PADDING + i], dilation = k->attr[DILATION + i];
    int64_t start = at * k->attr[STRIDE + i] - pad, end = start + (kernel - 1) * dilation + 1;
    window w = {.full = (end < size + pad ? end : size + pad) - start};
    w.start = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    w.end = end < size ? end : size;
    return w;
}

static window adaptive_window(int64_t at, int64_t size, int64_t out) {
    window w = {.start = at / out * size + at % out * size / out, .end = 1 + ((at + 1) * size - 1) / out};
    w.full = w.end - w.start;
    return w;
}

static rl_status pool_run(rl_call *k, pool_job *job, bool adaptive) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int n = (int)k->attr[SPATIAL], lead = x->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    job->places = 1;
    for (int i = 0; i < 3; i++) {
        int at = i - (3 - n);
        job->size[i] = at < 0 ? 1 : x->shape[lead + at];
        job->out[i] = at < 0 ? 1 : out->shape[lead + at];
        job->step[i] = at < 0 ? 0 : x->strides[lead + at] * rl_itemsize(x->dtype);
        job->dilation[i] = adaptive ? 1 : k->attr[DILATION + i];
        job->places *= job->out[i];
        job->windows[i] = k->svc->scratch(k, (size_t)job->out[i] * sizeof(window));
        if (!job->windows[i]) return RL_FAIL;
        for (int64_t o = 0; o < job->out[i]; o++)
            job->windows[i][o] = adaptive ? adaptive_window(o, job->size[i], job->out[i])
                                          : plain_window(k, i, o, job->size[i]);
    }
    job->to = rl_data(out, RL_WRITE);
    if (k->n_out == 2) job->indices = rl_data(k->out[1], RL_WRITE);
    rl_walk_begin(&job->planes, x, RL_READ);
    rl_walk_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job->planes);
    int64_t grain = RL_GRAIN / 16 / job->places + 1;
    if (job->planes.numel <= grain)
        pool_part(job, 0, job->planes.numel, 0);
    else
        k->svc->parallel(k, job->planes.numel, grain, pool_part, job);
    return RL_OK;
}

/* ---- the largest: NaN wins, the first of equals ---- */
#define MAX_ONE(D, T, C, LOAD, STORE, name, lowest)                                                          \
    static void name##_##D(const pool_job *job, const char *from, const window *w[3], int64_t at) {          \
        C most = lowest;                                                                                     \
        int64_t place = (w[0]->start * job->size[1] + w[1]->start) * job->size[2] + w[2]->start;             \
        for (int64_t d = w[0]->start; d < w[0]->end; d += job->dilation[0])                                  \
            for (int64_t h = w[1]->start; h < w[1]->end; h += job->dilation[1]) {                            \
                const char *row = from + d * job->step[0] + h * job->step[1];                                \
                for (int64_t i = w[2]->start; i < w[2]->end; i += job->dilation[2]) {                        \
                    const C x = LOAD(*(const T *)(row + i * job->step[2]));                                  \
                    if (x > most || x != x) {                                                                \
                        most = x;                                                                            \
                        place = (d * job->size[1] + h) * job->size[2] + i;                                   \
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

static rl_status max_run(rl_call *k, bool adaptive) {
    static void (*const ones[RL_NDTYPES])(const pool_job *, const char *, const window *[3], int64_t) = {
        RL_EACH_FLOAT(RL_ENTRY, max) RL_EACH_INT(RL_ENTRY, max)};
    pool_job job = {.one = ones[k->arg[0].u.t->dtype]};
    return job.one ? pool_run(k, &job, adaptive) : RL_UNSUPPORTED;
}

RL_KERNEL(ref_max_pool_nd) {
    return max_run(k, false);
}
RL_KERNEL(ref_adaptive_max_pool_nd) {
    return max_run(k, true);
}

/* ---- averages ---- */
static double window_sum(const pool_job *job, const char *from, const window *w[3]) {
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

static void avg_one(const pool_job *job, const char *from, const window *w[3], int64_t at) {
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
    pool_job job = {.one = avg_one, .count_pad = k->attr[COUNT_PAD] != 0, .divisor = k->attr[DIVISOR]};
    return pool_run(k, &job, false);
}

RL_KERNEL(ref_adaptive_avg_pool_nd) {
    pool_job job = {.one = avg_one};
    return pool_run(k, &job, true);
}
