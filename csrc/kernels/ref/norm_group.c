/* layer_norm, rms_norm, group_norm and instance_norm: statistics of groups of elements, in double. */
#include "loops.h"
#include <float.h>
#include <math.h>

/* Note [Groups]
 * Operands: output, input, weight, bias. `groups` walks from group to group, `inside` over the elements of
 * one; a missing weight or bias is a single number that all elements share. */
enum { OUT, IN, WEIGHT, BIAS, OPERANDS };
typedef struct {
    rl_walk groups, inside;
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
static void sum_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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

static void apply_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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

static double mean_of(const rl_walk *w, group_pass *pass) {
    pass->sum = pass->error = 0;
    rl_walk_range(w, 0, w->numel, sum_strip, pass);
    return pass->sum / (double)w->numel;
}

static void group_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const group_job *job = ctx;
    rl_walk w = job->inside;
    (void)thread;
    for (int64_t g = begin; g < end; g++) {
        group_pass pass = {.job = job};
        double variance;
        for (int i = 0; i < OPERANDS; i++) w.base[i] = job->groups.base[i];
        rl_walk_seek(&job->groups, g, w.base);
        if (job->given) {
            pass.center = job->mean[g];
            variance = job->variance[g];
        } else {
            if (!job->mean_square) pass.center = mean_of(&w, &pass);
            pass.squares = true;
            variance = mean_of(&w, &pass);
            if (job->mean) job->mean[g] = pass.center;
            if (job->variance) job->variance[g] = variance;
        }
        pass.scale = 1 / sqrt(variance + job->eps);
        rl_walk_range(&w, 0, w.numel, apply_strip, &pass);
    }
}

/* gives the walk its weight or bias: `v` with these byte strides, or a number */
static void operand_set(group_job *job, rl_walk *w, int operand, const rl_view *v, const int64_t *strides) {
    job->dtype[operand] = v ? v->dtype : RL_F64;
    job->missing[operand] = operand == WEIGHT;
    w->base[operand] = v ? rl_data(v, RL_READ) : (char *)&job->missing[operand];
    for (int d = 0; d < w->ndim; d++) w->stride[operand][d] = v ? strides[d] : 0;
    w->nops = operand + 1;
}

/* the first `lead` dims of the walk count the groups */
static void groups_split(group_job *job, const rl_walk *w, int lead) {
    job->groups = job->inside = *w;
    rl_walk_drop(&job->inside, (1ull << lead) - 1);
    rl_walk_drop(&job->groups, ~((1ull << lead) - 1));
    rl_walk_merge(&job->groups);
    rl_walk_merge(&job->inside);
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
    rl_walk w;
    if (x->numel == 0) return RL_OK;
    job->dtype[OUT] = job->dtype[IN] = x->dtype;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, x);
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
    rl_walk flat, w;
    job->dtype[OUT] = job->dtype[IN] = x->dtype;
    rl_walk_begin(&flat, k->out[0], RL_WRITE);
    rl_walk_add(&flat, x);
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
static void running_update(const rl_view *v, int64_t samples, const double *of, double momentum,
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
    running_update(mean, samples, job.mean, momentum, 1);
    running_update(variance, samples, job.variance, momentum, n / (n - 1));
    return RL_OK;
}
