/* Normalisations and their gradients, in double. */
#include "loops.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- batch normalisation: statistics in double, two passes ---- */
typedef struct {
    const rl_call *k;
    rl_iter channel; /* operands output, input; without the channel dim */
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

static double mean_of(const rl_iter *w, norm_line *line) {
    line->sum = line->error = 0;
    rl_iter_range(w, 0, w->numel, norm_sum, line);
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
    rl_iter w = job->channel;
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
        rl_iter_range(&w, 0, w.numel, norm_apply, &line);
    }
}

RL_KERNEL(ref_batch_norm) {
    const rl_view *x = k->arg[0].u.t;
    norm_job job = {.k = k, .dtype = x->dtype};
    rl_iter *w = &job.channel;
    for (int i = 1; i < k->n_out && x->numel == 0; i++)
        memset(rl_data(k->out[i], RL_WRITE), 0, (size_t)(k->out[i]->numel * rl_itemsize(k->out[i]->dtype)));
    if (x->numel == 0) return RL_OK;
    rl_iter_begin(w, k->out[0], RL_WRITE);
    rl_iter_add(w, x);
    for (int i = 0; i < 2; i++) job.step[i] = w->stride[i][1];
    rl_iter_drop(w, 2);
    rl_iter_merge(w);
    k->svc->parallel(k, x->shape[1], 4 * RL_REF_NS * (double)w->numel, norm_part, &job);
    return RL_OK;
}

/* layer_norm, rms_norm, group_norm and instance_norm: statistics of groups of elements, in double. */
/* Note [Groups]
 * Operands: output, input, weight, bias. `groups` walks from group to group, `inside` over the elements of
 * one; a missing weight or bias is a single number that all elements share. */
enum { OUT, IN, WEIGHT, BIAS, OPERANDS };
typedef struct {
    rl_iter groups, inside;
    int dtype[OPERANDS];
    double missing[OPERANDS], eps;
    bool mean_square;        /* rms_norm: around 0 */
    double *mean, *variance; /* of each group, kept where not NULL; taken from there when `given` */
    bool given;
} group_job;

typedef struct {
    const group_job *job;
    double center, scale, sum, error;
    bool squares;
} group_pass;

enum { PART = 256 };

/* adds a strip of the input, or its squared distances from the center, with the rounding error kept */
static void sum_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    group_pass *pass = (group_pass *)ctx;
    double x[PART];
    for (int64_t at = 0; at < n; at += PART) {
        int64_t m = n - at < PART ? n - at : PART;
        double part = 0;
        rl_row_doubles(pass->job->dtype[IN], p[IN] + at * step[IN], step[IN], m, x);
        for (int64_t i = 0; i < m; i++)
            part += pass->squares ? (x[i] - pass->center) * (x[i] - pass->center) : x[i];
        double y = part - pass->error, total = pass->sum + y;
        pass->error = total - pass->sum - y;
        pass->sum = total;
    }
}

static void apply_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const group_pass *pass = ctx;
    const int *dtype = pass->job->dtype;
    double x[PART], w[PART], b[PART];
    for (int64_t at = 0; at < n; at += PART) {
        int64_t m = n - at < PART ? n - at : PART;
        rl_row_doubles(dtype[IN], p[IN] + at * step[IN], step[IN], m, x);
        rl_row_doubles(dtype[WEIGHT], p[WEIGHT] + at * step[WEIGHT], step[WEIGHT], m, w);
        rl_row_doubles(dtype[BIAS], p[BIAS] + at * step[BIAS], step[BIAS], m, b);
        for (int64_t i = 0; i < m; i++) x[i] = (x[i] - pass->center) * pass->scale * w[i] + b[i];
        rl_row_put_doubles(dtype[OUT], p[OUT] + at * step[OUT], step[OUT], m, x);
    }
}

static double group_mean(const rl_iter *w, group_pass *pass) {
    pass->sum = pass->error = 0;
    rl_iter_range(w, 0, w->numel, sum_loop, pass);
    return pass->sum / (double)w->numel;
}

