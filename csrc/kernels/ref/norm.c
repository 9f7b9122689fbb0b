/* Batch normalisation: statistics in double, two passes. */
#include "loops.h"
#include <math.h>
#include <string.h>

typedef struct {
    const rl_call *k;
    rl_walk channel; /* operands output, input; without the channel dim */
    int64_t step[2]; /* from channel to channel */
    int dtype;
} norm_job;

typedef struct {
    int dtype;
    double scale, shift, center; /* of the output, or for sums */
    double sum, error;
    bool squares;
} norm_line;

/* adds a strip of the input, or its squared distances from the center, with the rounding error kept */
static void norm_sum(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    norm_line *line = (norm_line *)ctx;
    double x[256];
    for (int64_t at = 0; at < n; at += 256) {
        int64_t m = n - at < 256 ? n - at : 256;
        double part = 0;
        rl_row_doubles(line->dtype, p[1] + at * step[1], step[1], m, x);
        for (int64_t i = 0; i < m; i++)
            part += line->squares ? (x[i] - line->center) * (x[i] - line->center) : x[i];
        double y = part - line->error, total = line->sum + y;
        line->error = total - line->sum - y;
        line->sum = total;
    }
}

static void norm_apply(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const norm_line *line = ctx;
    double x[256];
    for (int64_t at = 0; at < n; at += 256) {
        int64_t m = n - at < 256 ? n - at : 256;
        rl_row_doubles(line->dtype, p[1] + at * step[1], step[1], m, x);
        for (int64_t i = 0; i < m; i++) x[i] = (x[i] - line->center) * line->scale + line->shift;
        rl_row_put_doubles(line->dtype, p[0] + at * step[0], step[0], m, x);
    }
}

static double mean_of(const rl_walk *w, norm_line *line) {
    line->sum = line->error = 0;
    rl_walk_range(w, 0, w->numel, norm_sum, line);
    return line->sum / (double)w->numel;
}

static void running_update(const rl_view *v, int64_t c, double momentum, double value) {
    char *p = (char *)rl_data(v, RL_WRITE) + c * v->strides[0] * rl_itemsize(v->dtype);
    rl_row_put_double(v->dtype, p, (1 - momentum) * rl_row_double(v->dtype, p) + momentum * value);
}

static void norm_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const norm_job *job = ctx;
    const rl_call *k = job->k;
    const rl_view *weight = rl_in(k, 1), *bias = rl_in(k, 2), *mean = rl_in(k, 3), *var = rl_in(k, 4);
    rl_walk w = job->channel;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        norm_line line = {.dtype = job->dtype};
        double variance;
        for (int i = 0; i < 2; i++) w.base[i] = job->channel.base[i] + c * job->step[i];
        if (k->arg[5].u.i) { /* training */
            line.center = mean_of(&w, &line);
            line.squares = true;
            variance = mean_of(&w, &line);
            double momentum = rl_num(k, 6), n = (double)w.numel;
            if (mean) running_update(mean, c, momentum, line.center);
            if (var) running_update(var, c, momentum, variance * n / (n - 1));
        } else {
            line.center = rl_vector_at(mean, c);
            variance = rl_vector_at(var, c);
        }
        if (k->n_out == 3 && k->arg[5].u.i) {
            const rl_view *kept = k->out[1], *scale = k->out[2];
            int64_t at = c * rl_itemsize(kept->dtype);
            rl_row_put_double(kept->dtype, (char *)rl_data(kept, RL_WRITE) + at, line.center);
            rl_row_put_double(scale->dtype, (char *)rl_data(scale, RL_WRITE) + at,
                              1 / sqrt(variance + rl_num(k, 7)));
        }
        line.scale = (weight ? rl_vector_at(weight, c) : 1) / sqrt(variance + rl_num(k, 7));
        line.shift = bias ? rl_vector_at(bias, c) : 0;
        rl_walk_range(&w, 0, w.numel, norm_apply, &line);
    }
}

RL_KERNEL(ref_batch_norm) {
    const rl_view *x = k->arg[0].u.t;
    norm_job job = {.k = k, .dtype = x->dtype};
    rl_walk *w = &job.channel;
    for (int i = 1; i < k->n_out && x->numel == 0; i++)
        memset(rl_data(k->out[i], RL_WRITE), 0, (size_t)(k->out[i]->numel * rl_itemsize(k->out[i]->dtype)));
    if (x->numel == 0) return RL_OK;
    rl_walk_begin(w, k->out[0], RL_WRITE);
    rl_walk_add(w, x);
    for (int i = 0; i < 2; i++) job.step[i] = w->stride[i][1];
    rl_walk_drop(w, 2);
    rl_walk_merge(w);
    k->svc->parallel(k, x->shape[1], 4 * RL_REF_NS * (double)w->numel, norm_part, &job);
    return RL_OK;
}
