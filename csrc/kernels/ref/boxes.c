/* Gradients of operators whose outputs are weighted sums over boxes of the input: means, resizing, padding.
 *
 * Note [Boxes]
 *   In each dimension output index o is made of the input indices [start, end): all have `weight` but the
 *   last, which has `last`. The weights of the dimensions multiply. The gradient goes back the same way. */
#include "boxes.h"

static double box_weight(const rl_box *b, int64_t at) {
    return at == b->end - 1 ? b->last : b->weight;
}

static void row_spread(const rl_box_job *job, const char *grad, double factor, double *sums) {
    double g[64];
    for (int64_t w = 0, n; w < job->out[2]; w += n) {
        n = job->out[2] - w < 64 ? job->out[2] - w : 64;
        rl_row_doubles(job->dtype, grad + w * job->step[2], job->step[2], n, g);
        for (int64_t i = 0; i < n; i++) {
            const rl_box *b = &job->boxes[2][w + i];
            for (int64_t at = b->start; at < b->end; at++) sums[at] += g[i] * factor * box_weight(b, at);
        }
    }
}

static void plane_spread(const rl_box_job *job, const char *grad, double *sums) {
    for (int64_t d = 0; d < job->out[0]; d++)
        for (int64_t h = 0; h < job->out[1]; h++) {
            const rl_box *deep = &job->boxes[0][d], *high = &job->boxes[1][h];
            const char *row = grad + d * job->step[0] + h * job->step[1];
            for (int64_t i = deep->start; i < deep->end; i++)
                for (int64_t j = high->start; j < high->end; j++)
                    row_spread(job, row, job->factor * box_weight(deep, i) * box_weight(high, j),
                               sums + (i * job->size[1] + j) * job->size[2]);
        }
}

static void box_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_box_job *job = ctx;
    double *sums = (double *)rl_room(&job->rooms, thread);
    int64_t item = rl_itemsize(job->dtype);
    for (int64_t i = begin; i < end; i++) {
        char *grad = job->planes.base[0];
        rl_walk_seek(&job->planes, i, &grad);
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        plane_spread(job, grad, sums);
        rl_row_put_doubles(job->dtype, job->to + i * job->volume * item, item, job->volume, sums);
    }
}

rl_status rl_box_begin(rl_call *k, rl_box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    *job = (rl_box_job){.dtype = grad->dtype, .volume = 1, .factor = 1};
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job->out[i] = lacks ? 1 : grad->shape[at];
        job->size[i] = lacks ? 1 : out->shape[at];
        job->step[i] = lacks ? 0 : grad->strides[at] * rl_itemsize(grad->dtype);
        job->volume *= job->size[i];
        job->boxes[i] = k->svc->scratch(k, RL_COUNT(job->out[i]), sizeof(rl_box));
        if (!job->boxes[i]) return RL_FAIL;
        for (int64_t o = 0; o < job->out[i]; o++) job->boxes[i][o] = (rl_box){0, 1, 1, 1};
    }
    return rl_thread_rooms(k, k->threads, RL_COUNT(job->volume), sizeof(double), &job->rooms) ? RL_OK
                                                                                              : RL_FAIL;
}

rl_status rl_box_run(rl_call *k, rl_box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->to = rl_data(out, RL_WRITE);
    rl_walk_begin(&job->planes, grad, RL_READ);
    rl_walk_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job->planes);
    k->svc->parallel(k, out->numel / job->volume, 8 * RL_REF_NS * (double)job->volume, box_part, job);
    return RL_OK;
}
