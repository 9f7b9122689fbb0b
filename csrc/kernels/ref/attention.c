/* Attention row by row, in doubles: Note [Attention] in kernels/shared/attention.h. */
#include "kernels/shared/attention.h"
#include "loops.h"
#include <string.h>

typedef struct {
    rl_attention a;
    const rl_view *out, *lse, *grad_out, *made[3]; /* grad_out: of the results; NULL: forward */
    rl_rooms rooms;                                /* of each thread, whose parts begin at ... */
    int64_t query, row, grad, weights, slopes, sum, by_keys, by_values;
} job;

/* what a thread works on */
typedef struct {
    double *query, *row, *grad, *weights, *slopes, *sum;
    double *by_keys, *by_values; /* the gradients of all keys and of all values */
} work;

static work work_of(const job *s, int thread) {
    char *room = rl_room(&s->rooms, thread);
    return (work){(double *)(room + s->query),   (double *)(room + s->row),      (double *)(room + s->grad),
                  (double *)(room + s->weights), (double *)(room + s->slopes),   (double *)(room + s->sum),
                  (double *)(room + s->by_keys), (double *)(room + s->by_values)};
}

static rl_layout work_layout(const rl_call *k, job *s) {
    const rl_attention *a = &s->a;
    rl_layout l = rl_layout_begin(k);
    s->query = rl_layout_add(&l, RL_COUNT(a->width), sizeof(double));
    s->row = rl_layout_add(&l, RL_COUNT(a->width > a->wide ? a->width : a->wide), sizeof(double));
    s->weights = rl_layout_add(&l, RL_COUNT(a->keys), sizeof(double));
    s->sum = rl_layout_add(&l, RL_COUNT(s->grad_out ? a->width : a->wide), sizeof(double));
    if (!s->grad_out) return l;
    s->grad = rl_layout_add(&l, RL_COUNT(a->wide), sizeof(double));
    s->slopes = rl_layout_add(&l, RL_COUNT(a->keys), sizeof(double));
    s->by_keys = rl_layout_add(&l, RL_COUNT(a->keys, a->width), sizeof(double));
    s->by_values = rl_layout_add(&l, RL_COUNT(a->keys, a->wide), sizeof(double));
    return l;
}

/* row i of a batch's matrix */
static void row_load(const rl_view *v, const char *batch, int64_t i, double *to) {
    const int64_t item = rl_itemsize(v->dtype), *s = v->strides + v->ndim - 2;
    rl_row_doubles(v->dtype, batch + i * s[0] * item, s[1] * item, v->shape[v->ndim - 1], to);
}
static void row_put(const rl_view *v, char *batch, int64_t i, const double *from) {
    const int64_t item = rl_itemsize(v->dtype), *s = v->strides + v->ndim - 2;
    rl_row_put_doubles(v->dtype, batch + i * s[0] * item, s[1] * item, v->shape[v->ndim - 1], from);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* the batch's scores of a row, for the keys that it sees; `row` has room for a key */
static void scores_of(const rl_attention *a, int64_t batch, int64_t i, const double *query, double *row,
                      double *to) {
    const char *keys = rl_attention_at(a, a->key, 2, batch, RL_READ);
    const int64_t n = rl_attention_seen(a, i), item = a->mask ? rl_itemsize(a->mask->dtype) : 0;
    const char *mask =
        a->mask ? rl_attention_at(a, a->mask, 2, batch, RL_READ) + i * a->mask_row * item : NULL;
    for (int64_t j = 0; j < n; j++) {
        row_load(a->key, keys, j, row);
        to[j] = a->scale * dot(query, row, a->width);
        if (!mask) continue;
        const double m = rl_row_double(a->mask->dtype, mask + j * a->mask_col * item);
        if (a->mask->dtype != RL_BOOL)
            to[j] += m;
        else if (m == 0)
            to[j] = -INFINITY;
    }
}

/* Scores to weights; the logarithm of what they were divided by. */
static double weights_of(double *x, int64_t n) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++)
        if (x[j] > most || x[j] != x[j]) most = x[j];
    for (int64_t j = 0; j < n; j++) sum += x[j] = most == -INFINITY ? 0 : exp(x[j] - most);
    for (int64_t j = 0; j < n && sum != 0; j++) x[j] /= sum;
    return most == -INFINITY ? 0 : most + log(sum);
}

static void forward(void *ctx, int64_t begin, int64_t end, int thread) {
    const job *s = ctx;
    const rl_attention *a = &s->a;
    const work w = work_of(s, thread);
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / a->rows, i = at % a->rows, n = rl_attention_seen(a, i);
        const char *values = rl_attention_at(a, a->value, 2, batch, RL_READ);
        row_load(a->query, rl_attention_at(a, a->query, 2, batch, RL_READ), i, w.query);
        scores_of(a, batch, i, w.query, w.row, w.weights);
        const double lse = weights_of(w.weights, n);
        memset(w.sum, 0, (size_t)a->wide * sizeof *w.sum);
        for (int64_t j = 0; j < n; j++) {
            row_load(a->value, values, j, w.row);
            for (int64_t c = 0; c < a->wide && w.weights[j] != 0; c++) w.sum[c] += w.weights[j] * w.row[c];
        }
        row_put(s->out, rl_attention_at(a, s->out, 2, batch, RL_WRITE), i, w.sum);
        rl_row_put_double(s->lse->dtype, (char *)rl_data(s->lse, RL_WRITE) + at * rl_itemsize(s->lse->dtype),
                          lse);
    }
}

