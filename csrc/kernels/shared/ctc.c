/* See Note [Lattice]. attr[0]: the length of the longest target. */
#include "ctc.h"
#include <math.h>
#include <string.h>

enum { PADS = 2 * RL_CTC_PAD };

/* ---- what the arguments say ---- */
typedef struct {
    const rl_ctc_rows *rows;
    const rl_view *logs, *targets;
    rl_ints times, lengths;                 /* of each example */
    const int64_t *offsets;                 /* in the targets, in elements */
    int64_t blank, classes, longest, width; /* width: numbers of a row */
    rl_rooms rooms;                         /* of each thread, whose parts begin at ... */
    int64_t from, to, skip, logs_at, labels, share, powers;
    bool zero_infinity;
    /* alpha and the loss, (N, T, S) and (N), which forward writes; the gradient and that of the loss */
    const rl_view *alpha, *loss, *out, *grad;
    int faulty;
    int64_t fault; /* a label that there is not */
} job;

static double element(const rl_view *v, int64_t at) {
    return v->dtype == RL_F64 ? ((const double *)rl_const_data(v))[at]
                              : ((const float *)rl_const_data(v))[at];
}
static void put_element(const rl_view *v, int64_t at, double x) {
    if (v->dtype == RL_F64)
        ((double *)rl_data(v, RL_WRITE))[at] = x;
    else
        ((float *)rl_data(v, RL_WRITE))[at] = (float)x;
}

/* ---- one example ---- */
typedef struct {
    const job *j;
    int64_t example, times, states;
    const int64_t *labels; /* of the states */
    double *from, *to, *skip, *logs;
    double *share, *powers; /* of each class; powers also of each state */
} lattice;

static void row_clear(double *row, int64_t width) {
    for (int64_t i = -RL_CTC_PAD; i < width - RL_CTC_PAD; i++) row[i] = -INFINITY;
}

/* Another thread may write into the targets: each label is read once, then checked. */
static bool labels_read(job *j, const lattice *l, int64_t *labels) {
    const rl_view *t = j->targets;
    const int64_t step = t->strides[t->ndim - 1], *from = rl_const_data(t);
    const int32_t *narrow = rl_const_data(t);
    for (int64_t s = 0; s < l->states; s++) {
        const int64_t at = j->offsets[l->example] + s / 2 * step;
        labels[s] = j->blank;
        if (s % 2 == 0) continue;
        labels[s] = t->dtype == RL_I64 ? __atomic_load_n(from + at, __ATOMIC_RELAXED)
                                       : __atomic_load_n(narrow + at, __ATOMIC_RELAXED);
        if ((uint64_t)labels[s] < (uint64_t)j->classes) continue;
        if (!__atomic_exchange_n(&j->faulty, 1, __ATOMIC_RELAXED)) j->fault = labels[s];
        return false;
    }
    return true;
}

static bool lattice_begin(job *j, lattice *l, int64_t example, int thread) {
    char *room = rl_room(&j->rooms, thread);
    int64_t *labels = (int64_t *)(room + j->labels);
    *l = (lattice){j,
                   example,
                   .times = j->times.at[example],
                   .states = 2 * j->lengths.at[example] + 1,
                   labels,
                   (double *)(room + j->from) + RL_CTC_PAD,
                   .to = (double *)(room + j->to) + RL_CTC_PAD,
                   .skip = (double *)(room + j->skip) + RL_CTC_PAD,
                   .logs = (double *)(room + j->logs_at) + RL_CTC_PAD};
    l->share = (double *)(room + j->share);
    l->powers = (double *)(room + j->powers);
    if (!labels_read(j, l, labels)) return false;
    row_clear(l->from, j->width);
    row_clear(l->to, j->width);
    row_clear(l->skip, j->width);
    row_clear(l->logs, j->width);
    for (int64_t s = 3; s < l->states; s += 2) l->skip[s] = labels[s] == labels[s - 2] ? -INFINITY : 0;
    return true;
}

/* element (t, example, class) of a tensor of (T, N, C) */
static int64_t place(const lattice *l, const rl_view *v, int64_t t, int64_t class) {
    return t * v->strides[0] + l->example * v->strides[1] + class * v->strides[2];
}

/* logs[s] = the logarithm of the state's label at time t; backward: of the states from the last to the first
 */
