/* Rows of tables that an index names. */
#include "index.h"
#include <math.h>
#include <string.h>

/* Copies n elements; both steps in bytes. */
static void copy_run(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     int64_t item) {
    char *p[2] = {to, (char *)from};
    rl_inner_loop_copy(item)(p, (const int64_t[2]){to_step, from_step}, n, NULL);
}

/* ---- rows of a table; operands of the walk: output rows, indices ---- */
typedef struct {
    const char *table;
    int64_t rows, row_step, width, step, item;
    int index_dtype;
    int bad; /* an index out of range was seen; nothing is read for it */
} lookup;

static void lookup_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    lookup *l = (lookup *)ctx;
    for (int64_t i = 0; i < n; i++) {
        int64_t row; /* read once, checked, used */
        rl_row_ints(l->index_dtype, p[1] + i * step[1], 0, 1, &row);
        if (row < 0 || row >= l->rows)
            __atomic_store_n(&l->bad, 1, __ATOMIC_RELAXED);
        else
            copy_run(p[0] + i * step[0], l->item, l->table + row * l->row_step, l->step, l->width, l->item);
    }
}

RL_KERNEL(ref_embedding) {
    const rl_view *table = k->arg[0].u.t, *index = k->arg[1].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(table->dtype);
    lookup l = {.table = rl_const_data(table),
                .rows = table->shape[0],
                .row_step = table->strides[0] * item,
                .width = table->shape[1],
                .step = table->strides[1] * item,
                .item = item,
                .index_dtype = index->dtype};
    rl_iter w;
    rl_iter_begin(&w, out, RL_WRITE);
    rl_iter_drop(&w, 1ull << (out->ndim - 1));
    rl_iter_add(&w, index);
    for (int d = 0; d < w.ndim && l.width == 0;
         d++) /* of one number that stands for many, one look will do */
        if (w.stride[1][d] == 0 && w.size[d] > 1) w.numel /= w.size[d], w.size[d] = 1;
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, RL_REF_NS * (double)(l.width + 1), lookup_loop, &l);
    return l.bad ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

/* ---- the gradient of embedding: rows of the gradient are added up in the table ---- */
typedef struct {
    int64_t rows, skip, width, item;
    int dtype, index_dtype;
    char *table;
    int64_t *seen, step; /* how often each row comes; NULL when that does not count */
    double *sum, *more;  /* rows */
    bool count, bad;
} adding;

static void adding_row(const adding *a, const char *grad, int64_t at) {
    char *to = a->table + at * a->width * a->item;
    double *sum = a->sum, *more = a->more;
    rl_row_doubles(a->dtype, to, a->item, a->width, sum);
    rl_row_doubles(a->dtype, grad, a->step, a->width, more);
    for (int64_t i = 0; i < a->width; i++) sum[i] += a->seen ? more[i] / (double)a->seen[at] : more[i];
    rl_row_put_doubles(a->dtype, to, a->item, a->width, sum);
}

/* operands: rows of the gradient, indices */
static void adding_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    adding *a = (adding *)ctx;
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
        rl_row_ints(a->index_dtype, p[1] + i * step[1], 0, 1, &at);
        if (at < 0 || at >= a->rows)
            a->bad = at != a->skip || a->bad;
        else if (a->count)
            a->seen[at]++;
        else if (at != a->skip)
            adding_row(a, p[0] + i * step[0], at);
    }
}

