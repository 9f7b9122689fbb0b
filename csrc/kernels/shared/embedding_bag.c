/* Reads the calls of embedding_bag and of its gradients: Note [Embedding bags]. */
#include "embedding_bag.h"
#include <string.h>

/* ---- where bags begin ---- */
/* one offset more than bags: the last one is where the last bag ends */
static rl_status begins_read(rl_call *k, const rl_embedding_bags *b, const rl_view *offsets, int64_t length) {
    for (int64_t i = 0; i < offsets->numel; i++) {
        const int64_t at = rl_embedding_bag_number(offsets, i, offsets->strides[0]);
        if (i == 0 && at != 0)
            return rl_fail(k, RL_RUNTIME,
                           "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                           "from position 0. However, got %lld",
                           (long long)at);
        if (at > length)
            return rl_fail(k, RL_RUNTIME,
                           "offsets[-1] can not be greater than input's length %lld but got offsets[-1] of "
                           "%lld",
                           (long long)length, (long long)at);
        if (i && at < b->begin[i - 1])
            return rl_fail(k, RL_RUNTIME, "embedding_bag: offsets have to ascend, but %lld follows %lld",
                           (long long)at, (long long)b->begin[i - 1]);
        b->begin[i] = at;
    }
    if (offsets->numel == b->bags) b->begin[b->bags] = length;
    return RL_OK;
}

static rl_status index_outside(rl_call *k, const rl_embedding_bags *b, int64_t i, int64_t row, bool placed) {
    if (!placed)
        return rl_fail(k, RL_RUNTIME,
                       "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be %lld",
                       (long long)row);
    return rl_fail(k, RL_RUNTIME,
                   "Index %lld of input takes value %lld which is not in the valid range [0, %lld)",
                   (long long)i, (long long)row, (long long)b->rows);
}

/* How a call's lists are to be read. */
typedef struct {
    const rl_view *index, *offsets;
    const rl_view *bag_of; /* gets the bag of each index, -1: none; or NULL */
    bool placed;           /* errors say where the index stands */
} reading;

/* numbers [begin, end) of a list; are all of them rows? */
#define COPY_RUN(name, type)                                                                                 \
    static bool name(const rl_view *list, int64_t begin, int64_t end, int64_t rows, int64_t *to) {           \
        const type *from = rl_const_data(list);                                                              \
        const int64_t step = list->strides[0];                                                               \
        bool outside = false;                                                                                \
        for (int64_t i = begin; i < end; i++) {                                                              \
            const int64_t row = __atomic_load_n(from + i * step, __ATOMIC_RELAXED);                          \
            outside |= (uint64_t)row >= (uint64_t)rows;                                                      \
            to[i] = row;                                                                                     \
        }                                                                                                    \
        return !outside;                                                                                     \
    }
COPY_RUN(copy_narrow, int32_t)
COPY_RUN(copy_wide, int64_t)

static rl_status rows_copy(rl_call *k, rl_embedding_bags *b, reading r) {
    const int64_t end = b->bags ? b->begin[b->bags] : 0;
    if ((r.index->dtype == RL_I32 ? copy_narrow : copy_wide)(r.index, 0, end, b->rows, b->index))
        return RL_OK;
    for (int64_t i = 0;; i++)
        if (b->index[i] < 0 || b->index[i] >= b->rows) return index_outside(k, b, i, b->index[i], r.placed);
}

/* the bag of each index, -1: none */
#define BAG_NUMBERS(name, type)                                                                              \
    static void name(const rl_embedding_bags *b, const rl_view *list) {                                      \
        type *to = rl_data(list, RL_WRITE);                                                                  \
        for (int64_t bag = 0; bag < b->bags; bag++)                                                          \
            for (int64_t i = b->begin[bag], end = b->begin[bag + 1]; i < end; i++) to[i] = (type)bag;        \
        for (int64_t i = b->begin[b->bags]; i < list->numel; i++) to[i] = -1;                                \
    }
BAG_NUMBERS(numbers_narrow, int32_t)
BAG_NUMBERS(numbers_wide, int64_t)

/* Takes the rows `skip` out of the copy. */
static void rows_skip(rl_embedding_bags *b) {
    for (int64_t bag = 0, i = b->begin[0]; bag < b->bags; bag++) {
        const int64_t end = b->begin[bag + 1];
        b->begin[bag] = b->n;
        for (; i < end; i++)
            if (b->index[i] != b->skip) b->place[b->n] = i, b->index[b->n++] = b->index[i];
    }
    b->skipped = b->begin[b->bags] - b->n;
    b->begin[b->bags] = b->n;
}

static rl_status lists_read(rl_call *k, rl_embedding_bags *b, reading r) {
    const int64_t length = r.index->numel, places = b->skip < 0 ? 0 : length;
    b->begin = k->svc->scratch(k, rl_count_plus(RL_COUNT(r.offsets->numel), 1), sizeof(int64_t));
    b->index = k->svc->scratch(k, RL_COUNT(length), sizeof(int64_t));
    b->place = k->svc->scratch(k, RL_COUNT(places), sizeof(int64_t));
    if (!b->begin || !b->index || !b->place || begins_read(k, b, r.offsets, length) != RL_OK ||
        rows_copy(k, b, r) != RL_OK)
        return RL_FAIL;
    if (b->bags == 0) b->begin[0] = 0;
    if (r.bag_of) (r.bag_of->dtype == RL_I32 ? numbers_narrow : numbers_wide)(b, r.bag_of);
    if (b->skip < 0)
        b->n = b->begin[b->bags], b->place = NULL;
    else
        rows_skip(b);
    return RL_OK;
}

