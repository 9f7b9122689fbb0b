/* group_norm, instance_norm and their gradients, of float channels whose numbers lie side by side.
 *
 *   (samples, channels, elements): a line is one channel of one sample, a group some lines of one sample.
 *
 * Many groups: a thread takes whole ones, while their numbers are in its cache. Few: threads take lines, and
 * what those sum up to is joined in order. Lines too short for vectors become rows with a weight for each
 * number (norm.h). */
#include "norm.h"
#include <math.h>

enum { SHORT_LINE = 16, LONG_LINE = 4096, FEW = 8 };
typedef struct {
    const rl_norm_runs *runs;
    int64_t samples, channels, elements, groups;
    const float *x, *grad, *weight, *bias; /* of channels; NULL for 1 and 0 */
    float *to, *made[3];                   /* made: the results; `to` is the first */
    norm_moments *line;                    /* of each line; NULL when groups are whole */
    double *center, *variance, *scale;     /* of each group; scale: 1 / deviation */
    double (*dots)[2];                     /* of each line */
    double *of_p, *of_q;                   /* of each group: Note [Lines] in kernels/ref/norm.c */
    double eps;
    bool given; /* statistics that do not depend on the input */
} group_job;

static int64_t group_lines(const group_job *j) {
    return j->channels / j->groups;
}
static int64_t group_size(const group_job *j) {
    return group_lines(j) * j->elements;
}

/* ---- forward ---- */
static void lines_apply(const group_job *j, int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; l++) {
        int64_t g = l / group_lines(j), c = l % j->channels;
        double scale = j->scale[g] * (j->weight ? (double)j->weight[c] : 1);
        float center = (float)j->center[g];
        double shift = ((double)center - j->center[g]) * scale + (j->bias ? (double)j->bias[c] : 0);
        j->runs->apply(j->x + l * j->elements, j->to + l * j->elements, j->elements, center, (float)scale,
                       (float)shift);
    }
}

static void group_settle(const group_job *j, int64_t g, norm_moments m) {
    double variance = m.squares / (double)group_size(j);
    j->center[g] = m.mean, j->variance[g] = variance;
    j->scale[g] = 1 / sqrt(variance + j->eps);
}

static void groups_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const group_job *j = ctx;
    int64_t lines = group_lines(j);
    (void)thread;
    for (int64_t g = begin; g < end; g++) {
        if (!j->given) group_settle(j, g, j->runs->moments(j->x + g * group_size(j), group_size(j)));
        lines_apply(j, g * lines, (g + 1) * lines);
    }
}

static void moments_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const group_job *j = ctx;
    (void)thread;
    for (int64_t l = begin; l < end; l++) j->line[l] = j->runs->moments(j->x + l * j->elements, j->elements);
}
static void apply_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    lines_apply(ctx, begin, end);
}

/* the statistics of few groups with long lines */
static rl_status few_moments(rl_call *k, group_job *j) {
    int64_t lines = j->samples * j->channels, own = group_lines(j), n = j->elements;
    j->line = k->svc->scratch(k, RL_COUNT(lines), sizeof *j->line);
    if (!j->line) return RL_FAIL;
    k->svc->parallel(k, lines, NORM_NS * (double)n, moments_chunk, j);
    for (int64_t g = 0; g < j->samples * j->groups; g++) {
        norm_moments all = j->line[g * own];
        for (int64_t l = 1; l < own; l++) all = norm_join(all, l * n, j->line[g * own + l], n);
        group_settle(j, g, all);
    }
    return RL_OK;
}

/* the weight or bias of each channel for each of its numbers; NULL (reported) without memory */
static const float *spread(rl_call *k, const group_job *j, const float *of) {
    if (j->elements == 1) return of;
    float *to = k->svc->scratch(k, RL_COUNT(j->channels, j->elements), sizeof *to);
    for (int64_t i = 0; to && i < j->channels * j->elements; i++) to[i] = of[i / j->elements];
    return to;
}