RL_KERNEL(ref_embedding_dense_back) {
    const rl_view *grad = k->arg[0].u.t, *index = k->arg[1].u.t, *out = k->out[0];
    int last = grad->ndim - 1;
    adding a = {.rows = out->shape[0], .skip = k->arg[3].u.i, .width = out->shape[1], .dtype = out->dtype};
    a.item = rl_itemsize(out->dtype), a.index_dtype = index->dtype;
    a.step = grad->strides[last] * a.item;
    a.table = rl_data(out, RL_WRITE);
    memset(a.table, 0, (size_t)(out->numel * a.item));
    if (grad->numel == 0) return RL_OK;
    a.sum = k->svc->scratch(k, RL_COUNT(a.width), sizeof(double));
    a.more = k->svc->scratch(k, RL_COUNT(a.width), sizeof(double));
    if (k->arg[4].u.i) a.seen = k->svc->scratch(k, RL_COUNT(a.rows), sizeof(int64_t));
    if (!a.sum || !a.more || (k->arg[4].u.i && !a.seen)) return RL_FAIL;
    rl_iter w;
    rl_iter_begin(&w, grad, RL_READ);
    rl_iter_drop(&w, 1ull << last);
    rl_iter_add(&w, index);
    rl_iter_merge(&w);
    if (a.seen) {
        memset(a.seen, 0, (size_t)a.rows * sizeof(int64_t));
        a.count = true;
        rl_iter_range(&w, 0, w.numel, adding_loop, &a);
        a.count = false;
    }
    rl_iter_range(&w, 0, w.numel, adding_loop, &a);
    return a.bad ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

/* ---- rows scaled down to a norm: (input, indices, max_norm, norm_type) ---- */
typedef struct {
    rl_indices places;
    char *table;
    int64_t row_step, step, width;
    int dtype;
    double most, p;
    double *row;
    uint8_t *done; /* each row is scaled once */
} renorming;

static double row_norm(const double *row, int64_t n, double p) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double a = fabs(row[i]);
        if (isinf(p))
            sum = a != a || (p > 0 ? a > sum : i == 0 || a < sum) ? a : sum;
        else
            sum += p == 2 ? a * a : p == 1 ? a : p == 0 ? a != 0 : pow(a, p);
    }
    return isinf(p) || p == 0 || p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/* operand: indices */
static void renorm_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    renorming *r = (renorming *)ctx;
    int64_t row;
    for (int64_t i = 0; i < n && rl_indices_read(&r->places, p[0] + i * step[0], 0, 1, &row); i++) {
        char *at = r->table + row * r->row_step;
        if (r->done[row]) continue;
        r->done[row] = 1;
        rl_row_doubles(r->dtype, at, r->step, r->width, r->row);
        /* rounded as PyTorch rounds: the norm to the dtype, the scale to what that computes in */
        uint64_t rounded = 0;
        rl_row_put_double(r->dtype, (char *)&rounded, row_norm(r->row, r->width, r->p));
        const double norm = rl_row_double(r->dtype, (const char *)&rounded), exact = r->most / (norm + 1e-7);
        const double scale = r->dtype == RL_F64 ? exact : (double)(float)exact;
        if (!(norm > r->most)) continue;
        for (int64_t j = 0; j < r->width; j++) r->row[j] *= scale;
        rl_row_put_doubles(r->dtype, at, r->step, r->width, r->row);
    }
}

RL_KERNEL(ref_embedding_renorm) {
    const rl_view *index = k->arg[1].u.t, *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype), rows = out->shape[0], width = out->shape[1];
    rl_view_start(k);
    if (index->numel == 0) return RL_OK;
    renorming r = {.places = {.size = rows, .step = 1, .wide = index->dtype == RL_I64},
                   .table = rl_data(out, RL_WRITE),
                   .row_step = out->strides[0] * item,
                   .step = out->strides[1] * item,
                   .width = width,
                   .dtype = out->dtype,
                   .most = rl_num(k, 2),
                   .p = rl_num(k, 3),
                   .row = k->svc->scratch(k, RL_COUNT(width), sizeof(double)),
                   .done = k->svc->scratch(k, RL_COUNT(rows), 1)};
    rl_iter w;
    if (!r.row || !r.done) return RL_FAIL;
    memset(r.done, 0, (size_t)rows);
    rl_iter_begin(&w, index, RL_READ);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, w.numel, renorm_loop, &r);
    if (!r.places.faulty) return RL_OK;
    return rl_fail(k, RL_INDEX,
                   "select(): index %lld out of range for tensor of size [%lld, %lld] at dimension 0",
                   (long long)r.places.fault, (long long)rows, (long long)width);
}
