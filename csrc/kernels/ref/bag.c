/* Rows of a table in bags, in double. */
#include "kernels/shared/bag.h"
#include "loops.h"
#include <string.h>

typedef struct {
    rl_bags bags;
    const rl_view *table, *grad, *out, *largest;
    double *room; /* two rows of a thread */
} bag_job;

static rl_status job_begin(rl_call *k, bag_job *j) {
    j->out = k->out[0];
    j->room = k->svc->scratch(k, RL_COUNT(k->threads, 2, j->bags.width), sizeof(double));
    return j->room ? RL_OK : RL_FAIL;
}
static void row_read(const rl_view *table, int64_t row, int64_t width, double *to) {
    const int64_t item = rl_itemsize(table->dtype);
    rl_row_doubles(table->dtype, (const char *)rl_const_data(table) + row * table->strides[0] * item,
                   table->strides[1] * item, width, to);
}
static void row_write(const rl_view *table, int64_t row, int64_t width, const double *from) {
    const int64_t item = rl_itemsize(table->dtype);
    rl_row_put_doubles(table->dtype, (char *)rl_data(table, RL_WRITE) + row * width * item, item, width,
                       from);
}

/* ---- bags joined ---- */
static void join_row(const bag_job *j, int64_t bag, int64_t i, double *sum, const double *row) {
    const rl_bags *b = &j->bags;
    const bool first = i == b->begin[bag];
    for (int64_t c = 0; c < b->width; c++)
        if (b->mode != RL_BAG_MAX)
            sum[c] += b->scale ? row[c] * b->scale[i] : row[c];
        else if (first || row[c] > sum[c])
            sum[c] = row[c], rl_bag_put(j->largest, bag * b->width + c, b->index[i]);
}

static void join_bags(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_bags *b = &j->bags;
    double *sum = j->room + thread * 2 * b->width, *row = sum + b->width;
    for (int64_t bag = begin; bag < end; bag++) {
        const int64_t size = b->begin[bag + 1] - b->begin[bag];
        for (int64_t c = 0; c < b->width; c++) {
            sum[c] = 0;
            if (b->mode == RL_BAG_MAX) rl_bag_put(j->largest, bag * b->width + c, 0);
        }
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            row_read(j->table, b->index[i], b->width, row);
            join_row(j, bag, i, sum, row);
        }
        for (int64_t c = 0; b->mode == RL_BAG_MEAN && size && c < b->width; c++) sum[c] /= (double)size;
        row_write(j->out, bag, b->width, sum);
    }
}

RL_KERNEL(ref_embedding_bag) {
    bag_job j = {.table = k->arg[0].u.t, .largest = k->out[3]};
    if (rl_bags_forward(k, &j.bags) != RL_OK || job_begin(k, &j) != RL_OK) return RL_FAIL;
    const rl_bags *b = &j.bags;
    const double rows = b->bags ? (double)b->n / (double)b->bags + 1 : 1;
    k->svc->parallel(k, b->bags, rows * (double)(b->width + 1), join_bags, &j);
    return RL_OK;
}

/* ---- the gradient by the table ---- */
static void add_row(bag_job *j, int64_t row, const double *grad, double scale) {
    double *sum = j->room + j->bags.width;
    row_read(j->out, row, j->bags.width, sum);
    for (int64_t c = 0; c < j->bags.width; c++) sum[c] += grad[c] * scale;
    row_write(j->out, row, j->bags.width, sum);
}

/* Of maxima: each element goes to the row that was the largest there. */
static rl_status add_largest(rl_call *k, bag_job *j) {
    const rl_view *largest = k->arg[5].u.t, *sizes = k->arg[4].u.t;
    const int64_t item = rl_itemsize(j->out->dtype), width = j->bags.width;
    for (int64_t bag = 0; bag < j->bags.bags; bag++) {
        if (rl_bag_number(sizes, bag) == 0) continue;
        row_read(j->grad, bag, width, j->room);
        for (int64_t c = 0; c < width; c++) {
            const rl_view line = {.storage = largest->storage,
                                  .dtype = largest->dtype,
                                  .ndim = 1,
                                  .offset = largest->offset + bag * largest->strides[0],
                                  .strides = &largest->strides[1]};
            const int64_t row = rl_bag_number(&line, c);
            if (row < 0 || row >= j->bags.rows)
                return rl_fail(k, RL_RUNTIME, "embedding_bag: no row %lld in a table of %lld", (long long)row,
                               (long long)j->bags.rows);
            char *to = (char *)rl_data(j->out, RL_WRITE) + (row * width + c) * item;
            rl_row_put_double(j->out->dtype, to, rl_row_double(j->out->dtype, to) + j->room[c]);
        }
    }
    return RL_OK;
}

RL_KERNEL(ref_embedding_bag_back) {
    bag_job j = {.grad = k->arg[0].u.t};
    if (rl_bags_backward(k, &j.bags) != RL_OK || job_begin(k, &j) != RL_OK) return RL_FAIL;
    const rl_bags *b = &j.bags;
    memset(rl_data(j.out, RL_WRITE), 0, (size_t)(j.out->numel * rl_itemsize(j.out->dtype)));
    if (j.out->numel == 0) return RL_OK;
    if (b->mode == RL_BAG_MAX) return add_largest(k, &j);
    for (int64_t bag = 0; bag < b->bags; bag++) {
        row_read(j.grad, bag, b->width, j.room);
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++)
            add_row(&j, b->index[i], j.room, b->scale ? b->scale[i] : 1);
    }
    return RL_OK;
}

/* ---- the gradient by the weights of the indices: products of rows ---- */
static void dot_bags(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_bags *b = &j->bags;
    const int64_t item = rl_itemsize(j->out->dtype);
    double *grad = j->room + thread * 2 * b->width, *row = grad + b->width;
    for (int64_t bag = begin; bag < end; bag++) {
        row_read(j->grad, bag, b->width, grad);
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            double sum = 0;
            row_read(j->table, b->index[i], b->width, row);
            for (int64_t c = 0; c < b->width; c++) sum += grad[c] * row[c];
            rl_row_put_double(j->out->dtype, (char *)rl_data(j->out, RL_WRITE) + b->place[i] * item, sum);
        }
    }
}

RL_KERNEL(ref_embedding_bag_weights_back) {
    bag_job j = {.grad = k->arg[0].u.t, .table = k->arg[1].u.t};
    if (rl_bags_weights(k, &j.bags) != RL_OK || job_begin(k, &j) != RL_OK) return RL_FAIL;
    const rl_bags *b = &j.bags;
    const double rows = b->bags ? (double)b->n / (double)b->bags + 1 : 1;
    memset(rl_data(j.out, RL_WRITE), 0, (size_t)(j.out->numel * rl_itemsize(j.out->dtype)));
    k->svc->parallel(k, b->bags, rows * (double)(b->width + 1), dot_bags, &j);
    return RL_OK;
}
