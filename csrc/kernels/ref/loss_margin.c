/* Losses with a margin, in double. attr[0]: samples, attr[1]: classes. */
#include "loops.h"

enum { NONE, MEAN };

/* A sample: what its loss adds up to, and the slope of that by each input. Its targets are copied, so that
 * what was checked is what is used. */
typedef struct {
    double *x, *slope, *each; /* each: room of as many */
    int64_t *target;
    double loss;
} margin_sample;
typedef struct margin_job margin_job;
struct margin_job {
    bool (*sample)(const margin_job *j, margin_sample *s); /* false: a target is no class */
    const rl_view *x, *target, *weight, *grad;
    int64_t classes, labels; /* labels: targets of a sample */
    bool squared;
    double margin, share; /* share: what a slope is times */
    rl_rooms rooms;       /* of each thread a sample, whose parts begin at ... */
    int64_t x_at, slope_at, each_at, target_at;
    double *loss; /* of each sample; or NULL: slopes are wanted */
    char *to;
    int outside;
};

static double row_total(const double *v, int64_t n) {
    double part[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; lane++) part[lane] += v[i + lane];
    for (; i < n; i++) part[0] += v[i];
    return part[0] + part[1] + (part[2] + part[3]);
}

static bool multi_sample(const margin_job *j, margin_sample *s) {
    const int64_t target = s->target[0], n = j->classes;
    if (target < 0 || target >= n) return false;
    const double weight = j->weight ? rl_vector_at(j->weight, target) : 1, base = j->margin - s->x[target];
    for (int64_t c = 0; c < n; c++) {
        const double z = base + s->x[c];
        s->each[c] = z > 0 ? z : 0;
    }
    if (j->squared)
        for (int64_t c = 0; c < n; c++) s->slope[c] = 2 * weight * s->each[c], s->each[c] *= s->each[c];
    else
        for (int64_t c = 0; c < n; c++) s->slope[c] = s->each[c] > 0 ? weight : 0;
    s->each[target] = s->slope[target] = 0;
    s->loss = weight * row_total(s->each, n);
    s->slope[target] = 0 - row_total(s->slope, n); /* 0, not -0, of a sample without a loss */
    return true;
}

/* each: is a class no target? */
static bool multilabel_sample(const margin_job *j, margin_sample *s) {
    const int64_t n = j->classes;
    int64_t labels = 0;
    for (int64_t c = 0; c < n; c++) {
        if (s->target[c] < -1 || s->target[c] >= n) return false;
        s->slope[c] = 0, s->each[c] = 1;
    }
    for (; labels < n && s->target[labels] >= 0; labels++) s->each[s->target[labels]] = 0;
    for (int64_t i = 0; i < labels; i++) {
        const double base = 1 - s->x[s->target[i]];
        double loss = 0, count = 0;
        for (int64_t c = 0; c < n; c++) {
            const double z = base + s->x[c], rises = z > 0 ? s->each[c] : 0;
            loss += rises > 0 ? z : 0, count += rises;
            s->slope[c] += rises;
        }
        s->loss += loss;
        s->slope[s->target[i]] -= count;
    }
    return true;
}

/* ---- sample after sample ---- */
static const char *row_of(const rl_view *v, int64_t i, int64_t *step) {
    const int64_t item = rl_itemsize(v->dtype);
    *step = v->ndim ? v->strides[v->ndim - 1] * item : 0;
    return (const char *)rl_const_data(v) + i * (v->ndim > 1 ? v->strides[0] * item : *step);
}

static void margin_part(void *ctx, int64_t begin, int64_t end, int thread) {
    margin_job *j = ctx;
    const int64_t n = j->classes, item = rl_itemsize(j->x->dtype);
    char *room = rl_room(&j->rooms, thread);
    margin_sample s = {.x = (double *)(room + j->x_at),
                       .slope = (double *)(room + j->slope_at),
                       .each = (double *)(room + j->each_at),
                       .target = (int64_t *)(room + j->target_at)};
    for (int64_t i = begin; i < end; i++) {
        int64_t step;
        const char *row = row_of(j->x, i, &step);
        rl_row_doubles(j->x->dtype, row, step, n, s.x);
        row = row_of(j->target, i, &step);
        rl_row_ints(RL_I64, row, step, j->labels, s.target);
        s.loss = 0;
        if (!j->sample(j, &s)) {
            __atomic_store_n(&j->outside, 1, __ATOMIC_RELAXED);
            return;
        }
        if (j->loss) {
            j->loss[i] = s.loss / (double)n;
            continue;
        }
        const double grad = rl_vector_at(j->grad, j->grad->numel > 1 ? i : 0) * j->share;
        for (int64_t c = 0; c < n; c++) s.slope[c] *= grad;
        rl_row_put_doubles(j->x->dtype, j->to + i * n * item, item, n, s.slope);
    }
}