static void group_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const group_job *job = ctx;
    rl_iter w = job->inside;
    (void)thread;
    for (int64_t g = begin; g < end; g++) {
        group_pass pass = {.job = job};
        double variance;
        for (int i = 0; i < OPERANDS; i++) w.base[i] = job->groups.base[i];
        rl_iter_seek(&job->groups, g, w.base);
        if (job->given) {
            pass.center = job->mean[g];
            variance = job->variance[g];
        } else {
            if (!job->mean_square) pass.center = group_mean(&w, &pass);
            pass.squares = true;
            variance = group_mean(&w, &pass);
            if (job->mean) job->mean[g] = pass.center;
            if (job->variance) job->variance[g] = variance;
        }
        pass.scale = 1 / sqrt(variance + job->eps);
        rl_iter_range(&w, 0, w.numel, apply_loop, &pass);
    }
}

/* gives the walk its weight or bias: `v` with these byte strides, or a number */
static void operand_set(group_job *job, rl_iter *w, int operand, const rl_view *v, const int64_t *strides) {
    job->dtype[operand] = v ? v->dtype : RL_F64;
    job->missing[operand] = operand == WEIGHT;
    w->base[operand] = v ? rl_data(v, RL_READ) : (char *)&job->missing[operand];
    for (int d = 0; d < w->ndim; d++) w->stride[operand][d] = v ? strides[d] : 0;
    w->nops = operand + 1;
}

/* the first `lead` dims of the walk count the groups */
static void groups_split(group_job *job, const rl_iter *w, int lead) {
    job->groups = job->inside = *w;
    rl_iter_drop(&job->inside, (1ull << lead) - 1);
    rl_iter_drop(&job->groups, ~((1ull << lead) - 1));
    rl_iter_merge(&job->groups);
    rl_iter_merge(&job->inside);
}

static void groups_run(rl_call *k, group_job *job) {
    k->svc->parallel(k, job->groups.numel, 4 * RL_REF_NS * (double)job->inside.numel, group_part, job);
}

/* ---- rows that answer with mean and 1 / deviation, too ---- */
static rl_status statistics_room(rl_call *k, group_job *job) {
    job->mean = k->svc->scratch(k, RL_COUNT(k->out[1]->numel), sizeof(double));
    job->variance = k->svc->scratch(k, RL_COUNT(k->out[1]->numel), sizeof(double));
    return job->mean && job->variance ? RL_OK : RL_FAIL;
}

static void statistics_put(rl_call *k, group_job *job, bool some) {
    const rl_view *mean = k->out[1], *scale = k->out[2];
    int64_t item = rl_itemsize(mean->dtype), n = mean->numel;
    if (n == 0) return;
    for (int64_t i = 0; i < n; i++) {
        job->variance[i] = some ? 1 / sqrt(job->variance[i] + job->eps) : 0;
        if (!some) job->mean[i] = 0;
    }
    rl_row_put_doubles(mean->dtype, rl_data(mean, RL_WRITE), item, n, job->mean);
    rl_row_put_doubles(scale->dtype, rl_data(scale, RL_WRITE), item, n, job->variance);
}

/* ---- over the last dims ---- */
static rl_status last_dims(rl_call *k, group_job *job, const rl_view *weight, const rl_view *bias) {
    const rl_view *x = k->arg[0].u.t, *given[OPERANDS] = {NULL, NULL, weight, bias};
    int n = (int)k->attr[0], lead = x->ndim - n;
    rl_iter w;
    if (x->numel == 0) return RL_OK;
    job->dtype[OUT] = job->dtype[IN] = x->dtype;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    for (int i = WEIGHT; i <= BIAS; i++) {
        const rl_view *v = given[i];
        int64_t strides[RL_MAX_DIMS] = {0};
        for (int d = 0; v && d < n; d++) strides[lead + d] = v->strides[d] * rl_itemsize(v->dtype);
        operand_set(job, &w, i, v, strides);
    }
    groups_split(job, &w, lead);
    groups_run(k, job);
    return RL_OK;
}

RL_KERNEL(ref_layer_norm) {
    group_job job = {.eps = rl_num(k, 4)};
    if (k->n_out == 3 && statistics_room(k, &job) != RL_OK) return RL_FAIL;
    rl_status status = last_dims(k, &job, rl_in(k, 2), rl_in(k, 3));
    if (k->n_out == 3) statistics_put(k, &job, k->out[0]->numel > 0);
    return status;
}

RL_KERNEL(ref_rms_norm) {
    group_job job = {.mean_square = true};
    job.eps = k->arg[3].tag != RL_NONE               ? rl_num(k, 3)
              : rl_tensor_arg(k, 0)->dtype == RL_F64 ? DBL_EPSILON
                                                     : FLT_EPSILON;
    return last_dims(k, &job, rl_in(k, 2), NULL);
}

