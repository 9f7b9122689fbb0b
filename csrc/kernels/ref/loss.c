/* Losses that work element by element or with a margin, and their gradients, in double. */
#include "loops.h"
#include <float.h>
#include <math.h>

/* ---- losses that work element by element, and their gradients, in double ---- */
/* Note [Element losses]
 * Such a loss is two expressions: its value at a place, and its slope. A is the input, B the target and what
 * follows are weights; of the slope A is the gradient, and the others come one later. A weight that is absent
 * is 1.
 *
 *     reduction 0     each value is stored
 *               1, 2  the values are added up, in one pass and in pieces that the sizes alone decide
 *     gradient        slope * factor, which is 1 over the number of places after a mean */
enum { NONE, MEAN, PART = 256, OPERANDS = 5 };
typedef double loss_part[OPERANDS][PART];
typedef struct {
    void (*row)(loss_part v, int64_t n, const double *s); /* to v[0] */
    int dtype, operands;
    int place[OPERANDS]; /* which operand of the walk it is, 0: absent */
    double s[3];         /* numbers of the expression */
} loss_job;

#define A v[0][i]
#define B v[1][i]
#define C v[2][i]
#define D v[3][i]
#define E v[4][i]
#define ROW(name, expression)                                                                                \
    static void row_##name(loss_part v, int64_t n, const double *s) {                                        \
        (void)s;                                                                                             \
        for (int64_t i = 0; i < n; i++) A = (expression);                                                    \
    }

/* ---- values and slopes: s[0] is the factor of a slope, other numbers of the call come before and after it
 * ---- */
static double within(double x, double border) { /* NaN stays NaN */
    return x <= -border ? -border : x >= border ? border : x;
}
static double bowl(double gap, double border) {
    return gap < border ? 0.5 * gap * gap : border * (gap - 0.5 * border);
}
ROW(mse_loss, (A - B) * (A - B))
ROW(mse_loss_backward, 2 * (B - C) * A * s[0])
ROW(l1_loss, fabs(A - B))
ROW(l1_loss_backward, ((B > C) - (B < C)) * A * s[0])
ROW(huber_loss, bowl(fabs(A - B), s[0]))
ROW(huber_loss_backward, within(B - C, s[1]) * A * s[0])
ROW(smooth_l1_loss, s[0] > 0 ? bowl(fabs(A - B), s[0]) / s[0] : fabs(A - B))
ROW(smooth_l1_loss_backward, (B - C <= -s[1] ? -1 : B - C >= s[1] ? 1 : (B - C) / s[1]) * A * s[0])

/* s: the largest number of the dtype, from which on PyTorch's exp() is infinite */
static double decay(double x, double largest) {
    const double z = exp(x);
    return z > largest ? (double)INFINITY : z;
}
ROW(soft_margin_loss, log1p(decay(-A *B, s[1])))
ROW(soft_margin_loss_backward, ({
        const double z = decay(-B * C, s[1]);
        -C *z / (1 + z) * A *s[0];
    }))

ROW(kl_div, (B == 0 ? 0 : B * log(B)) - B * A)
ROW(kl_div_log, exp(B) * (B - A))
ROW(kl_div_backward, -C * A * s[0])
ROW(kl_div_log_backward, -exp(C) * A * s[0])

ROW(binary_cross_entropy, C *((B - 1) * fmax(log1p(-A), -100) - B * fmax(log(A), -100)))
ROW(binary_cross_entropy_backward, A *(B - C) / fmax((1 - B) * B, 1e-12) * D * s[0])

static double log_sigmoid(double x) {
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}
ROW(binary_cross_entropy_with_logits, C * ((1 - B) * A - ((D - 1) * B + 1) * (isnan(A) ? A : log_sigmoid(A))))
ROW(binary_cross_entropy_with_logits_backward, A * D * s[0] * ((E * C + 1 - C) / (1 + exp(-B)) - E * C))

/* ---- rows of any dtype ---- */
static void read_part(const loss_job *j, char *const *p, const int64_t *step, int64_t at, int64_t count,
                      loss_part v) {
    for (int i = 0; i < j->operands; i++) {
        const int place = j->place[i];
        if (place)
            rl_row_doubles(j->dtype, p[place] + at * step[place], step[place], count, v[i]);
        else
            for (int64_t n = 0; n < count; n++) v[i][n] = 1;
    }
    j->row(v, count, j->s);
}

static int64_t part_size(int64_t left) {
    return left < PART ? left : PART;
}

static void store_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const loss_job *j = ctx;
    loss_part v;
    for (int64_t at = 0; at < n; at += PART) {
        read_part(j, p, step, at, part_size(n - at), v);
        rl_row_put_doubles(j->dtype, p[0] + at * step[0], step[0], part_size(n - at), v[0]);
    }
}

static double total_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    loss_part v;
    double total = 0;
    for (int64_t at = 0; at < n; at += PART) {
        const int64_t count = part_size(n - at);
        read_part(ctx, p, step, at, count, v);
        for (int64_t i = 0; i < count; i++) total += v[0][i];
    }
    return total;
}

