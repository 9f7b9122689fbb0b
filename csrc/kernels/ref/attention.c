/* Attention row by row, in doubles: Note [Attention] in kernels/shared/attention.h. */
#include "kernels/shared/attention.h"
#include "loops.h"
#include <string.h>

typedef struct {
    rl_attention a;
    const rl_view *out, *lse, *grad, *made[3];
    double *room; /* of each thread `each` */
    int64_t each;
} job;

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
    double *query = s->room + thread * s->each, *row = query + a->width, *sum = row + a->width + a->wide;
    double *weights = sum + a->wide;
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / a->rows, i = at % a->rows, n = rl_attention_seen(a, i);
        const char *values = rl_attention_at(a, a->value, 2, batch, RL_READ);
        row_load(a->query, rl_attention_at(a, a->query, 2, batch, RL_READ), i, query);
        scores_of(a, batch, i, query, row, weights);
        const double lse = weights_of(weights, n);
        memset(sum, 0, (size_t)a->wide * sizeof *sum);
        for (int64_t j = 0; j < n; j++) {
            row_load(a->value, values, j, row);
            for (int64_t c = 0; c < a->wide && weights[j] != 0; c++) sum[c] += weights[j] * row[c];
        }
        row_put(s->out, rl_attention_at(a, s->out, 2, batch, RL_WRITE), i, sum);
        rl_row_put_double(s->lse->dtype, (char *)rl_data(s->lse, RL_WRITE) + at * rl_itemsize(s->lse->dtype),
                          lse);
    }
}

/* to[] += weight * row[] */
static void add_row(double *to, double weight, const double *row, int64_t n) {
    for (int64_t c = 0; c < n; c++) to[c] += weight * row[c];
}

/* What one row adds to the gradients: `by` has those of all keys, then of all values; weights are found
 * again. */
static void row_back(const job *s, int64_t batch, int64_t i, double *room, double *by) {
    const rl_attention *a = &s->a;
    const int64_t n = rl_attention_seen(a, i);
    double *query = room, *row = query + a->width, *grad = row + a->width + a->wide,
           *weights = grad + a->wide;
    double *slopes = weights + a->keys, *sum = slopes + a->keys;
    const int64_t step = s->lse->strides[s->lse->ndim - 1] * rl_itemsize(s->lse->dtype);
    const double lse = rl_row_double(s->lse->dtype, rl_attention_at(a, s->lse, 1, batch, RL_READ) + i * step);
    const char *values = rl_attention_at(a, a->value, 2, batch, RL_READ);
    const char *keys = rl_attention_at(a, a->key, 2, batch, RL_READ);
    row_load(a->query, rl_attention_at(a, a->query, 2, batch, RL_READ), i, query);
    row_load(s->grad, rl_attention_at(a, s->grad, 2, batch, RL_READ), i, grad);
    scores_of(a, batch, i, query, row, weights);
    row_load(s->out, rl_attention_at(a, s->out, 2, batch, RL_READ), i, row);
    const double mean = dot(grad, row, a->wide);
    for (int64_t j = 0; j < n; j++) {
        row_load(a->value, values, j, row);
        weights[j] = exp(weights[j] - lse);
        slopes[j] = weights[j] == 0 ? 0 : dot(grad, row, a->wide);
        add_row(by + a->keys * a->width + j * a->wide, weights[j], grad, a->wide);
    }
    memset(sum, 0, (size_t)a->width * sizeof *sum);
    for (int64_t j = 0; j < n; j++) {
        const double slope = weights[j] * (slopes[j] - mean) * a->scale;
        row_load(a->key, keys, j, row);
        add_row(sum, slope, row, a->width);
        add_row(by + j * a->width, slope, query, a->width);
    }
    row_put(s->made[0], rl_attention_at(a, s->made[0], 2, batch, RL_WRITE), i, sum);
}

static void backward(void *ctx, int64_t begin, int64_t end, int thread) {
    const job *s = ctx;
    const rl_attention *a = &s->a;
    double *by = s->room + thread * s->each, *room = by + a->keys * (a->width + a->wide);
    for (int64_t batch = begin; batch < end; batch++) {
        memset(by, 0, (size_t)(a->keys * (a->width + a->wide)) * sizeof *by);
        for (int64_t i = 0; i < a->rows; i++) row_back(s, batch, i, room, by);
        for (int64_t j = 0; j < a->keys; j++) {
            row_put(s->made[1], rl_attention_at(a, s->made[1], 2, batch, RL_WRITE), j, by + j * a->width);
            row_put(s->made[2], rl_attention_at(a, s->made[2], 2, batch, RL_WRITE), j,
                    by + a->keys * a->width + j * a->wide);
        }
    }
}

static rl_status run(rl_call *k, job s, rl_count each, int64_t n, double ns,
                     void (*body)(void *, int64_t, int64_t, int)) {
    s.each = each.n;
    s.room = k->svc->scratch(k, rl_count_times(each, k->threads), sizeof *s.room);
    if (!s.room) return RL_FAIL;
    k->svc->parallel(k, n, ns, body, &s);
    return RL_OK;
}

RL_KERNEL(ref_attention) {
    job s = {.a = rl_attention_of(k, 0, 4), .out = k->out[0], .lse = k->out[1]};
    const rl_attention *a = &s.a;
    const rl_count each = rl_count_plus(rl_count_plus(RL_COUNT(2, a->width + a->wide), a->keys), 1);
    if (k->out[1]->numel == 0) return RL_OK;
    return run(k, s, each, a->batches * a->rows, (double)a->keys * (double)(a->width + a->wide + 8), forward);
}

RL_KERNEL(ref_attention_back) {
    job s = {.a = rl_attention_of(k, 1, 7),
             .grad = rl_in(k, 0),
             .out = rl_in(k, 4),
             .lse = rl_in(k, 5),
             .made = {k->out[0], k->out[1], k->out[2]}};
    const rl_attention *a = &s.a;
    rl_count each = rl_count_plus(RL_COUNT(a->keys + 3, a->width + a->wide), a->keys);
    each = rl_count_plus(each, a->keys + 1);
    if (a->batches == 0) return RL_OK;
    return run(k, s, each, a->batches,
               (double)a->rows * (double)a->keys * (double)(a->width + a->wide + 8) * 3, backward);
}
