/* Pooling of one to three dimensions, with or without indices, plain and adaptive.
 * attr[]: see core_shape_pool.c. */
#include "ref_pool_nd.h"
#include <math.h>

typedef struct pool_job pool_job;
struct pool_job {
    rl_walk planes; /* operand 0: the input */
    int dtype;
    int64_t size[3], out[3], step[3], dilation[3], places;
    rl_window *windows[3];
    bool count_pad;
    int64_t divisor;
    char *to, *indices; /* contiguous outputs */
    void (*one)(const pool_job *job, const char *from, const rl_window *w[3], int64_t at);
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
                        (const rl_window *[3]){&job->windows[0][d], &job->windows[1][h], &job->windows[2][w]},
                        at++);
    }
}

rl_window rl_pool_window(const rl_call *k, int i, int64_t at, int64_t size) {
    int64_t kernel = k->attr[RL_POOL_KERNEL + i], pad = k->attr[RL_POOL_PADDING + i],
            dilation = k->attr[RL_POOL_DILATION + i];
    int64_t start = at * k->attr[RL_POOL_STRIDE + i] - pad, end = start + (kernel - 1) * dilation + 1;
    rl_window w = {.full = (end < size + pad ? end : size + pad) - start};
    w.start = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    w.end = end < size ? end : size;
    return w;
}

rl_window rl_pool_adaptive(int64_t at, int64_t size, int64_t out) {
    rl_window w = {.start = at / out * size + at % out * size / out, .end = 1 + ((at + 1) * size - 1) / out};
    w.full = w.end - w.start;
    return w;
}

/* `out` gives the dims of the answer; it goes to job->to and job->indices */
static rl_status pool_run(rl_call *k, pool_job *job, const rl_view *x, const rl_view *out, bool adaptive) {
    int n = (int)k->attr[RL_POOL_SPATIAL], lead = x->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    job->places = 1;
    for (int i = 0; i < 3; i++) {
        int at = i - (3 - n);
        job->size[i] = at < 0 ? 1 : x->shape[lead + at];
        job->out[i] = at < 0 ? 1 : out->shape[lead + at];
        job->step[i] = at < 0 ? 0 : x->strides[lead + at] * rl_itemsize(x->dtype);
        job->dilation[i] = adaptive ? 1 : k->attr[RL_POOL_DILATION + i];
        job->places *= job->out[i];
        job->windows[i] = k->svc->scratch(k, (size_t)job->out[i] * sizeof(rl_window));
        if (!job->windows[i]) return RL_FAIL;
        for (int64_t o = 0; o < job->out[i]; o++)
            job->windows[i][o] = adaptive ? rl_pool_adaptive(o, job->size[i], job->out[i])
                                          : rl_pool_window(k, i, o, job->size[i]);
    }
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
    static void name##_##D(const pool_job *job, const char *from, const rl_window *w[3], int64_t at) {       \
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

typedef void (*max_one)(const pool_job *, const char *, const rl_window *[3], int64_t);
static max_one max_of(int dtype) {
    static const max_one ones[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, max) RL_EACH_INT(RL_ENTRY, max)};
    return ones[dtype];
}

static rl_status max_run(rl_call *k, bool adaptive) {
    const rl_view *x = k->arg[0].u.t;
    pool_job job = {.one = max_of(x->dtype)};
    if (!job.one) return RL_UNSUPPORTED;
    job.to = rl_data(k->out[0], RL_WRITE);
    if (k->n_out == 2) job.indices = rl_data(k->out[1], RL_WRITE);
    return pool_run(k, &job, x, k->out[0], adaptive);
}

rl_status rl_pool_indices(rl_call *k, const rl_view *x, const rl_view *out, int64_t *indices) {
    pool_job job = {.one = max_of(x->dtype), .indices = (char *)indices};
    job.to = k->svc->scratch(k, (size_t)(out->numel * rl_itemsize(x->dtype)));
    return job.to ? pool_run(k, &job, x, out, false) : RL_FAIL;
}

RL_KERNEL(ref_max_pool_nd) {
    return max_run(k, false);
}
RL_KERNEL(ref_adaptive_max_pool_nd) {
    return max_run(k, true);
}

/* ---- averages ---- */
static double window_sum(const pool_job *job, const char *from, const rl_window *w[3]) {
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

static void avg_one(const pool_job *job, const char *from, const rl_window *w[3], int64_t at) {
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
    pool_job job = {
        .one = avg_one, .count_pad = k->attr[RL_POOL_COUNT_PAD] != 0, .divisor = k->attr[RL_POOL_DIVISOR]};
    job.to = rl_data(k->out[0], RL_WRITE);
    return pool_run(k, &job, k->arg[0].u.t, k->out[0], false);
}

RL_KERNEL(ref_adaptive_avg_pool_nd) {
    pool_job job = {.one = avg_one};
    job.to = rl_data(k->out[0], RL_WRITE);
    return pool_run(k, &job, k->arg[0].u.t, k->out[0], true);
}
