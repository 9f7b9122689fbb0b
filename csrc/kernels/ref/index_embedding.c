/* Elements found by an index: rows of tables, slices, gather. */
#include "loops.h"
#include <string.h>

/* Copies n elements; both steps in bytes. */
static void copy_run(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     int64_t item) {
    char *p[2] = {to, (char *)from};
    rl_strip_copy(item)(p, (const int64_t[2]){to_step, from_step}, n, NULL);
}

/* ---- rows of a table; operands of the walk: output rows, indices ---- */
typedef struct {
    const char *table;
    int64_t rows, row_step, width, step, item;
    int index_dtype;
    int bad; /* an index out of range was seen; nothing is read for it */
} lookup;

static void lookup_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
    rl_walk w;
    rl_walk_begin(&w, out, RL_WRITE);
    rl_walk_drop(&w, 1ull << (out->ndim - 1));
    rl_walk_add(&w, index);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, RL_REF_NS * (double)(l.width + 1), lookup_strip, &l);
    return l.bad ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

/* ---- gather; operands of the walk: output, indices, input at index 0 of the dimension ---- */
typedef struct {
    int64_t size, step, item;
    int index_dtype;
    int64_t bad; /* an index out of range */
    int seen;
} gathering;

static void gather_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    gathering *g = (gathering *)ctx;
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
        rl_row_ints(g->index_dtype, p[1] + i * step[1], 0, 1, &at);
        if (at < 0 || at >= g->size) {
            __atomic_store_n(&g->bad, at, __ATOMIC_RELAXED);
            __atomic_store_n(&g->seen, 1, __ATOMIC_RELAXED);
        } else {
            memcpy(p[0] + i * step[0], p[2] + i * step[2] + at * g->step, (size_t)g->item);
        }
    }
}

RL_KERNEL(ref_gather) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t;
    int64_t dim = k->attr[0], item = rl_itemsize(x->dtype);
    gathering g = {.size = x->ndim ? x->shape[dim] : 1,
                   .step = x->ndim ? x->strides[dim] * item : 0,
                   .item = item,
                   .index_dtype = index->dtype};
    rl_walk w;
    if (index->numel == 0) return RL_OK;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, index);
    w.base[w.nops] = rl_data(x, RL_READ);
    for (int d = 0; d < w.ndim; d++) w.stride[2][d] = d == dim || !x->ndim ? 0 : x->strides[d] * item;
    w.nops = 3;
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, RL_REF_NS, gather_strip, &g);
    if (!g.seen) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "index %lld is out of bounds for dimension %lld with size %lld",
                   (long long)g.bad, (long long)dim, (long long)g.size);
}

/* ---- the gradient of embedding: rows of the gradient are added up in the table ---- */
typedef struct {
    int64_t rows, skip, width, item;
    int dtype, index_dtype;
    char *table;
    int64_t *seen, step; /* how often each row comes; NULL when that does not count */
    double *row;         /* two rows */
    bool count, bad;
} adding;

static void adding_row(const adding *a, const char *grad, int64_t at) {
    char *to = a->table + at * a->width * a->item;
    double *sum = a->row, *more = a->row + a->width;
    rl_row_doubles(a->dtype, to, a->item, a->width, sum);
    rl_row_doubles(a->dtype, grad, a->step, a->width, more);
    for (int64_t i = 0; i < a->width; i++) sum[i] += a->seen ? more[i] / (double)a->seen[at] : more[i];
    rl_row_put_doubles(a->dtype, to, a->item, a->width, sum);
}

/* operands: rows of the gradient, indices */
static void adding_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
    a.row = k->svc->scratch(k, RL_COUNT(2, a.width), sizeof(double));
    if (k->arg[4].u.i) a.seen = k->svc->scratch(k, rl_count_plus(RL_COUNT(a.rows), 1), sizeof(int64_t));
    if (!a.row || (k->arg[4].u.i && !a.seen)) return RL_FAIL;
    rl_walk w;
    rl_walk_begin(&w, grad, RL_READ);
    rl_walk_drop(&w, 1ull << last);
    rl_walk_add(&w, index);
    rl_walk_merge(&w);
    if (a.seen) {
        memset(a.seen, 0, (size_t)a.rows * sizeof(int64_t));
        a.count = true;
        rl_walk_range(&w, 0, w.numel, adding_strip, &a);
        a.count = false;
    }
    rl_walk_range(&w, 0, w.numel, adding_strip, &a);
    return a.bad ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

/* ---- index_select: slices ---- */
/* PyTorch has another path, and another text, for dim 1 and for tensors without elements */
static rl_status index_fault(rl_call *k, int64_t index, int64_t size) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim > 1 && (k->attr[0] == 1 || x->numel == 0))
        return rl_fail(k, RL_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
                       (long long)index, (long long)size);
    return rl_fail(k, RL_INDEX, "index out of range in self");
}

RL_KERNEL(ref_index_select) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *out = k->out[0];
    int64_t dim = k->attr[0], item = rl_itemsize(x->dtype), size = x->ndim ? x->shape[dim] : 1;
    int64_t step = index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    const char *at = rl_const_data(index);
    rl_walk slice;
    int64_t to_step = 0, from_step = 0;
    rl_walk_begin(&slice, out, RL_WRITE);
    slice.nops = 2;
    slice.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) slice.stride[1][d] = x->strides[d] * item;
    if (x->ndim) {
        to_step = slice.stride[0][dim];
        from_step = slice.stride[1][dim];
        rl_walk_drop(&slice, 1ull << dim);
    }
    rl_walk_merge(&slice);
    rl_walk one = slice;
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t pick; /* read once, checked, used */
        rl_row_ints(index->dtype, at + i * step, 0, 1, &pick);
        if (pick < 0 || pick >= size) return index_fault(k, pick, size);
        if (out->numel == 0) continue;
        one.base[0] = slice.base[0] + i * to_step;
        one.base[1] = slice.base[1] + pick * from_step;
        rl_walk_range(&one, 0, one.numel, rl_strip_copy(item), NULL);
    }
    return RL_OK;
}
