/* softmax and log_softmax along one dimension, and their gradients. */
#include "loops.h"
#include <math.h>

/* Operands: the output, then the arguments: the input; or the gradient and the answer of the forward row. */
typedef struct softmax_job softmax_job;
struct softmax_job {
    rl_iter lines; /* without the dimension */
    int dtype;
    bool log, safe;     /* safe: 0 where all is -inf */
    int64_t n, step[3]; /* of the dimension */
    void (*line)(const softmax_job *job, char *const *p, double *x, double *y);
    rl_rooms rooms; /* of each thread a line of each argument, at ... */
    int64_t x, y;
};

static void softmax_line(const softmax_job *job, char *const *p, double *x, double *y) {
    const int64_t n = job->n;
    double most = -INFINITY, sum = 0;
    (void)y;
    rl_row_doubles(job->dtype, p[1], job->step[1], n, x);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > most || x[i] != x[i]) most = x[i];
    if (job->safe && most == -INFINITY) {
        for (int64_t i = 0; i < n; i++) x[i] = 0;
        rl_row_put_doubles(job->dtype, p[0], job->step[0], n, x);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double e = job->dtype == RL_F64 ? exp(x[i] - most) : (double)expf((float)(x[i] - most));
        sum += e;
        x[i] = job->log ? x[i] - most : e;
    }
    const double log_sum = log(sum);
    for (int64_t i = 0; i < n; i++) x[i] = job->log ? x[i] - log_sum : x[i] / sum;
    rl_row_put_doubles(job->dtype, p[0], job->step[0], n, x);
}

static void gradient_line(const softmax_job *job, char *const *p, double *grad, double *y) {
    const int64_t n = job->n;
    double sum = 0;
    rl_row_doubles(job->dtype, p[1], job->step[1], n, grad);
    rl_row_doubles(job->dtype, p[2], job->step[2], n, y);
    for (int64_t i = 0; i < n; i++) sum += job->log ? grad[i] : grad[i] * y[i];
    for (int64_t i = 0; i < n; i++) grad[i] = job->log ? grad[i] - exp(y[i]) * sum : (grad[i] - sum) * y[i];
    rl_row_put_doubles(job->dtype, p[0], job->step[0], n, grad);
}

static void softmax_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const softmax_job *job = ctx;
    char *room = rl_room(&job->rooms, thread);
    for (int64_t i = begin; i < end; i++) {
        char *p[3];
        for (int op = 0; op < job->lines.nops; op++) p[op] = job->lines.base[op];
        rl_iter_seek(&job->lines, i, p);
        job->line(job, p, (double *)(room + job->x), (double *)(room + job->y));
    }
}

static rl_layout softmax_layout(const rl_call *k, softmax_job *job, int arguments) {
    rl_layout l = rl_layout_begin(k);
    job->x = rl_layout_add(&l, RL_COUNT(job->n), sizeof(double));
    if (arguments > 1) job->y = rl_layout_add(&l, RL_COUNT(job->n), sizeof(double));
    return l;
}

static rl_status softmax_run(rl_call *k, softmax_job job, int arguments) {
    int64_t dim = k->attr[0];
    rl_iter *w = &job.lines;
    job.dtype = k->out[0]->dtype;
    job.n = 1;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_iter_begin(w, k->out[0], RL_WRITE);
    for (int i = 0; i < arguments; i++) rl_iter_add(w, k->arg[i].u.t);
    if (w->ndim) {
        job.n = w->size[dim];
        for (int i = 0; i < w->nops; i++) job.step[i] = w->stride[i][dim];
        rl_iter_drop(w, 1ull << dim);
    }
    rl_iter_merge(w);
    const rl_layout l = softmax_layout(k, &job, arguments);
    if (!k->svc->rooms(k, &l, k->threads, &job.rooms)) return RL_FAIL;
    k->svc->parallel(k, w->numel, 8 * RL_REF_NS * (double)job.n, softmax_part, &job);
    return RL_OK;
}

RL_KERNEL(ref_softmax) {
    return softmax_run(k, (softmax_job){.line = softmax_line}, 1);
}
RL_KERNEL(ref_safe_softmax) {
    return softmax_run(k, (softmax_job){.line = softmax_line, .safe = true}, 1);
}
RL_KERNEL(ref_log_softmax) {
    return softmax_run(k, (softmax_job){.line = softmax_line, .log = true}, 1);
}
RL_KERNEL(ref_softmax_backward) {
    return softmax_run(k, (softmax_job){.line = gradient_line}, 2);
}
RL_KERNEL(ref_log_softmax_backward) {
    return softmax_run(k, (softmax_job){.line = gradient_line, .log = true}, 2);
}