/* to[] += weight * row[] */
static void add_row(double *to, double weight, const double *row, int64_t n) {
    for (int64_t c = 0; c < n; c++) to[c] += weight * row[c];
}

/* What one row adds to the gradients; weights are found again. */
static void row_back(const job *s, int64_t batch, int64_t i, const work *w) {
    const rl_attention *a = &s->a;
    const int64_t n = rl_attention_seen(a, i);
    const int64_t step = s->lse->strides[s->lse->ndim - 1] * rl_itemsize(s->lse->dtype);
    const double lse = rl_row_double(s->lse->dtype, rl_attention_at(a, s->lse, 1, batch, RL_READ) + i * step);
    const char *values = rl_attention_at(a, a->value, 2, batch, RL_READ);
    const char *keys = rl_attention_at(a, a->key, 2, batch, RL_READ);
    row_load(a->query, rl_attention_at(a, a->query, 2, batch, RL_READ), i, w->query);
    row_load(s->grad_out, rl_attention_at(a, s->grad_out, 2, batch, RL_READ), i, w->grad);
    scores_of(a, batch, i, w->query, w->row, w->weights);
    row_load(s->out, rl_attention_at(a, s->out, 2, batch, RL_READ), i, w->row);
    const double mean = dot(w->grad, w->row, a->wide);
    for (int64_t j = 0; j < n; j++) {
        row_load(a->value, values, j, w->row);
        w->weights[j] = exp(w->weights[j] - lse);
        w->slopes[j] = w->weights[j] == 0 ? 0 : dot(w->grad, w->row, a->wide);
        add_row(w->by_values + j * a->wide, w->weights[j], w->grad, a->wide);
    }
    memset(w->sum, 0, (size_t)a->width * sizeof *w->sum);
    for (int64_t j = 0; j < n; j++) {
        const double slope = w->weights[j] * (w->slopes[j] - mean) * a->scale;
        row_load(a->key, keys, j, w->row);
        add_row(w->sum, slope, w->row, a->width);
        add_row(w->by_keys + j * a->width, slope, w->query, a->width);
    }
    row_put(s->made[0], rl_attention_at(a, s->made[0], 2, batch, RL_WRITE), i, w->sum);
}

static void backward(void *ctx, int64_t begin, int64_t end, int thread) {
    const job *s = ctx;
    const rl_attention *a = &s->a;
    const work w = work_of(s, thread);
    for (int64_t batch = begin; batch < end; batch++) {
        memset(w.by_keys, 0, (size_t)(a->keys * a->width) * sizeof *w.by_keys);
        memset(w.by_values, 0, (size_t)(a->keys * a->wide) * sizeof *w.by_values);
        for (int64_t i = 0; i < a->rows; i++) row_back(s, batch, i, &w);
        for (int64_t j = 0; j < a->keys; j++) {
            row_put(s->made[1], rl_attention_at(a, s->made[1], 2, batch, RL_WRITE), j,
                    w.by_keys + j * a->width);
            row_put(s->made[2], rl_attention_at(a, s->made[2], 2, batch, RL_WRITE), j,
                    w.by_values + j * a->wide);
        }
    }
}

static rl_status run(rl_call *k, job s, int64_t n, double ns, void (*body)(void *, int64_t, int64_t, int)) {
    const rl_layout l = work_layout(k, &s);
    if (!k->svc->rooms(k, &l, k->threads, &s.rooms)) return RL_FAIL;
    k->svc->parallel(k, n, ns, body, &s);
    return RL_OK;
}

RL_KERNEL(ref_attention) {
    job s = {.a = rl_attention_of(k, 0, 4), .out = k->out[0], .lse = k->out[1]};
    const rl_attention *a = &s.a;
    if (k->out[1]->numel == 0) return RL_OK;
    return run(k, s, a->batches * a->rows, (double)a->keys * (double)(a->width + a->wide + 8), forward);
}

RL_KERNEL(ref_attention_back) {
    job s = {.a = rl_attention_of(k, 1, 7),
             .grad_out = rl_in(k, 0),
             .out = rl_in(k, 4),
             .lse = rl_in(k, 5),
             .made = {k->out[0], k->out[1], k->out[2]}};
    const rl_attention *a = &s.a;
    if (a->batches == 0) return RL_OK;
    return run(k, s, a->batches, (double)a->rows * (double)a->keys * (double)(a->width + a->wide + 8) * 3,
               backward);
}