static rl_status short_lines(rl_call *k, group_job *j) {
    rl_norm_rows rows = {.x = j->x, .to = j->to, .mean = j->made[1], .scale = j->made[2], .eps = j->eps};
    rows.n = group_size(j), rows.period = j->groups;
    if (j->weight && !(rows.weight = spread(k, j, j->weight))) return RL_FAIL;
    if (j->bias && !(rows.bias = spread(k, j, j->bias))) return RL_FAIL;
    if (rows.bias && !rows.weight && !(rows.weight = rl_norm_vector(k, NULL, j->channels * j->elements, 1)))
        return RL_FAIL;
    return rl_norm_rows_run(k, &rows, j->samples * j->groups);
}

/* input, weight and bias; RL_UNSUPPORTED where the reference does it */
RL_CHOOSER
static rl_status group_read(rl_call *k, const rl_view *x, const rl_view *weight, const rl_view *bias,
                            group_job *j) {
    if (!(j->runs = rl_norm_runs_get(k)) || x->numel == 0 || !simd_is_floats(x) || !simd_is_floats(weight))
        return RL_UNSUPPORTED;
    j->samples = x->shape[0], j->channels = x->shape[1];
    j->elements = x->numel / (j->samples * j->channels);
    if (!(j->x = simd_floats_of(k, x)) || simd_results_begin(k, 0, j->made) != RL_OK) return RL_FAIL;
    if (weight && !(j->weight = simd_floats_of(k, weight))) return RL_FAIL;
    if (bias && !(j->bias = simd_floats_of(k, bias))) return RL_FAIL;
    j->to = j->made[0];
    return RL_OK;
}

static rl_status group_room(rl_call *k, group_job *j) {
    j->center = k->svc->scratch(k, RL_COUNT(j->samples, j->groups), sizeof *j->center);
    j->scale = k->svc->scratch(k, RL_COUNT(j->samples, j->groups), sizeof *j->scale);
    j->variance = k->svc->scratch(k, RL_COUNT(j->samples, j->groups), sizeof *j->variance);
    return j->center && j->scale && j->variance ? RL_OK : RL_FAIL;
}

static rl_status group_run(rl_call *k, group_job *j) {
    int64_t all = j->samples * j->groups;
    if (all >= FEW || j->elements < LONG_LINE) {
        k->svc->parallel(k, all, NORM_NS * (double)group_size(j), groups_chunk, j);
        return RL_OK;
    }
    if (!j->given && few_moments(k, j) != RL_OK) return RL_FAIL;
    k->svc->parallel(k, j->samples * j->channels, NORM_NS * (double)j->elements, apply_chunk, j);
    return RL_OK;
}

static rl_status group_norm(rl_call *k, int64_t groups, double eps, const rl_view *weight,
                            const rl_view *bias) {
    group_job j = {.groups = groups, .eps = eps};
    rl_status status = group_read(k, rl_in(k, 0), weight, bias, &j);
    if (status != RL_OK) return status;
    if (j.elements < SHORT_LINE)
        return short_lines(k, &j) == RL_OK ? simd_results_end(k, 0, j.made) : RL_FAIL;
    if (group_room(k, &j) != RL_OK || group_run(k, &j) != RL_OK) return RL_FAIL;
    for (int64_t g = 0; g < j.samples * groups && k->n_out == 3; g++)
        j.made[1][g] = (float)j.center[g], j.made[2][g] = (float)j.scale[g];
    return simd_results_end(k, 0, j.made);
}
RL_KERNEL(simd_group_norm) {
    return group_norm(k, k->arg[1].u.i, rl_num(k, 4), rl_in(k, 2), rl_in(k, 3));
}
RL_KERNEL(simd_native_group_norm) {
    return group_norm(k, k->arg[6].u.i, rl_num(k, 7), rl_in(k, 1), rl_in(k, 2));
}

/* ---- instance_norm: a group is one channel ---- */
static float *element(const rl_view *v, int64_t c, int mode) {
    return (float *)rl_data(v, mode) + c * v->strides[0];
}

