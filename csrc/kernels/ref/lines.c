/* Along one dimension: Note [Lines] in kernels/ref/lines.h. */
#include "lines.h"

static void line_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_line_job *job = ctx;
    const int in = job->along.in;
    rl_element *at = job->memory + (int64_t)thread * 4 * job->n;
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_WALK_OPS];
        rl_line l = {at, at + job->n, (int64_t *)(at + 2 * job->n), (int64_t *)(at + 3 * job->n)};
        rl_along_at(&job->along, i, p);
        if (job->floats)
            rl_row_doubles(job->dtype, p[in], job->step[in], job->n, &l.values->d);
        else
            rl_row_ints(job->dtype, p[in], job->step[in], job->n, &l.values->i);
        job->run(job, &l, p);
    }
}

rl_status rl_lines_run(rl_call *k, rl_line_job *job) {
    const rl_view *x = k->arg[0].u.t;
    if (rl_along_begin(k, &job->along) != RL_OK) return RL_FAIL;
    if (job->along.lines.numel == 0) return RL_OK;
    job->dtype = x->dtype;
    job->floats = rl_is_float(x->dtype);
    job->n = job->along.n;
    job->step = job->along.step;
    job->keep = k->out[0]->ndim && k->out[0]->ndim == x->ndim ? k->out[0]->shape[k->attr[0]] : 1;
    job->memory = k->svc->scratch(k, RL_COUNT(job->n, 4, k->threads), 8);
    if (!job->memory) return RL_FAIL;
    k->svc->parallel(k, job->along.lines.numel, 8 * RL_REF_NS * (double)job->n, line_part, job);
    return RL_OK;
}
