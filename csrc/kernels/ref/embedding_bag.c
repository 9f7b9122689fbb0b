/* embedding_bag in double: reduces rows of a table by bags. */
#include "kernels/shared/embedding_bag.h"
#include "loops.h"
#include <string.h>

typedef struct {
    rl_embedding_bags bags;
    const rl_view *table, *grad, *out, *largest;
    rl_rooms rooms; /* of each thread two rows, at ... */
    int64_t first, second;
} bag_job;
typedef struct {
    double *first, *second;
} two_rows;

static rl_layout rows_layout(const rl_call *k, bag_job *j) {
    rl_layout l = rl_layout_begin(k);
    j->first = rl_layout_add(&l, RL_COUNT(j->bags.width), sizeof(double));
    j->second = rl_layout_add(&l, RL_COUNT(j->bags.width), sizeof(double));
    return l;
}
static two_rows rows_of(const bag_job *j, int thread) {
    char *room = rl_room(&j->rooms, thread);
    return (two_rows){(double *)(room + j->first), (double *)(room + j->second)};
}
static rl_status job_begin(rl_call *k, bag_job *j, int threads) {
    const rl_layout l = rows_layout(k, j);
    j->out = k->out[0];
    return k->svc->rooms(k, &l, threads, &j->rooms) ? RL_OK : RL_FAIL;
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
static void join_bags(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_embedding_bags *b = &j->bags;
    const two_rows rows = rows_of(j, thread);
    double *sum = rows.first, *row = rows.second;
    for (int64_t bag = begin; bag < end; bag++) {
        const int64_t size = b->begin[bag + 1] - b->begin[bag];
        for (int64_t c = 0; c < b->width; c++) sum[c] = 0;
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            row_read(j->table, b->index[i], b->width, row);
            for (int64_t c = 0; c < b->width; c++) sum[c] += b->scale ? row[c] * b->scale[i] : row[c];
        }
        for (int64_t c = 0; b->mode == RL_EMBEDDING_BAG_MEAN && size && c < b->width; c++)
            sum[c] /= (double)size;
        row_write(j->out, bag, b->width, sum);
    }
}

/* the largest of a bag, and which rows had them; NaN stays where it comes first */
#define MAX_BAGS(token, type, wide, load, store, whole)                                                      \
    static void max_bags_##token##_##whole(void *ctx, int64_t begin, int64_t end, int thread) {              \
        const bag_job *j = ctx;                                                                              \
        const rl_embedding_bags *b = &j->bags;                                                               \
        const int64_t width = b->width, *step = j->table->strides;                                           \
        (void)thread;                                                                                        \
        for (int64_t bag = begin; bag < end; bag++) {                                                        \
            type *most = (type *)rl_data(j->out, RL_WRITE) + bag * width;                                    \
            whole *at = (whole *)rl_data(j->largest, RL_WRITE) + bag * width;                                \
            for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {                                    \
                const type *row = (const type *)rl_const_data(j->table) + b->index[i] * step[0];             \
                const bool first = i == b->begin[bag];                                                       \
                for (int64_t c = 0; c < width; c++) {                                                        \
                    const type x = row[c * step[1]];                                                         \
                    const bool more = first || load(x) > load(most[c]);                                      \
                    most[c] = more ? x : most[c];                                                            \
                    at[c] = more ? (whole)b->index[i] : at[c];                                               \
                }                                                                                            \
            }                                                                                                \
            if (b->begin[bag] < b->begin[bag + 1]) continue;                                                 \
            memset(most, 0, (size_t)width * sizeof *most), memset(at, 0, (size_t)width * sizeof *at);        \
        }                                                                                                    \
    }
RL_EACH_FLOAT(MAX_BAGS, int32_t)
RL_EACH_FLOAT(MAX_BAGS, int64_t)

typedef void (*bag_body)(void *, int64_t, int64_t, int);
static bag_body most_of(const bag_job *j) {
#define ENTRY(token, type, wide, load, store, whole) [RL_##token] = max_bags_##token##_##whole,
    static const bag_body narrow[RL_NDTYPES] = {RL_EACH_FLOAT(ENTRY, int32_t)};
    static const bag_body wide[RL_NDTYPES] = {RL_EACH_FLOAT(ENTRY, int64_t)};
    return (j->largest->dtype == RL_I32 ? narrow : wide)[j->table->dtype];
}

RL_KERNEL(ref_embedding_bag) {
    bag_job j = {.table = k->arg[0].u.t, .largest = k->out[3]};
    if (rl_embedding_bags_forward(k, &j.bags) != RL_OK || job_begin(k, &j, k->threads) != RL_OK)
        return RL_FAIL;
    const rl_embedding_bags *b = &j.bags;
    const double rows = b->bags ? (double)b->n / (double)b->bags + 1 : 1;
    const bag_body body = b->mode == RL_EMBEDDING_BAG_MAX ? most_of(&j) : join_bags;
    k->svc->parallel(k, b->bags, rows * (double)(b->width + 1), body, &j);
    return RL_OK;
}