/* ---- a whole call ---- */
/* arguments from 0 on are the operands */
static void add_operands(rl_call *k, loss_job *j, rl_iter *w) {
    j->dtype = rl_tensor_arg(k, 0)->dtype;
    for (int i = 0; i < j->operands; i++) {
        j->place[i] = rl_in(k, i) ? w->nops : 0;
        if (rl_in(k, i)) rl_iter_add(w, rl_in(k, i));
    }
}

static rl_status loss_values(rl_call *k, loss_job j, int reduction) {
    rl_iter w;
    const rl_view *out = k->out[0];
    if (k->arg[reduction].u.i == NONE) {
        rl_iter_begin(&w, out, RL_WRITE);
        add_operands(k, &j, &w);
        rl_iter_each(k, &w, 10, store_loop, &j);
        return RL_OK;
    }
    rl_iter_over(&w, k->arg[0].u.t, k->arg[1].u.t);
    add_operands(k, &j, &w);
    rl_iter_merge(&w);
    const int64_t places = w.numel;
    const double total = rl_iter_total(k, &w, 10, total_loop, &j);
    rl_row_put_double(out->dtype, rl_data(out, RL_WRITE),
                      k->arg[reduction].u.i == MEAN ? total / (double)places : total);
    return RL_OK;
}

static rl_status loss_slopes(rl_call *k, loss_job j, int reduction) {
    rl_iter w;
    const rl_view *out = k->out[0];
    j.s[0] = k->arg[reduction].u.i == MEAN ? 1 / (double)out->numel : 1;
    rl_iter_begin(&w, out, RL_WRITE);
    add_operands(k, &j, &w);
    rl_iter_each(k, &w, 10, store_loop, &j);
    return RL_OK;
}

static double largest(const rl_call *k) {
    return rl_tensor_arg(k, 0)->dtype == RL_F64 ? DBL_MAX : (double)FLT_MAX;
}

#define JOB(name, count, ...) ((loss_job){.row = row_##name, .operands = count, .s = {__VA_ARGS__}})
#define VALUES(name, reduction, ...)                                                                         \
    RL_KERNEL(ref_##name) {                                                                                  \
        return loss_values(k, JOB(name, 2, __VA_ARGS__), reduction);                                         \
    }
#define SLOPES(name, reduction, ...)                                                                         \
    RL_KERNEL(ref_##name##_backward) {                                                                       \
        return loss_slopes(k, JOB(name##_backward, 3, 0, __VA_ARGS__), reduction);                           \
    }
VALUES(mse_loss, 2, 0)
SLOPES(mse_loss, 3, 0)
VALUES(l1_loss, 2, 0)
SLOPES(l1_loss, 3, 0)
VALUES(huber_loss, 2, rl_num(k, 3))
SLOPES(huber_loss, 3, rl_num(k, 4))
VALUES(smooth_l1_loss, 2, rl_num(k, 3))
SLOPES(smooth_l1_loss, 3, rl_num(k, 4))
VALUES(soft_margin_loss, 2, 0, largest(k))
SLOPES(soft_margin_loss, 3, largest(k))

RL_KERNEL(ref_kl_div) {
    return loss_values(k, k->arg[3].u.i ? JOB(kl_div_log, 2, 0) : JOB(kl_div, 2, 0), 2);
}
RL_KERNEL(ref_kl_div_backward) {
    return loss_slopes(k, k->arg[4].u.i ? JOB(kl_div_log_backward, 3, 0) : JOB(kl_div_backward, 3, 0), 3);
}

/* ---- of probabilities ---- */
static double outside_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const loss_job *j = ctx;
    double x[PART], outside = 0;
    for (int64_t at = 0; at < n; at += PART) {
        const int64_t count = part_size(n - at);
        rl_row_doubles(j->dtype, p[1] + at * step[1], step[1], count, x);
        for (int64_t i = 0; i < count; i++) outside += !(x[i] >= 0 && x[i] <= 1);
    }
    return outside;
}

static bool any_outside(rl_call *k, const rl_view *v) {
    const loss_job j = {.dtype = v->dtype};
    rl_iter w;
    rl_iter_over(&w, v, v);
    rl_iter_add(&w, v);
    rl_iter_merge(&w);
    return rl_iter_total(k, &w, 1, outside_loop, &j) > 0;
}

RL_KERNEL(ref_binary_cross_entropy) {
    for (int i = 0; i < 2; i++)
        if (any_outside(k, k->arg[i].u.t))
            return rl_fail(k, RL_RUNTIME, "all elements of %s should be between 0 and 1",
                           i ? "target" : "input");
    return loss_values(k, JOB(binary_cross_entropy, 3, 0), 3);
}
RL_KERNEL(ref_binary_cross_entropy_backward) {
    return loss_slopes(k, JOB(binary_cross_entropy_backward, 4, 0), 4);
}

RL_KERNEL(ref_binary_cross_entropy_with_logits) {
    return loss_values(k, JOB(binary_cross_entropy_with_logits, 4, 0), 4);
}
RL_KERNEL(ref_binary_cross_entropy_with_logits_backward) {
    return loss_slopes(k, JOB(binary_cross_entropy_with_logits_backward, 5, 0), 5);
}

/* ---- losses with a margin, in double. attr[0]: samples, attr[1]: classes ---- */
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
