/* softmax and log_softmax along one dimension. */
#include "ref_loops.h"
#include <math.h>

typedef struct {
    rl_walk lines; /* operands out and input, without the dimension */
    int dtype;
    bool log;
    int64_t n, step[2]; /* of the dimension */
    double *scratch;    /* a line for each thread */
} softmax_job;

static void softmax_line(const softmax_job *job, char *const *p, double *x) {
    const int64_t n = job->n;
    double most = -INFINITY, sum = 0;
    rl_row_doubles(job->dtype, p[1], job->step[1], n, x);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > most || x[i] != x[i]) most = x[i];
    for (int64_t i = 0; i < n; i++) {
        double e = job->dtype == RL_F64 ? exp(x[i] - most) : (double)expf((float)(x[i] - most));
        sum += e;
        x[i] = job->log ? x[i] - most : e;
    }
    const double log_sum = log(sum);
    for (int64_t i = 0; i < n; i++) x[i] = job->log ? x[i] - log_sum : x[i] / sum;
    rl_row_put_doubles(job->dtype, p[0], job->step[0], n, x);
}

static void softmax_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const softmax_job *job = ctx;
    double *line = job->scratch + thread * job->n;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->lines.base[0], job->lines.base[1]};
        rl_walk_seek(&job->lines, i, p);
        softmax_line(job, p, line);
    }
}

static rl_status softmax(rl_call *k, bool log) {
    softmax_job job = {.dtype = k->out[0]->dtype, .log = log, .n = 1};
    int64_t dim = k->attr[0];
    rl_walk *w = &job.lines;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_walk_begin(w, k->out[0], RL_WRITE);
    rl_walk_add(w, k->arg[0].u.t);
    if (w->ndim) {
        job.n = w->size[dim];
        for (int i = 0; i < 2; i++) job.step[i] = w->stride[i][dim];
        rl_walk_drop(w, 1ull << dim);
    }
    rl_walk_merge(w);
    job.scratch = k->svc->scratch(k, (size_t)(job.n * 8 * k->svc->threads));
    if (!job.scratch) return RL_FAIL;
    if (w->numel * job.n <= RL_GRAIN / 8)
        softmax_part(&job, 0, w->numel, 0);
    else
        k->svc->parallel(k, w->numel, RL_GRAIN / 8 / job.n + 1, softmax_part, &job);
    return RL_OK;
}

RL_KERNEL(ref_softmax) {
    return softmax(k, false);
}
RL_KERNEL(ref_log_softmax) {
    return softmax(k, true);
}