static void logs_read(const lattice *l, int64_t t, bool backward) {
    const rl_view *v = l->j->logs;
    const int64_t begin = place(l, v, t, 0), last = l->states - 1;
    const double blank = element(v, begin + l->j->blank * v->strides[2]);
    l->logs[last] = blank;
    for (int64_t s = 0; s < last; s += 2) {
        l->logs[s] = blank;
        l->logs[s + 1] = element(v, begin + l->labels[backward ? last - 1 - s : s + 1] * v->strides[2]);
    }
}

/* the row before the first step: paths begin with the first blank or with the first label */
static void row_begin(const lattice *l, bool backward) {
    logs_read(l, backward ? l->times - 1 : 0, backward);
    l->to[0] = l->logs[0];
    if (l->states > 1) l->to[1] = l->logs[1];
}

static void row_step(lattice *l, int64_t t, bool backward) {
    double *from = l->to;
    l->to = l->from, l->from = from;
    logs_read(l, t, backward);
    l->j->rows->step(l->to, l->from, l->skip, l->logs, l->states);
}

/* ---- forward ---- */
static void alpha_write(const lattice *l, int64_t t, int64_t states) {
    const rl_view *v = l->j->alpha;
    const int64_t all = v->shape[2], at = (l->example * v->shape[1] + t) * all;
    for (int64_t s = 0; s < all; s++) put_element(v, at + s, s < states ? l->to[s] : -INFINITY);
}

static double log_add(double a, double b) {
    const double most = a > b ? a : b;
    return most == -INFINITY ? most : log(exp(a - most) + exp(b - most)) + most;
}

static double loss_of(const lattice *l) {
    const int64_t last = l->states - 1;
    if (l->times == 0) return last ? INFINITY : -0.0;
    return -(last ? log_add(l->to[last], l->to[last - 1]) : l->to[0]);
}

static void forward_part(void *ctx, int64_t begin, int64_t end, int thread) {
    job *j = ctx;
    for (int64_t b = begin; b < end; b++) {
        lattice l;
        if (!lattice_begin(j, &l, b, thread)) return;
        for (int64_t t = 0; t < l.times; t++) {
            if (t == 0)
                row_begin(&l, false);
            else
                row_step(&l, t, false);
            alpha_write(&l, t, l.states);
        }
        for (int64_t t = l.times; t < j->alpha->shape[1]; t++) alpha_write(&l, t, 0);
        put_element(j->loss, b, loss_of(&l));
    }
}

/* ---- backward ---- */
/* The gradient at time t is that of the logarithms before log_softmax(), as PyTorch has it: exp(logs) less
 * the share of the paths that pass through the class, times the gradient of the loss. */
static void gradient_write(const lattice *l, int64_t t, double loss, double grad) {
    const job *j = l->j;
    const int64_t classes = j->classes, states = l->states, *step = j->alpha->strides;
    const int64_t alpha = l->example * step[0] + t * step[1];
    double *share = l->share, *powers = l->powers;
    for (int64_t s = 0; s < states; s++) {
        const double beta = l->to[states - 1 - s] - l->logs[states - 1 - s];
        powers[s] = element(j->alpha, alpha + s * step[2]) + beta + loss;
    }
    j->rows->powers(powers, states);
    memset(share, 0, (size_t)classes * sizeof *share);
    for (int64_t s = 0; s < states; s++) share[l->labels[s]] += powers[s];
    for (int64_t c = 0; c < classes; c++) powers[c] = element(j->logs, place(l, j->logs, t, c));
    for (int64_t c = 0; c < classes; c++)
        if (powers[c] == -INFINITY) share[c] = NAN;
    j->rows->powers(powers, classes);
    for (int64_t c = 0; c < classes; c++)
        put_element(j->out, place(l, j->out, t, c), (powers[c] - share[c]) * grad);
}

static void gradient_fill(const lattice *l, int64_t begin, int64_t end, double value) {
    const rl_view *out = l->j->out;
    for (int64_t t = begin; t < end; t++)
        for (int64_t c = 0; c < out->shape[2]; c++) put_element(out, place(l, out, t, c), value);
}

static void skip_turn(const lattice *l) {
    for (int64_t s = 3; s < l->states; s += 2)
        l->skip[s] = l->labels[l->states - 1 - s] == l->labels[l->states + 1 - s] ? -INFINITY : 0;
}