static void given_read(const rl_view *mean, const rl_view *variance, group_job *j) {
    j->given = true;
    for (int64_t g = 0; g < j->samples * j->channels; g++) {
        j->center[g] = (double)*element(mean, g % j->channels, RL_READ);
        j->scale[g] = 1 / sqrt((double)*element(variance, g % j->channels, RL_READ) + j->eps);
    }
}

static void running_move(const rl_view *v, int64_t c, double momentum, double value) {
    float *p = element(v, c, RL_WRITE);
    *p = (float)((1 - momentum) * (double)*p + momentum * value);
}

/* towards the means of the samples */
static void running_update(const group_job *j, const rl_view *mean, const rl_view *variance,
                           double momentum) {
    double n = (double)j->elements;
    for (int64_t c = 0; c < j->channels; c++) {
        double means = 0, variances = 0;
        for (int64_t g = c; g < j->samples * j->channels; g += j->channels) {
            means += j->center[g];
            variances += j->variance[g];
        }
        running_move(mean, c, momentum, means / (double)j->samples);
        running_move(variance, c, momentum, variances / (double)j->samples * n / (n - 1));
    }
}

RL_CHOOSER
RL_KERNEL(simd_instance_norm) {
    const rl_view *x = rl_in(k, 0), *mean = rl_in(k, 3), *variance = rl_in(k, 4);
    group_job j = {.groups = x->shape[1], .eps = rl_num(k, 7)};
    bool given = !k->arg[5].u.i;
    if (!norm_is_float(mean)) return RL_UNSUPPORTED; /* whose dtype the variance has */
    rl_status status = group_read(k, x, rl_in(k, 1), rl_in(k, 2), &j);
    if (status != RL_OK) return status;
    if (group_room(k, &j) != RL_OK) return RL_FAIL;
    if (given) given_read(mean, variance, &j);
    if (group_run(k, &j) != RL_OK) return RL_FAIL;
    if (mean && !given) running_update(&j, mean, variance, rl_num(k, 6));
    return simd_results_end(k, 0, j.made);
}

/* ---- backward ---- */
static void lines_dots(const group_job *j, int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; l++) {
        double *dots = j->dots[l];
        dots[0] = dots[1] = 0;
        j->runs->dots(j->grad + l * j->elements, j->x + l * j->elements, j->elements,
                      (float)j->center[l / group_lines(j)], dots);
        dots[1] *= j->scale[l / group_lines(j)];
    }
}
static void groups_join(const group_job *j, int64_t begin, int64_t end) {
    int64_t lines = group_lines(j);
    for (int64_t g = begin; g < end; g++) {
        double p = 0, q = 0;
        for (int64_t l = g * lines; l < (g + 1) * lines; l++) {
            double w = j->weight ? (double)j->weight[l % j->channels] : 1;
            p += w * j->dots[l][0], q += w * j->dots[l][1];
        }
        j->of_p[g] = p / (double)group_size(j), j->of_q[g] = q / (double)group_size(j);
    }
}
static void lines_back(const group_job *j, int64_t begin, int64_t end) {
    for (int64_t l = begin; l < end; l++) {
        int64_t g = l / group_lines(j), at = l * j->elements;
        double s = j->scale[g], w = j->weight ? (double)j->weight[l % j->channels] : 1;
        j->runs->back(j->grad + at, j->x + at, j->to + at, j->elements, (float)j->center[g], (float)(s * w),
                      (float)(s * s * j->of_q[g]), (float)(s * j->of_p[g]));
    }
}

static void groups_back_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const group_job *j = ctx;
    int64_t lines = group_lines(j), size = group_size(j);
    (void)thread;
    for (int64_t g = begin; g < end; g++) {
        if (!j->given) group_settle(j, g, j->runs->moments(j->x + g * size, size));
        lines_dots(j, g * lines, (g + 1) * lines);
        groups_join(j, g, g + 1);
        lines_back(j, g * lines, (g + 1) * lines);
    }
}
static void dots_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    lines_dots(ctx, begin, end);
}
static void back_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    (void)thread;
    lines_back(ctx, begin, end);
}