static rl_layout margin_layout(const rl_call *k, margin_job *j) {
    rl_layout l = rl_layout_begin(k);
    j->x_at = rl_layout_add(&l, RL_COUNT(j->classes), sizeof(double));
    j->slope_at = rl_layout_add(&l, RL_COUNT(j->classes), sizeof(double));
    j->each_at = rl_layout_add(&l, RL_COUNT(j->classes), sizeof(double));
    j->target_at = rl_layout_add(&l, RL_COUNT(j->labels), sizeof(int64_t));
    return l;
}

/* the losses of all samples, or the slopes; what is said of a target that is no class */
static rl_status margin_run(rl_call *k, margin_job *j, const char *outside) {
    j->classes = k->attr[1];
    const rl_layout l = margin_layout(k, j);
    if (!k->svc->rooms(k, &l, k->threads, &j->rooms)) return RL_FAIL;
    k->svc->parallel(k, k->attr[0], 2 * (double)j->classes, margin_part, j);
    return j->outside ? rl_fail(k, RL_RUNTIME, "%s", outside) : RL_OK;
}

static rl_status margin_values(rl_call *k, margin_job *j, int64_t reduction, const char *outside) {
    const rl_view *out = k->out[0];
    const int64_t n = k->attr[0], item = rl_itemsize(out->dtype);
    double total = 0;
    j->x = k->arg[0].u.t, j->target = k->arg[1].u.t;
    if (!(j->loss = k->svc->scratch(k, RL_COUNT(n), sizeof *j->loss)) || margin_run(k, j, outside) != RL_OK)
        return RL_FAIL;
    if (reduction == NONE) {
        rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), item, n, j->loss);
        return RL_OK;
    }
    for (int64_t i = 0; i < n; i++) total += j->loss[i];
    rl_row_put_double(out->dtype, rl_data(out, RL_WRITE), reduction == MEAN && n ? total / (double)n : total);
    return RL_OK;
}

static rl_status margin_slopes(rl_call *k, margin_job *j, int64_t reduction, const char *outside) {
    j->grad = k->arg[0].u.t, j->x = k->arg[1].u.t, j->target = k->arg[2].u.t;
    j->share = 1 / (double)k->attr[1] / (reduction == MEAN ? (double)k->attr[0] : 1);
    j->to = rl_data(k->out[0], RL_WRITE);
    return margin_run(k, j, outside);
}

/* ---- (input, target, p, margin, weight, reduction) ---- */
static const char *const no_class = "target out of range";
static margin_job multi_job(const rl_call *k, int first) {
    return (margin_job){.sample = multi_sample,
                        .labels = 1,
                        .squared = rl_int(k, first + 2) == 2,
                        .margin = rl_num(k, first + 3),
                        .weight = rl_in(k, first + 4)};
}

RL_KERNEL(ref_multi_margin_loss) {
    margin_job j = multi_job(k, 0);
    return margin_values(k, &j, k->arg[5].u.i, no_class);
}
RL_KERNEL(ref_multi_margin_loss_backward) {
    margin_job j = multi_job(k, 1);
    return margin_slopes(k, &j, k->arg[6].u.i, no_class);
}

/* ---- (input, target, reduction) ---- */
static const char *const no_label = "argument #2 'target' is out of range";

RL_KERNEL(ref_multilabel_margin_loss) {
    margin_job j = {.sample = multilabel_sample, .labels = k->attr[1]};
    return margin_values(k, &j, k->arg[2].u.i, no_label);
}
RL_KERNEL(ref_multilabel_margin_loss_backward) {
    margin_job j = {.sample = multilabel_sample, .labels = k->attr[1]};
    return margin_slopes(k, &j, k->arg[3].u.i, no_label);
}