static void backward_part(void *ctx, int64_t begin, int64_t end, int thread) {
    job *j = ctx;
    for (int64_t b = begin; b < end; b++) {
        lattice l;
        const double loss = element(j->loss, b * j->loss->strides[0]);
        const double grad = element(j->grad, b * j->grad->strides[0]);
        if (!lattice_begin(j, &l, b, thread)) return;
        gradient_fill(&l, l.times, j->out->shape[0], 0);
        if (!(loss < INFINITY)) {
            gradient_fill(&l, 0, l.times, j->zero_infinity && loss == INFINITY ? 0 : NAN);
            continue;
        }
        skip_turn(&l);
        for (int64_t t = l.times - 1; t >= 0; t--) {
            if (t == l.times - 1)
                row_begin(&l, true);
            else
                row_step(&l, t, true);
            gradient_write(&l, t, loss, grad);
        }
    }
}

/* ---- both ---- */
static rl_layout lattice_layout(const rl_call *k, job *j) {
    const rl_count states = rl_count_plus(RL_COUNT(2, j->longest), 1), row = rl_count_plus(states, PADS);
    rl_layout l = rl_layout_begin(k);
    j->width = row.n;
    j->from = rl_layout_add(&l, row, sizeof(double));
    j->to = rl_layout_add(&l, row, sizeof(double));
    j->skip = rl_layout_add(&l, row, sizeof(double));
    j->logs_at = rl_layout_add(&l, row, sizeof(double));
    j->labels = rl_layout_add(&l, states, sizeof(int64_t));
    if (!j->grad) return l;
    const rl_count most = states.n > j->classes ? states : RL_COUNT(j->classes);
    j->share = rl_layout_add(&l, RL_COUNT(j->classes), sizeof(double));
    j->powers = rl_layout_add(&l, rl_count_plus(most, RL_CTC_PAD), sizeof(double));
    return l;
}

static rl_status begin(rl_call *k, job *j) {
    const rl_view *t = j->targets;
    const int64_t n = j->logs->shape[1], step = t->strides[0];
    int64_t *offsets = k->svc->scratch(k, RL_COUNT(n), sizeof *offsets), at = 0;
    if (!offsets) return RL_FAIL;
    for (int64_t b = 0; b < n; b++) {
        offsets[b] = (t->ndim == 1 ? at : b) * step;
        at += j->lengths.at[b];
    }
    j->offsets = offsets, j->longest = k->attr[0], j->classes = j->logs->shape[2];
    const rl_layout l = lattice_layout(k, j);
    return k->svc->rooms(k, &l, k->threads, &j->rooms) ? RL_OK : RL_FAIL;
}

static rl_status run(rl_call *k, job *j, void (*part)(void *, int64_t, int64_t, int)) {
    const double states = (double)(2 * j->longest + 1), work = (double)j->logs->shape[0] * states;
    if (begin(k, j) != RL_OK) return RL_FAIL;
    k->svc->parallel(k, j->logs->shape[1], work * j->rows->ns, part, j);
    return j->faulty ? rl_fail(k, RL_INDEX, "Target %lld is out of bounds.", (long long)j->fault) : RL_OK;
}

rl_status rl_ctc_loss(rl_call *k, const rl_ctc_rows *rows) {
    job j = {.rows = rows, .logs = rl_in(k, 0), .targets = rl_in(k, 1), .times = rl_ints_of(k, 2)};
    j.lengths = rl_ints_of(k, 3), j.blank = k->arg[4].u.i;
    j.loss = k->out[0], j.alpha = k->out[1];
    return run(k, &j, forward_part);
}

rl_status rl_ctc_loss_backward(rl_call *k, const rl_ctc_rows *rows) {
    job j = {.rows = rows, .logs = rl_in(k, 1), .targets = rl_in(k, 2), .times = rl_ints_of(k, 3)};
    j.lengths = rl_ints_of(k, 4), j.blank = k->arg[7].u.i, j.zero_infinity = k->arg[8].u.i;
    j.loss = rl_in(k, 5), j.alpha = rl_in(k, 6), j.grad = rl_in(k, 0), j.out = k->out[0];
    return run(k, &j, backward_part);
}