/* ---- the gradient by the table ---- */
static void add_row(const bag_job *j, int64_t row, const double *grad, double scale, double *sum) {
    row_read(j->out, row, j->bags.width, sum);
    for (int64_t c = 0; c < j->bags.width; c++) sum[c] += grad[c] * scale;
    row_write(j->out, row, j->bags.width, sum);
}

/* Of maxima: each element goes to the row that was the largest there. The number of a row that is none; or -1
 */
#define ADD_LARGEST(token, type, wide, load, store, unused)                                                  \
    static int64_t add_largest_##token(const bag_job *j, const rl_view *largest, int64_t bag) {              \
        const int64_t width = j->bags.width, *step = largest->strides;                                       \
        const type *grad = (const type *)rl_const_data(j->grad) + bag * j->grad->strides[0];                 \
        type *out = rl_data(j->out, RL_WRITE);                                                               \
        for (int64_t c = 0; c < width; c++) {                                                                \
            const int64_t row = rl_embedding_bag_number(largest, bag * step[0] + c * step[1], 1);            \
            if (row < 0 || row >= j->bags.rows) return row < 0 ? INT64_MAX : row;                            \
            type *to = out + row * width + c;                                                                \
            *to = store((wide)(load(*to) + load(grad[c * j->grad->strides[1]])));                            \
        }                                                                                                    \
        return -1;                                                                                           \
    }
RL_EACH_FLOAT(ADD_LARGEST, )

static rl_status add_largest(rl_call *k, const bag_job *j) {
#define ADD_ENTRY(token, type, wide, load, store, unused) [RL_##token] = add_largest_##token,
    static int64_t (*const add[RL_NDTYPES])(const bag_job *, const rl_view *,
                                            int64_t) = {RL_EACH_FLOAT(ADD_ENTRY, )};
    const rl_view *sizes = k->arg[4].u.t;
    for (int64_t bag = 0; bag < j->bags.bags; bag++) {
        if (rl_embedding_bag_number(sizes, bag, sizes->strides[0]) == 0) continue;
        const int64_t outside = add[j->out->dtype](j, k->arg[5].u.t, bag);
        if (outside >= 0)
            return rl_fail(k, RL_RUNTIME, "embedding_bag: no row %lld in a table of %lld", (long long)outside,
                           (long long)j->bags.rows);
    }
    return RL_OK;
}

RL_KERNEL(ref_embedding_bag_back) {
    bag_job j = {.grad = k->arg[0].u.t};
    if (rl_embedding_bags_backward(k, &j.bags) != RL_OK || job_begin(k, &j, 1) != RL_OK) return RL_FAIL;
    const rl_embedding_bags *b = &j.bags;
    memset(rl_data(j.out, RL_WRITE), 0, (size_t)(j.out->numel * rl_itemsize(j.out->dtype)));
    if (j.out->numel == 0) return RL_OK;
    if (b->mode == RL_EMBEDDING_BAG_MAX) return add_largest(k, &j);
    const two_rows rows = rows_of(&j, 0);
    for (int64_t bag = 0; bag < b->bags; bag++) {
        row_read(j.grad, bag, b->width, rows.first);
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++)
            add_row(&j, b->index[i], rows.first, b->scale ? b->scale[i] : 1, rows.second);
    }
    return RL_OK;
}

/* ---- the gradient by the weights of the indices: products of rows ---- */
static void dot_bags(void *ctx, int64_t begin, int64_t end, int thread) {
    const bag_job *j = ctx;
    const rl_embedding_bags *b = &j->bags;
    const int64_t item = rl_itemsize(j->out->dtype);
    const two_rows rows = rows_of(j, thread);
    double *grad = rows.first, *row = rows.second;
    for (int64_t bag = begin; bag < end; bag++) {
        row_read(j->grad, bag, b->width, grad);
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++) {
            double sum = 0;
            row_read(j->table, b->index[i], b->width, row);
            for (int64_t c = 0; c < b->width; c++) sum += grad[c] * row[c];
            rl_row_put_double(j->out->dtype,
                              (char *)rl_data(j->out, RL_WRITE) + rl_embedding_bag_place(b, i) * item, sum);
        }
    }
}

RL_KERNEL(ref_embedding_bag_weights_back) {
    bag_job j = {.grad = k->arg[0].u.t, .table = k->arg[1].u.t};
    if (rl_embedding_bags_weights(k, &j.bags) != RL_OK || job_begin(k, &j, k->threads) != RL_OK)
        return RL_FAIL;
    const rl_embedding_bags *b = &j.bags;
    const double rows = b->bags ? (double)b->n / (double)b->bags + 1 : 1;
    memset(rl_data(j.out, RL_WRITE), 0, (size_t)(j.out->numel * rl_itemsize(j.out->dtype)));
    k->svc->parallel(k, b->bags, rows * (double)(b->width + 1), dot_bags, &j);
    return RL_OK;
}
