/* Along one dimension: Note [Lines] in kernels/ref/lines.h. */
#include "lines.h"

static void line_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_line_job *job = ctx;
    const int in = job->along.in;
    char *room = rl_room(&job->rooms, thread);
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_ITER_OPS];
        rl_line l = {(rl_element *)(room + job->values), (rl_element *)(room + job->other),
                     (int64_t *)(room + job->order), (int64_t *)(room + job->places)};
        rl_along_at(&job->along, i, p);
        if (job->floats)
            rl_row_doubles(job->dtype, p[in], job->step[in], job->n, &l.values->d);
        else
            rl_row_ints(job->dtype, p[in], job->step[in], job->n, &l.values->i);
        job->run(job, &l, p);
    }
}

static rl_layout line_layout(const rl_call *k, rl_line_job *job) {
    rl_layout l = rl_layout_begin(k);
    job->values = rl_layout_add(&l, RL_COUNT(job->n), sizeof(rl_element));
    job->other = rl_layout_add(&l, RL_COUNT(job->n), sizeof(rl_element));
    job->order = rl_layout_add(&l, RL_COUNT(job->n), sizeof(int64_t));
    job->places = rl_layout_add(&l, RL_COUNT(job->n), sizeof(int64_t));
    return l;
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
    const rl_layout l = line_layout(k, job);
    if (!k->svc->rooms(k, &l, k->threads, &job->rooms)) return RL_FAIL;
    k->svc->parallel(k, job->along.lines.numel, 8 * RL_REF_NS * (double)job->n, line_part, job);
    return RL_OK;
}
