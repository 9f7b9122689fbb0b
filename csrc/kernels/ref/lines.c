/* Along one dimension: Note [Lines] in kernels/ref/lines.h. */
#include "lines.h"

static void line_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_line_job *job = ctx;
    rl_element *at = job->memory + (int64_t)thread * 4 * job->n;
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_WALK_OPS];
        rl_line l = {at, at + job->n, (int64_t *)(at + 2 * job->n), (int64_t *)(at + 3 * job->n)};
        for (int op = 0; op < job->lines.nops; op++) p[op] = job->lines.base[op];
        rl_walk_seek(&job->lines, i, p);
        int in = job->outputs;
        if (job->floats)
            rl_row_doubles(job->dtype, p[in], job->step[in], job->n, &l.values->d);
        else
            rl_row_ints(job->dtype, p[in], job->step[in], job->n, &l.values->i);
        job->run(job, &l, p);
    }
}

rl_status rl_lines_run(rl_call *k, rl_line_job *job) {
    const rl_view *x = k->arg[0].u.t;
    int64_t dim = k->attr[0], item = rl_itemsize(x->dtype);
    rl_walk *w = &job->lines;
    if (k->out[0]->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    job->floats = rl_is_float(x->dtype);
    job->outputs = k->n_out;
    rl_walk_begin(w, k->out[0], RL_WRITE);
    if (k->n_out == 2) rl_walk_add(w, k->out[1]);
    for (int i = 1; i < k->n_out; i++) rl_data(k->out[i], RL_WRITE);
    w->base[w->nops] = rl_data(x, RL_READ);
    for (int d = 0; d < w->ndim; d++) w->stride[w->nops][d] = x->strides[d] * item;
    w->nops++;
    job->n = x->ndim ? x->shape[dim] : 1;
    job->keep = x->ndim ? k->out[0]->shape[dim] : 1;
    for (int op = 0; op < w->nops; op++) job->step[op] = w->ndim ? w->stride[op][dim] : 0;
    if (w->ndim) rl_walk_drop(w, 1ull << dim);
    rl_walk_merge(w);
    job->memory = k->svc->scratch(k, RL_COUNT(job->n, 4, k->threads), 8);
    if (!job->memory) return RL_FAIL;
    k->svc->parallel(k, w->numel, 8 * RL_REF_NS * (double)job->n, line_part, job);
    return RL_OK;
}