static rl_status group_back_run(rl_call *k, group_job *j) {
    int64_t all = j->samples * j->groups, lines = j->samples * j->channels;
    double ns = NORM_NS * (double)j->elements;
    if (all >= FEW || j->elements < LONG_LINE) {
        k->svc->parallel(k, all, 2 * NORM_NS * (double)group_size(j), groups_back_chunk, j);
        return RL_OK;
    }
    if (!j->given && few_moments(k, j) != RL_OK) return RL_FAIL;
    k->svc->parallel(k, lines, ns, dots_chunk, j);
    groups_join(j, 0, all);
    k->svc->parallel(k, lines, ns, back_chunk, j);
    return RL_OK;
}

/* by weight and by bias: sums over samples */
static void samples_join(const group_job *j) {
    for (int64_t c = 0; c < j->channels; c++) {
        double p = 0, q = 0;
        for (int64_t l = c; l < j->samples * j->channels; l += j->channels)
            p += j->dots[l][0], q += j->dots[l][1];
        j->made[1][c] = (float)q, j->made[2][c] = (float)p;
    }
}

static rl_status short_lines_back(rl_call *k, const group_job *j, const rl_view *mean, const rl_view *scale) {
    rl_norm_back rows = {.grad = j->grad, .x = j->x, .to = j->to, .eps = j->eps, .period = j->groups};
    rows.rows = j->samples * j->groups, rows.n = group_size(j);
    int64_t all = j->channels * j->elements;
    if (!(rows.weight = j->weight ? spread(k, j, j->weight) : rl_norm_vector(k, NULL, all, 1)) ||
        rl_norm_back_statistics(k, mean, scale, &rows) != RL_OK || rl_norm_back_run(k, &rows) != RL_OK)
        return RL_FAIL;
    for (int out = 1; out <= 2; out++) {
        const double *from = rows.parts[out - 1];
        for (int64_t c = 0; c < j->channels; c++) {
            double sum = 0;
            for (int64_t i = 0; i < j->elements; i++) sum += *from++;
            j->made[out][c] = (float)sum;
        }
    }
    return RL_OK;
}

/* what forward kept; false (reported) without memory */
static rl_status kept_read(rl_call *k, const rl_view *mean, const rl_view *scale, group_job *j) {
    j->given = true;
    const float *from[2] = {simd_floats_of(k, mean), simd_floats_of(k, scale)};
    if (!from[0] || !from[1]) return RL_FAIL;
    for (int64_t g = 0; g < j->samples * j->groups; g++)
        j->center[g] = (double)from[0][g], j->scale[g] = (double)from[1][g];
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_group_norm_back) {
    const rl_view *mean = rl_in(k, 2), *scale = rl_in(k, 3);
    group_job j = {.groups = k->attr[3], .eps = rl_num(k, 6)};
    if (!simd_is_floats(mean) || !simd_is_floats(scale)) return RL_UNSUPPORTED;
    rl_status status = group_read(k, rl_in(k, 1), rl_in(k, 4), NULL, &j);
    if (status != RL_OK) return status;
    if (!(j.grad = simd_floats_of(k, rl_in(k, 0)))) return RL_FAIL;
    if (j.elements < SHORT_LINE)
        return short_lines_back(k, &j, mean, scale) == RL_OK ? simd_results_end(k, 0, j.made) : RL_FAIL;
    j.dots = k->svc->scratch(k, RL_COUNT(j.samples, j.channels), sizeof *j.dots);
    j.of_p = k->svc->scratch(k, RL_COUNT(j.samples, j.groups), sizeof *j.of_p);
    j.of_q = k->svc->scratch(k, RL_COUNT(j.samples, j.groups), sizeof *j.of_q);
    if (!j.dots || !j.of_p || !j.of_q || group_room(k, &j) != RL_OK) return RL_FAIL;
    bool given = mean && scale && mean->numel && scale->numel;
    if ((given && kept_read(k, mean, scale, &j) != RL_OK) || group_back_run(k, &j) != RL_OK) return RL_FAIL;
    samples_join(&j);
    return simd_results_end(k, 0, j.made);
}