/* ---- over channels: (N, C, ...) is walked as (N, groups, C / groups, ...) ---- */
static void channel_groups(rl_call *k, group_job *job, int64_t groups, const rl_view *weight,
                           const rl_view *bias) {
    const rl_view *x = k->arg[0].u.t, *given[OPERANDS] = {NULL, NULL, weight, bias};
    int64_t size = x->shape[1] / groups;
    rl_iter flat, w;
    job->dtype[OUT] = job->dtype[IN] = x->dtype;
    rl_iter_begin(&flat, k->out[0], RL_WRITE);
    rl_iter_add(&flat, x);
    w = flat;
    w.ndim = flat.ndim + 1;
    for (int d = 1; d < flat.ndim; d++) {
        w.size[d + 1] = flat.size[d];
        for (int i = OUT; i <= IN; i++) w.stride[i][d + 1] = flat.stride[i][d];
    }
    w.size[1] = groups;
    w.size[2] = size;
    for (int i = OUT; i <= IN; i++) w.stride[i][1] = flat.stride[i][1] * size;
    for (int i = WEIGHT; i <= BIAS; i++) {
        int64_t strides[RL_MAX_DIMS] = {0};
        if (given[i]) strides[2] = given[i]->strides[0] * rl_itemsize(given[i]->dtype);
        strides[1] = strides[2] * size;
        operand_set(job, &w, i, given[i], strides);
    }
    groups_split(job, &w, 2);
}

static rl_status group_norm(rl_call *k, group_job job, int64_t groups, const rl_view *weight,
                            const rl_view *bias) {
    bool some = rl_tensor_arg(k, 0)->numel > 0;
    if (k->n_out == 3 && statistics_room(k, &job) != RL_OK) return RL_FAIL;
    if (some) {
        channel_groups(k, &job, groups, weight, bias);
        groups_run(k, &job);
    }
    if (k->n_out == 3) statistics_put(k, &job, some);
    return RL_OK;
}
RL_KERNEL(ref_group_norm) {
    return group_norm(k, (group_job){.eps = rl_num(k, 4)}, k->arg[1].u.i, rl_in(k, 2), rl_in(k, 3));
}
RL_KERNEL(ref_native_group_norm) {
    return group_norm(k, (group_job){.eps = rl_num(k, 7)}, k->arg[6].u.i, rl_in(k, 1), rl_in(k, 2));
}

/* the running number of a channel moves towards the mean of that of the samples */
static void running_updates(const rl_view *v, int64_t samples, const double *of, double momentum,
                            double factor) {
    char *p = rl_data(v, RL_WRITE);
    int64_t channels = v->numel, step = v->strides[0] * rl_itemsize(v->dtype);
    for (int64_t c = 0; c < channels; c++, p += step) {
        double sum = 0;
        for (int64_t n = 0; n < samples; n++) sum += of[n * channels + c];
        rl_row_put_double(v->dtype, p,
                          (1 - momentum) * rl_row_double(v->dtype, p) +
                              momentum * factor * sum / (double)samples);
    }
}

RL_KERNEL(ref_instance_norm) {
    const rl_view *x = k->arg[0].u.t, *mean = rl_in(k, 3), *variance = rl_in(k, 4);
    group_job job = {.eps = rl_num(k, 7), .given = !k->arg[5].u.i};
    int64_t samples = x->shape[0], channels = x->shape[1];
    if (x->numel == 0) return RL_OK;
    channel_groups(k, &job, channels, rl_in(k, 1), rl_in(k, 2));
    if (!mean) {
        groups_run(k, &job);
        return RL_OK;
    }
    job.mean = k->svc->scratch(k, RL_COUNT(samples, channels), sizeof(double));
    job.variance = k->svc->scratch(k, RL_COUNT(samples, channels), sizeof(double));
    if (!job.mean || !job.variance) return RL_FAIL;
    for (int64_t i = 0; job.given && i < samples * channels; i++) {
        job.mean[i] = rl_vector_at(mean, i % channels);
        job.variance[i] = rl_vector_at(variance, i % channels);
    }
    groups_run(k, &job);
    if (job.given) return RL_OK;
    double n = (double)job.inside.numel, momentum = rl_num(k, 6);
    running_updates(mean, samples, job.mean, momentum, 1);
    running_updates(variance, samples, job.variance, momentum, n / (n - 1));
    return RL_OK;
}

