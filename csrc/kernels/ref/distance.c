/* Distances between rows, in doubles: Note [Distances] in kernels/shared/distance.h. */
#include "kernels/shared/distance.h"
#include "loops.h"

typedef struct {
    rl_distances d;
    rl_rooms rooms; /* of each thread a row of either side, and a sum of slopes, at ... */
    int64_t rows[3];
} job;

static double *row_of(const job *s, int thread, int which) {
    return (double *)(rl_room(&s->rooms, thread) + s->rows[which]);
}
static rl_layout rows_layout(const rl_call *k, job *s, int n) {
    rl_layout l = rl_layout_begin(k);
    for (int i = 0; i < n; i++) s->rows[i] = rl_layout_add(&l, RL_COUNT(s->d.width), sizeof(double));
    return l;
}
static const char *element(const rl_view *v, int64_t at) {
    return (const char *)rl_const_data(v) + at * rl_itemsize(v->dtype);
}
static void load(const job *s, const rl_view *v, int64_t batch, int64_t i, double *to) {
    const int64_t item = rl_itemsize(v->dtype);
    const int64_t at = rl_batch_offset(&s->d, v, batch) + i * v->strides[v->ndim - 2];
    rl_row_doubles(v->dtype, element(v, at), v->strides[v->ndim - 1] * item, s->d.width, to);
}

static double distance(const rl_distances *d, const double *a, const double *b) {
    double sum = 0;
    for (int64_t c = 0; c < d->width; c++) {
        const double gap = fabs(a[c] - b[c]);
        switch (d->order) {
        case RL_P_COUNT: sum += gap != 0 ? (gap == gap ? 1 : gap) : 0; break;
        case RL_P_SUM: sum += gap; break;
        case RL_P_SQUARE: sum += gap * gap; break;
        case RL_P_LINF: sum = gap > sum ? gap : sum; break;
        default: sum += pow(gap, d->p);
        }
    }
    return d->order == RL_P_SQUARE ? sqrt(sum) : d->order == RL_P_POWER ? pow(sum, 1 / d->p) : sum;
}

static void forward(void *ctx, int64_t begin, int64_t end, int thread) {
    const job *s = ctx;
    const rl_view *out = s->d.result;
    const int64_t n = s->d.others, item = rl_itemsize(out->dtype);
    char *to = rl_data(out, RL_WRITE);
    double *a = row_of(s, thread, 0), *b = row_of(s, thread, 1);
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / s->d.rows, i = at % s->d.rows;
        load(s, s->d.first, batch, i, a);
        for (int64_t j = s->d.triangle ? i + 1 : 0; j < n; j++) {
            load(s, s->d.second, batch, j, b);
            const int64_t place = s->d.triangle ? rl_triangle_row(n, i) + j : at * n + j;
            rl_row_put_double(out->dtype, to + place * item, distance(&s->d, a, b));
        }
    }
}

static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/* to += the gradient that comes through one distance */
static void add_slope(const rl_distances *d, const double *a, const double *b, double grad, double distance,
                      double *to) {
    if (d->order == RL_P_COUNT || (distance == 0 && d->order != RL_P_SUM)) return;
    const bool narrow = d->distance->dtype == RL_F32; /* the distance was rounded when it was stored */
    for (int64_t c = 0; c < d->width; c++) {
        const double gap = a[c] - b[c], size = fabs(gap);
        switch (d->order) {
        case RL_P_SUM: to[c] += sign(gap) * grad; break;
        case RL_P_SQUARE: to[c] += gap * (grad / distance); break;
        case RL_P_LINF: to[c] += (narrow ? (float)size : size) == distance ? sign(gap) * grad : 0; break;
        default: to[c] += gap == 0 ? 0 : sign(gap) * grad * pow(size / distance, d->p - 1);
        }
    }
}

static void backward(void *ctx, int64_t begin, int64_t end, int thread) {
    const job *s = ctx;
    const rl_distances *d = &s->d;
    const int64_t item = rl_itemsize(d->result->dtype);
    char *to = rl_data(d->result, RL_WRITE);
    double *a = row_of(s, thread, 0), *b = row_of(s, thread, 1), *sum = row_of(s, thread, 2);
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / d->rows, i = at % d->rows;
        const int64_t grad = rl_batch_offset(d, d->grad, batch),
                      found = rl_batch_offset(d, d->distance, batch);
        load(s, d->first, batch, i, a);
        for (int64_t c = 0; c < d->width; c++) sum[c] = 0;
        for (int64_t j = 0; j < d->others; j++) {
            if (d->triangle && i == j) continue;
            load(s, d->second, batch, j, b);
            add_slope(
                d, a, b,
                rl_row_double(d->grad->dtype, element(d->grad, grad + rl_pair_offset(d, d->grad, i, j))),
                rl_row_double(d->distance->dtype,
                              element(d->distance, found + rl_pair_offset(d, d->distance, i, j))),
                sum);
        }
        rl_row_put_doubles(d->result->dtype, to + at * d->width * item, item, d->width, sum);
    }
}

static rl_status run(rl_call *k, rl_distances d, int rows, void (*body)(void *, int64_t, int64_t, int)) {
    job s = {.d = d};
    if (d.result->numel == 0) return RL_OK;
    const rl_layout l = rows_layout(k, &s, rows);
    if (!k->svc->rooms(k, &l, k->threads, &s.rooms)) return RL_FAIL;
    k->svc->parallel(k, d.batches * d.rows, (double)d.others * (double)(d.width + 4), body, &s);
    return RL_OK;
}

RL_KERNEL(ref_cdist) {
    return run(k, rl_distances_of(k, 0, false, k->n_arg > 2 ? rl_num(k, 2) : 2), 2, forward);
}
RL_KERNEL(ref_cdist_backward) {
    return run(k, rl_distances_of(k, 1, false, rl_num(k, 3)), 3, backward);
}
RL_KERNEL(ref_pdist) {
    return run(k, rl_distances_of(k, 0, true, rl_num(k, 1)), 2, forward);
}
RL_KERNEL(ref_pdist_backward) {
    return run(k, rl_distances_of(k, 1, true, rl_num(k, 2)), 3, backward);
}
