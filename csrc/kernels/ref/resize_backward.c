/* Gradients of rows whose outputs are weighted sums over boxes of the input: means, resizing, padding.
 *
 * Note [Boxes]
 *   In each dimension output index o is made of the input indices [start, end): all have `weight` but the
 *   last, which has `last`. The weights of the dimensions multiply. The gradient goes back the same way. */
#include "resize_backward.h"
#include "pool_nd.h"

typedef struct {
    int64_t start, end;
    double weight, last;
} box;

typedef struct {
    rl_walk planes; /* of the gradient */
    int dtype;
    int64_t out[3], size[3], step[3], volume; /* step: bytes, of the gradient */
    box *boxes[3];
    double factor;
    char *to;
    double *room; /* a plane of the input for each thread */
} box_job;

static double box_weight(const box *b, int64_t at) {
    return at == b->end - 1 ? b->last : b->weight;
}

static void row_spread(const box_job *job, const char *grad, double factor, double *sums) {
    double g[64];
    for (int64_t w = 0, n; w < job->out[2]; w += n) {
        n = job->out[2] - w < 64 ? job->out[2] - w : 64;
        rl_row_doubles(job->dtype, grad + w * job->step[2], job->step[2], n, g);
        for (int64_t i = 0; i < n; i++) {
            const box *b = &job->boxes[2][w + i];
            for (int64_t at = b->start; at < b->end; at++) sums[at] += g[i] * factor * box_weight(b, at);
        }
    }
}

static void plane_spread(const box_job *job, const char *grad, double *sums) {
    for (int64_t d = 0; d < job->out[0]; d++)
        for (int64_t h = 0; h < job->out[1]; h++) {
            const box *deep = &job->boxes[0][d], *high = &job->boxes[1][h];
            const char *row = grad + d * job->step[0] + h * job->step[1];
            for (int64_t i = deep->start; i < deep->end; i++)
                for (int64_t j = high->start; j < high->end; j++)
                    row_spread(job, row, job->factor * box_weight(deep, i) * box_weight(high, j),
                               sums + (i * job->size[1] + j) * job->size[2]);
        }
}

static void box_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const box_job *job = ctx;
    double *sums = job->room + thread * job->volume;
    int64_t item = rl_itemsize(job->dtype);
    for (int64_t i = begin; i < end; i++) {
        char *grad = job->planes.base[0];
        rl_walk_seek(&job->planes, i, &grad);
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        plane_spread(job, grad, sums);
        rl_row_put_doubles(job->dtype, job->to + i * job->volume * item, item, job->volume, sums);
    }
}

/* Room for the boxes; what a row lacks has size 1. The caller fills boxes of dimension i (0 to 2). */
static rl_status box_begin(rl_call *k, box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)k->attr[RL_POOL_SPATIAL], lead = grad->ndim - n;
    *job = (box_job){.dtype = grad->dtype, .volume = 1, .factor = 1};
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job->out[i] = lacks ? 1 : grad->shape[at];
        job->size[i] = lacks ? 1 : out->shape[at];
        job->step[i] = lacks ? 0 : grad->strides[at] * rl_itemsize(grad->dtype);
        job->volume *= job->size[i];
        job->boxes[i] = k->svc->scratch(k, rl_count_plus(RL_COUNT(job->out[i]), 1), sizeof(box));
        if (!job->boxes[i]) return RL_FAIL;
        for (int64_t o = 0; o < job->out[i]; o++) job->boxes[i][o] = (box){0, 1, 1, 1};
    }
    job->room = k->svc->scratch(k, rl_count_times(rl_count_plus(RL_COUNT(job->volume), 1), k->threads),
                                sizeof(double));
    return job->room ? RL_OK : RL_FAIL;
}

static rl_status box_run(rl_call *k, box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)k->attr[RL_POOL_SPATIAL], lead = grad->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->to = rl_data(out, RL_WRITE);
    rl_walk_begin(&job->planes, grad, RL_READ);
    rl_walk_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job->planes);
    k->svc->parallel(k, out->numel / job->volume, RL_GRAIN / 8 / job->volume + 1, box_part, job);
    return RL_OK;
}

/* ---- means ---- */
static rl_status avg_back(rl_call *k, bool adaptive) {
    box_job job;
    int n = (int)k->attr[RL_POOL_SPATIAL];
    bool full = !adaptive && k->attr[RL_POOL_COUNT_PAD] != 0;
    int64_t divisor = adaptive ? 0 : k->attr[RL_POOL_DIVISOR];
    if (box_begin(k, &job) != RL_OK) return RL_FAIL;
    if (divisor) job.factor = 1 / (double)divisor;
    for (int i = 3 - n; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            rl_window w = adaptive ? rl_pool_adaptive(o, job.size[i], job.out[i])
                                   : rl_pool_window(k, i, o, job.size[i]);
            double weight = divisor ? 1 : 1 / (double)(full ? w.full : w.end - w.start);
            job.boxes[i][o] = (box){w.start, w.end, weight, weight};
        }
    return box_run(k, &job);
}

RL_KERNEL(ref_avg_pool_back) {
    return avg_back(k, false);
}
RL_KERNEL(ref_adaptive_avg_pool_back) {
    return avg_back(k, true);
}

/* ---- resizing; args 1, 2: output and input size ---- */
RL_KERNEL(ref_upsample_nearest2d_back) {
    box_job job;
    if (box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 1; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            int64_t at = rl_resize_nearest(k, 2 + i, job.size[i], job.out[i], o);
            job.boxes[i][o] = (box){at, at + 1, 1, 1};
        }
    return box_run(k, &job);
}

RL_KERNEL(ref_upsample_bilinear2d_back) {
    box_job job;
    bool corners = k->arg[3].u.i != 0;
    if (box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 1; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            double part;
            int64_t low = rl_resize_linear(k, job.dtype, corners, 3 + i, job.size[i], job.out[i], o, &part);
            bool pair = low < job.size[i] - 1;
            job.boxes[i][o] = (box){low, low + 1 + pair, 1 - part, pair ? part : 1};
        }
    return box_run(k, &job);
}

/* ---- padding that repeats the input ---- */
RL_KERNEL(ref_pad_back) {
    const rl_slot *pad = &k->arg[2];
    box_job job;
    if (box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 3 - (int)k->attr[RL_POOL_SPATIAL]; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            int64_t at = rl_pad_source(o, pad->u.ints[2 * (2 - i)], job.size[i], (int)k->attr[0]);
            job.boxes[i][o] = (box){at, at + 1, 1, 1};
        }
    return box_run(k, &job);
}