/* Gradients of normalisations, in double.
 *
 * Note [Lines]
 *   The input is (samples, channels, elements); a line is one channel of one sample. Statistics belong to a
 *   group of lines: channels of one sample (layer_norm, rms_norm: all of them), or one channel of all
 * samples. With h = (x - mean) / deviation and g the gradient of the output, each line gives P = sum g, Q =
 * sum g h: gradient by bias    sum of P over samples          by weight   sum of Q over samples by input (g w
 * - mean of w P - h * mean of w Q) / deviation, means over the group */
typedef struct {
    int64_t samples, channels, elements, groups, kept, count; /* kept: groups in all, of `count` elements */
    int dtype;
    bool around_zero, frozen; /* rms_norm; statistics that do not depend on the input */
    double *x, *grad, *p, *q, *mean, *scale, *weight, *by_weight, *by_bias; /* scale: 1 / deviation */
    char *to;
} back_job;

static int64_t group_of(const back_job *j, int64_t line) {
    if (!j->groups) return line % j->channels;
    return line / j->channels * j->groups + line % j->channels / (j->channels / j->groups);
}

/* ---- everything as one block of double ---- */
typedef struct {
    int dtype;
    double *to;
} reader;

static void read_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reader *r = (reader *)ctx;
    rl_row_doubles(r->dtype, p[0], step[0], n, r->to);
    r->to += n;
}

/* room for n numbers, filled from v when there is one; NULL without memory */
static double *numbers(rl_call *k, const rl_view *v, int64_t n) {
    reader r = {.to = k->svc->scratch(k, RL_COUNT(n), sizeof(double))};
    double *room = r.to;
    if (!room || !v || v->numel == 0) return room;
    rl_iter w;
    r.dtype = v->dtype;
    rl_iter_begin(&w, v, RL_READ);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, v->numel, read_loop, &r);
    return room;
}

static void numbers_put(const rl_view *out, const double *from) {
    if (out->numel)
        rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), rl_itemsize(out->dtype), out->numel, from);
}

/* ---- the passes ---- */
/* mean and squares of each group; two passes */
static void statistics_find(back_job *j, double eps) {
    int64_t lines = j->samples * j->channels, n = j->elements;
    for (int64_t g = 0; g < j->kept; g++) j->mean[g] = j->scale[g] = 0;
    for (int64_t l = 0; l < lines && !j->around_zero; l++)
        for (int64_t i = 0; i < n; i++) j->mean[group_of(j, l)] += j->x[l * n + i];
    for (int64_t g = 0; g < j->kept; g++) j->mean[g] /= (double)j->count;
    for (int64_t l = 0; l < lines; l++) {
        int64_t g = group_of(j, l);
        for (int64_t i = 0; i < n; i++)
            j->scale[g] += (j->x[l * n + i] - j->mean[g]) * (j->x[l * n + i] - j->mean[g]);
    }
    for (int64_t g = 0; g < j->kept; g++) j->scale[g] = 1 / sqrt(j->scale[g] / (double)j->count + eps);
}

static void sum_lines(void *ctx, int64_t begin, int64_t end, int thread) {
    const back_job *j = ctx;
    (void)thread;
    for (int64_t l = begin; l < end; l++) {
        const double *x = j->x + l * j->elements, *grad = j->grad + l * j->elements;
        double p = 0, q = 0, mean = j->mean[group_of(j, l)], scale = j->scale[group_of(j, l)];
        for (int64_t i = 0; i < j->elements; i++) {
            p += grad[i];
            q += grad[i] * (x[i] - mean);
        }
        j->p[l] = p;
        j->q[l] = q * scale;
    }
}

/* p and q become the means of their groups, in the places of mean's neighbours `by_input` */
static void sum_groups(const back_job *j, double *of_p, double *of_q) {
    for (int64_t c = 0; c < j->channels; c++) j->by_weight[c] = j->by_bias[c] = 0;
    for (int64_t g = 0; g < j->kept; g++) of_p[g] = of_q[g] = 0;
    for (int64_t l = 0; l < j->samples * j->channels; l++) {
        int64_t c = l % j->channels, g = group_of(j, l);
        double w = j->weight ? j->weight[c] : 1;
        j->by_weight[c] += j->q[l];
        j->by_bias[c] += j->p[l];
        if (!j->frozen && !j->around_zero) of_p[g] += w * j->p[l] / (double)j->count;
        if (!j->frozen) of_q[g] += w * j->q[l] / (double)j->count;
    }
}