/* ---- what rows are times ---- */
/* weights of the indices */
#define READ_WEIGHTS(name, type, load)                                                                       \
    static void name(const rl_embedding_bags *b, const rl_view *weights) {                                   \
        const type *from = rl_const_data(weights);                                                           \
        for (int64_t i = 0; i < b->n; i++)                                                                   \
            b->scale[i] = (double)load(from[(b->place ? b->place[i] : i) * weights->strides[0]]);            \
    }
READ_WEIGHTS(weights_half, rl_half, rl_from_half)
READ_WEIGHTS(weights_bfloat, rl_bfloat, rl_from_bfloat)
READ_WEIGHTS(weights_float, float, )
READ_WEIGHTS(weights_double, double, )

static void weights_read(const rl_embedding_bags *b, const rl_view *weights) {
    switch (weights ? weights->dtype : RL_NDTYPES) {
    case RL_F16: weights_half(b, weights); break;
    case RL_BF16: weights_bfloat(b, weights); break;
    case RL_F32: weights_float(b, weights); break;
    case RL_F64: weights_double(b, weights); break;
    default:
        for (int64_t i = 0; i < b->n; i++) b->scale[i] = 1;
    }
}

/* By how often a row comes, as PyTorch counts: the u-th of the rows that come at all is divided by the count
 * of the row that stands at place u of the sorted list. That is its own count as long as the rows before it
 * come once each. */
static void counts_shift(const int64_t *count, int64_t rows, double *divisor) {
    int64_t row = 0, left = 0; /* which stands there, and how often it comes after that */
    for (int64_t r = 0; r < rows; r++) {
        if (!count[r]) continue;
        if (left == 0) {
            while (!count[row]) row++;
            left = count[row];
        }
        divisor[r] = (double)count[row];
        if (--left == 0) row++;
    }
}
static rl_status scale_by_count(rl_call *k, rl_embedding_bags *b) {
    int64_t *count = k->svc->scratch(k, RL_COUNT(b->rows), sizeof(int64_t));
    double *divisor = k->svc->scratch(k, RL_COUNT(b->rows), sizeof(double));
    if (!count || !divisor) return RL_FAIL;
    memset(count, 0, (size_t)b->rows * sizeof *count);
    for (int64_t i = 0; i < b->n; i++) count[b->index[i]]++;
    if (b->skipped) count[b->skip] += b->skipped;
    counts_shift(count, b->rows, divisor);
    for (int64_t i = 0; i < b->n; i++) b->scale[i] /= divisor[b->index[i]];
    return RL_OK;
}

static rl_status scale_find(rl_call *k, rl_embedding_bags *b, const rl_view *weights, bool by_count,
                            bool by_size) {
    if (!weights && !by_count && !by_size) return RL_OK;
    b->scale = k->svc->scratch(k, RL_COUNT(b->n), sizeof(double));
    if (!b->scale) return RL_FAIL;
    weights_read(b, weights);
    if (by_count && scale_by_count(k, b) != RL_OK) return RL_FAIL;
    for (int64_t bag = 0; by_size && bag < b->bags; bag++)
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++)
            b->scale[i] /= (double)(b->begin[bag + 1] - b->begin[bag]);
    return RL_OK;
}

/* ---- the calls ---- */
/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last, padding) */
rl_status rl_embedding_bags_forward(rl_call *k, rl_embedding_bags *b) {
    const rl_view *weight = k->arg[0].u.t, *sizes = k->out[2], *largest = k->out[3];
    *b =
        (rl_embedding_bags){.bags = k->out[0]->shape[0], .rows = weight->shape[0], .width = weight->shape[1]};
    b->mode = k->arg[4].u.i, b->skip = k->arg[8].u.i;
    const reading r = {.index = k->arg[1].u.t,
                       .offsets = k->arg[2].u.t,
                       .bag_of = k->out[1],
                       .placed = weight->dtype != RL_F64 && b->mode != RL_EMBEDDING_BAG_MAX};
    if (lists_read(k, b, r) != RL_OK) return RL_FAIL;
    for (int64_t bag = 0; bag < sizes->numel; bag++) {
        const int64_t size = b->mode == RL_EMBEDDING_BAG_SUM ? 0 : b->begin[bag + 1] - b->begin[bag];
        rl_embedding_bag_put(sizes, bag, size);
        if (b->mode != RL_EMBEDDING_BAG_MAX) rl_embedding_bag_put(largest, bag, size);
    }
    return scale_find(k, b, rl_in(k, 6), false, false);
}

/* (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
 * sparse, per_sample_weights, padding_idx) */
rl_status rl_embedding_bags_backward(rl_call *k, rl_embedding_bags *b) {
    *b = (rl_embedding_bags){
        .bags = rl_tensor_arg(k, 0)->shape[0], .rows = k->out[0]->shape[0], .width = k->out[0]->shape[1]};
    b->mode = k->arg[8].u.i, b->skip = k->arg[11].u.i;
    const reading r = {.index = k->arg[1].u.t, .offsets = k->arg[2].u.t};
    if (lists_read(k, b, r) != RL_OK) return RL_FAIL;
    return scale_find(k, b, rl_in(k, 10), k->arg[7].u.i, b->mode == RL_EMBEDDING_BAG_MEAN);
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx) */
rl_status rl_embedding_bags_weights(rl_call *k, rl_embedding_bags *b) {
    const rl_view *weight = k->arg[1].u.t;
    *b = (rl_embedding_bags){
        .bags = rl_tensor_arg(k, 0)->shape[0], .rows = weight->shape[0], .width = weight->shape[1]};
    b->mode = RL_EMBEDDING_BAG_SUM, b->skip = k->arg[6].u.i;
    const reading r = {.index = k->arg[2].u.t, .offsets = k->arg[3].u.t};
    return lists_read(k, b, r);
}
