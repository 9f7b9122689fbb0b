/* Gradients of normalisations, in double.
 *
 * Note [Lines]
 *   The input is (samples, channels, elements); a line is one channel of one sample. Statistics belong to a
 *   group of lines: channels of one sample (layer_norm, rms_norm: all of them), or one channel of all
 * samples. With h = (x - mean) / deviation and g the gradient of the output, each line gives P = sum g, Q =
 * sum g h: gradient by bias    sum of P over samples          by weight   sum of Q over samples by input (g w
 * - mean of w P - h * mean of w Q) / deviation, means over the group */
#include "loops.h"
#include <float.h>
#include <math.h>
#include <string.h>

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

static void read_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reader *r = (reader *)ctx;
    rl_row_doubles(r->dtype, p[0], step[0], n, r->to);
    r->to += n;
}

/* room for n numbers, filled from v when there is one; NULL without memory */
static double *numbers(rl_call *k, const rl_view *v, int64_t n) {
    reader r = {.to = k->svc->scratch(k, RL_COUNT(n), sizeof(double))};
    double *room = r.to;
    if (!room || !v || v->numel == 0) return room;
    rl_walk w;
    r.dtype = v->dtype;
    rl_walk_begin(&w, v, RL_READ);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, v->numel, read_strip, &r);
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