typedef struct {
    const back_job *job;
    const double *of_p, *of_q;
} apply_job;

static void apply_lines(void *ctx, int64_t begin, int64_t end, int thread) {
    const apply_job *a = ctx;
    const back_job *j = a->job;
    int64_t item = rl_itemsize(j->dtype);
    (void)thread;
    for (int64_t l = begin; l < end; l++) {
        int64_t g = group_of(j, l);
        double *x = j->x + l * j->elements, mean = j->mean[g], scale = j->scale[g];
        const double *grad = j->grad + l * j->elements, w = j->weight ? j->weight[l % j->channels] : 1;
        for (int64_t i = 0; i < j->elements; i++)
            x[i] = scale * (grad[i] * w - a->of_p[g] - (x[i] - mean) * scale * a->of_q[g]);
        rl_row_put_doubles(j->dtype, j->to + l * j->elements * item, item, j->elements, x);
    }
}

/* `mean` and `scale` may be absent, or empty: then they are found again */
static rl_status back_run(rl_call *k, back_job j, const rl_view *weight, const rl_view *mean,
                          const rl_view *scale, double eps, bool variance) {
    j.samples = k->attr[0], j.channels = k->attr[1], j.elements = k->attr[2], j.groups = k->attr[3];
    j.kept = j.groups ? j.samples * j.groups : j.channels;
    int64_t lines = j.samples * j.channels;
    j.dtype = k->out[0]->dtype;
    j.count = j.kept ? lines * j.elements / j.kept : 0;
    bool given = mean && scale && mean->numel && scale->numel;
    j.x = numbers(k, k->arg[1].u.t, lines * j.elements),
    j.grad = numbers(k, k->arg[0].u.t, lines * j.elements);
    j.p = numbers(k, NULL, lines), j.q = numbers(k, NULL, lines);
    j.mean = numbers(k, given ? mean : NULL, j.kept), j.scale = numbers(k, given ? scale : NULL, j.kept);
    j.weight = weight ? numbers(k, weight, j.channels) : NULL;
    j.by_weight = numbers(k, NULL, j.channels), j.by_bias = numbers(k, NULL, j.channels);
    double *of_p = numbers(k, NULL, j.kept), *of_q = numbers(k, NULL, j.kept);
    if (!j.x || !j.grad || !j.p || !j.q || !j.mean || !j.scale || (weight && !j.weight) || !j.by_weight ||
        !j.by_bias || !of_p || !of_q)
        return RL_FAIL;
    if (!given) statistics_find(&j, eps);
    for (int64_t g = 0; variance && given && g < j.kept; g++) j.scale[g] = 1 / sqrt(j.scale[g] + eps);
    double ns = 4 * RL_REF_NS * (double)j.elements;
    k->svc->parallel(k, lines, ns, sum_lines, &j);
    sum_groups(&j, of_p, of_q);
    j.to = rl_data(k->out[0], RL_WRITE);
    apply_job apply = {&j, of_p, of_q};
    k->svc->parallel(k, lines, ns, apply_lines, &apply);
    numbers_put(k->out[1], j.by_weight);
    if (k->n_out == 3) numbers_put(k->out[2], j.by_bias);
    return RL_OK;
}

RL_KERNEL(ref_layer_norm_back) {
    return back_run(k, (back_job){.frozen = false}, rl_in(k, 5), rl_in(k, 3), rl_in(k, 4), rl_num(k, 6),
                    false);
}
RL_KERNEL(ref_group_norm_back) {
    return back_run(k, (back_job){.frozen = false}, rl_in(k, 4), rl_in(k, 2), rl_in(k, 3), rl_num(k, 6),
                    false);
}
RL_KERNEL(ref_rms_norm_back) {
    double eps = k->arg[4].tag != RL_NONE     ? rl_num(k, 4)
                 : k->out[0]->dtype == RL_F64 ? DBL_EPSILON
                                              : FLT_EPSILON;
    return back_run(k, (back_job){.around_zero = true}, rl_in(k, 3), NULL, NULL, eps, false);
}
RL_KERNEL(ref_batch_norm_back) {
    bool train = k->arg[7].u.i != 0;
    int at = train ? 5 : 3;
    return back_run(k, (back_job){.frozen = !train}, rl_in(k, 2), rl_in(k, at), rl_in(k, at + 1),
                    rl_num(k, 8), !train);
}
