/* The gradients of pooling. Of the largest: each output's gradient goes back to where that element stood. */
#include "boxes.h"

/* operands of the planes: gradient, indices */
typedef struct {
    rl_walk planes;
    int dtype;
    int64_t out[3], step[2][3], places, volume; /* elements of a plane of the output, of the input */
    char *to;
    rl_rooms rooms; /* a plane for each thread */
    int64_t bad;    /* an index out of range */
    int seen;
} spread_job;

static void spread_row(spread_job *job, const char *grad, const char *index, double *sums) {
    double g[64];
    int64_t at[64];
    for (int64_t w = 0, n; w < job->out[2]; w += n) {
        n = job->out[2] - w < 64 ? job->out[2] - w : 64;
        rl_row_doubles(job->dtype, grad + w * job->step[0][2], job->step[0][2], n, g);
        rl_row_ints(RL_I64, index + w * job->step[1][2], job->step[1][2], n, at);
        for (int64_t i = 0; i < n; i++) {
            if (at[i] >= 0 && at[i] < job->volume) {
                sums[at[i]] += g[i];
            } else {
                __atomic_store_n(&job->bad, at[i], __ATOMIC_RELAXED);
                __atomic_store_n(&job->seen, 1, __ATOMIC_RELAXED);
            }
        }
    }
}

static void spread_part(void *ctx, int64_t begin, int64_t end, int thread) {
    spread_job *job = ctx;
    double *sums = (double *)rl_room(&job->rooms, thread);
    int64_t item = rl_itemsize(job->dtype);
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_walk_seek(&job->planes, i, p);
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        for (int64_t line = 0; line < job->out[0] * job->out[1]; line++) {
            int64_t d = line / job->out[1], h = line % job->out[1];
            spread_row(job, p[0] + d * job->step[0][0] + h * job->step[0][1],
                       p[1] + d * job->step[1][0] + h * job->step[1][1], sums);
        }
        rl_row_put_doubles(job->dtype, job->to + i * job->volume * item, item, job->volume, sums);
    }
}

/* indices lie as the view says, or densely at `computed` */
static rl_status spread(rl_call *k, const rl_view *indices, int64_t *computed) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    spread_job job = {.dtype = grad->dtype, .places = 1, .volume = 1};
    rl_walk w;
    int64_t dense = sizeof(int64_t);
    if (out->numel == 0) return RL_OK;
    rl_walk_begin(&w, grad, RL_READ);
    w.nops = 2;
    w.base[1] = computed ? (char *)computed : rl_data(indices, RL_READ);
    for (int d = grad->ndim - 1; d >= 0; d--) {
        w.stride[1][d] = computed ? dense : indices->strides[d] * (int64_t)sizeof(int64_t);
        dense *= grad->shape[d];
    }
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        job.out[i] = i < 3 - n ? 1 : grad->shape[at];
        job.volume *= i < 3 - n ? 1 : out->shape[at];
        for (int op = 0; op < 2; op++) job.step[op][i] = i < 3 - n ? 0 : w.stride[op][at];
    }
    rl_walk_drop(&w, ((1ull << n) - 1) << lead);
    rl_walk_merge(&w);
    job.planes = w;
    job.to = rl_data(out, RL_WRITE);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(job.volume), sizeof(double), &job.rooms)) return RL_FAIL;
    k->svc->parallel(k, w.numel, 8 * RL_REF_NS * (double)job.volume, spread_part, &job);
    if (!job.seen) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "found an invalid max index: %lld (a plane has %lld elements)",
                   (long long)job.bad, (long long)job.volume);
}

RL_KERNEL(ref_max_pool_back) {
    const rl_view *grad = k->arg[0].u.t;
    int64_t *indices = k->svc->scratch(k, RL_COUNT(grad->numel), sizeof *indices);
    if (!indices || rl_pool_indices(k, k->arg[1].u.t, grad, indices) != RL_OK) return RL_FAIL;
    return spread(k, NULL, indices);
}
RL_KERNEL(ref_max_pool_indices_back) {
    return spread(k, k->arg[7].u.t, NULL);
}
RL_KERNEL(ref_adaptive_max_pool_back) {
    return spread(k, k->arg[2].u.t, NULL);
}
RL_KERNEL(ref_fractional_max_pool_back) {
    return spread(k, k->arg[4].u.t, NULL);
}

/* ---- means: Note [Boxes] in kernels/ref/boxes.c ---- */
static rl_status avg_back(rl_call *k, bool adaptive) {
    rl_box_job job;
    int n = (int)rl_window_of(k)->spatial;
    bool full = !adaptive && rl_window_of(k)->count_padding != 0;
    int64_t divisor = adaptive ? 0 : rl_window_of(k)->divisor;
    if (rl_box_begin(k, &job) != RL_OK) return RL_FAIL;
    if (divisor) job.factor = 1 / (double)divisor;
    for (int i = 3 - n; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            rl_span w =
                adaptive ? rl_pool_adaptive(o, job.size[i], job.out[i]) : rl_pool_span(k, i, o, job.size[i]);
            double weight = divisor ? 1 : 1 / (double)(full ? w.full : w.end - w.start);
            job.boxes[i][o] = (rl_box){w.start, w.end, weight, weight};
        }
    return rl_box_run(k, &job);
}

RL_KERNEL(ref_avg_pool_back) {
    return avg_back(k, false);
}
RL_KERNEL(ref_adaptive_avg_pool_back) {
    return avg_back(k, true);
}
