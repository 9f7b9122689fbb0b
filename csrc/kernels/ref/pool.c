/* Pooling over windows of planes. The kernels of kernels/ref/pool_nd.c for every rank would do, but means
 * take 10 to 30 % longer with them, and the largest elements need room for indices. */
#include "contract/window.h"
#include "loops.h"
#include <math.h>

typedef struct {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    int64_t size[2], out[2], step[2]; /* input, output, input steps in bytes */
    bool count_pad;
    int64_t divisor;
    rl_walk planes; /* operands output, input */
    int dtype;
    void (*plane)(const void *job, const char *from, char *to);
} pool_job;

static void pool_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_walk_seek(&job->planes, i, p);
        job->plane(job, p[1], p[0]);
    }
}

static rl_status pool_run(rl_call *k, pool_job *job) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int n = x->ndim;
    const rl_window *a = rl_window_of(k);
    rl_walk *w = &job->planes;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    for (int i = 0; i < 2; i++) {
        job->kernel[i] = a->kernel[1 + i];
        job->stride[i] = a->stride[1 + i];
        job->pad[i] = a->before[1 + i];
        job->dilation[i] = a->dilation[1 + i];
        job->size[i] = x->shape[n - 2 + i];
        job->out[i] = out->shape[n - 2 + i];
        job->step[i] = x->strides[n - 2 + i] * rl_itemsize(x->dtype);
    }
    rl_walk_begin(w, out, RL_WRITE);
    w->nops = 2;
    w->base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < n; d++) w->stride[1][d] = x->strides[d] * rl_itemsize(x->dtype);
    rl_walk_drop(w, 3ull << (n - 2));
    rl_walk_merge(w);
    int64_t cost = job->out[0] * job->out[1];
    k->svc->parallel(k, w->numel, 4 * RL_REF_NS * (double)cost, pool_part, job);
    return RL_OK;
}

/* ---- max: NaN wins ---- */
#define MAX_PLANE(D, T, C, LOAD, STORE, name, lowest)                                                        \
    static void name##_##D(const void *ctx, const char *from, char *to) {                                    \
        const pool_job *job = ctx;                                                                           \
        for (int64_t oh = 0; oh < job->out[0]; oh++)                                                         \
            for (int64_t ow = 0; ow < job->out[1]; ow++, to += sizeof(T)) {                                  \
                int64_t top = oh * job->stride[0] - job->pad[0], left = ow * job->stride[1] - job->pad[1];   \
                C most = lowest;                                                                             \
                for (int64_t kh = 0; kh < job->kernel[0]; kh++) {                                            \
                    int64_t ih = top + kh * job->dilation[0];                                                \
                    if (ih < 0 || ih >= job->size[0]) continue;                                              \
                    for (int64_t kw = 0; kw < job->kernel[1]; kw++) {                                        \
                        int64_t iw = left + kw * job->dilation[1];                                           \
                        if (iw < 0 || iw >= job->size[1]) continue;                                          \
                        const C x = LOAD(*(const T *)(from + ih * job->step[0] + iw * job->step[1]));        \
                        if (x > most || x != x) most = x;                                                    \
                    }                                                                                        \
                }                                                                                            \
                *(T *)to = STORE(most);                                                                      \
            }                                                                                                \
    }
RL_EACH_FLOAT(MAX_PLANE, max, -INFINITY)
#define MAX_INT(D, T, C, LOAD, STORE, name)                                                                  \
    MAX_PLANE(D, T, C, LOAD, STORE, name, (T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2)
RL_EACH_INT(MAX_INT, max)

RL_CHOOSER
RL_KERNEL(ref_max_pool2d) {
    static void (*const planes[RL_NDTYPES])(const void *, const char *, char *) = {
        RL_EACH_FLOAT(RL_ENTRY, max) RL_EACH_INT(RL_ENTRY, max)};
    pool_job job = {.plane = planes[rl_tensor_arg(k, 0)->dtype]};
    return job.plane ? pool_run(k, &job) : RL_UNSUPPORTED;
}

/* ---- averages ---- */
static double window_sum(const pool_job *job, const char *from, int64_t h0, int64_t h1, int64_t w0,
                         int64_t w1) {
    double row[64], sum = 0;
    for (int64_t h = h0; h < h1; h++)
        for (int64_t w = w0; w < w1; w += 64) {
            int64_t n = w1 - w < 64 ? w1 - w : 64;
            rl_row_doubles(job->dtype, from + h * job->step[0] + w * job->step[1], job->step[1], n, row);
            for (int64_t i = 0; i < n; i++) sum += row[i];
        }
    return sum;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t not_below(int64_t a) {
    return a > 0 ? a : 0;
}

static void avg_plane(const void *ctx, const char *from, char *to) {
    const pool_job *job = ctx;
    for (int64_t oh = 0; oh < job->out[0]; oh++)
        for (int64_t ow = 0; ow < job->out[1]; ow++, to += rl_itemsize(job->dtype)) {
            int64_t h0 = oh * job->stride[0] - job->pad[0], w0 = ow * job->stride[1] - job->pad[1];
            int64_t h1 = least(h0 + job->kernel[0], job->size[0] + job->pad[0]);
            int64_t w1 = least(w0 + job->kernel[1], job->size[1] + job->pad[1]);
            int64_t padded = (h1 - h0) * (w1 - w0);
            h0 = not_below(h0), w0 = not_below(w0);
            h1 = least(h1, job->size[0]), w1 = least(w1, job->size[1]);
            double mean = 0;
            if (h0 < h1 && w0 < w1) {
                int64_t count = job->divisor ? job->divisor : job->count_pad ? padded : (h1 - h0) * (w1 - w0);
                mean = window_sum(job, from, h0, h1, w0, w1) / (double)count;
            }
            rl_row_put_double(job->dtype, to, mean);
        }
}

RL_KERNEL(ref_avg_pool2d) {
    pool_job job = {.plane = avg_plane,
                    .count_pad = rl_window_of(k)->count_padding != 0,
                    .divisor = rl_window_of(k)->divisor};
    return pool_run(k, &job);
}

static void adaptive_plane(const void *ctx, const char *from, char *to) {
    const pool_job *job = ctx;
    for (int64_t oh = 0; oh < job->out[0]; oh++)
        for (int64_t ow = 0; ow < job->out[1]; ow++, to += rl_itemsize(job->dtype)) {
            int64_t h0 = oh * job->size[0] / job->out[0], w0 = ow * job->size[1] / job->out[1];
            int64_t h1 = ((oh + 1) * job->size[0] + job->out[0] - 1) / job->out[0];
            int64_t w1 = ((ow + 1) * job->size[1] + job->out[1] - 1) / job->out[1];
            rl_row_put_double(job->dtype, to,
                              window_sum(job, from, h0, h1, w0, w1) / (double)((h1 - h0) * (w1 - w0)));
        }
}

RL_KERNEL(ref_adaptive_avg_pool2d) {
    pool_job job = {.plane = adaptive_plane};
    return pool_run(k, &job);
}
