/* Reads the calls of embedding_bag and of its gradients: Note [Bags]. */
#include "bag.h"
#include <string.h>

int64_t rl_bag_number(const rl_view *list, int64_t i) {
    const int64_t at = i * list->strides[list->ndim - 1];
    if (list->dtype == RL_I32)
        return __atomic_load_n((const int32_t *)rl_const_data(list) + at, __ATOMIC_RELAXED);
    return __atomic_load_n((const int64_t *)rl_const_data(list) + at, __ATOMIC_RELAXED);
}
void rl_bag_put(const rl_view *list, int64_t i, int64_t number) {
    if (list->dtype == RL_I32)
        ((int32_t *)rl_data(list, RL_WRITE))[i] = (int32_t)number;
    else
        ((int64_t *)rl_data(list, RL_WRITE))[i] = number;
}

/* ---- where bags begin ---- */
/* one offset more than bags: the last one is where the last bag ends */
static rl_status begins_read(rl_call *k, const rl_bags *b, const rl_view *offsets, int64_t length) {
    for (int64_t i = 0; i < offsets->numel; i++) {
        const int64_t at = rl_bag_number(offsets, i);
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

static rl_status index_outside(rl_call *k, const rl_bags *b, int64_t i, int64_t row, bool placed) {
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

static rl_status lists_read(rl_call *k, rl_bags *b, reading r) {
    const int64_t length = r.index->numel;
    b->begin = k->svc->scratch(k, rl_count_plus(RL_COUNT(r.offsets->numel), 1), sizeof(int64_t));
    b->index = k->svc->scratch(k, rl_count_plus(RL_COUNT(2, length), 1), sizeof(int64_t));
    if (!b->begin || !b->index) return RL_FAIL;
    b->place = b->index + length, b->n = 0;
    if (begins_read(k, b, r.offsets, length) != RL_OK) return RL_FAIL;
    for (int64_t bag = 0; bag < b->bags; bag++) {
        int64_t i = b->begin[bag];
        b->begin[bag] = b->n;
        for (; i < b->begin[bag + 1]; i++) {
            const int64_t row = rl_bag_number(r.index, i);
            if (row < 0 || row >= b->rows) return index_outside(k, b, i, row, r.placed);
            if (r.bag_of) rl_bag_put(r.bag_of, i, bag);
            b->skipped += row == b->skip;
            if (row == b->skip) continue;
            b->index[b->n] = row, b->place[b->n++] = i;
        }
    }
    for (int64_t i = b->begin[b->bags]; r.bag_of && i < length; i++) rl_bag_put(r.bag_of, i, -1);
    b->begin[b->bags] = b->n;
    return RL_OK;
}

/* ---- what rows are times ---- */
static double value_at(const rl_view *v, int64_t i) {
    const char *p = (const char *)rl_const_data(v) + i * v->strides[0] * rl_itemsize(v->dtype);
    switch (v->dtype) {
    case RL_F16: return (double)rl_from_half(*(const rl_half *)(const void *)p);
    case RL_BF16: return (double)rl_from_bfloat(*(const rl_bfloat *)(const void *)p);
    case RL_F32: return (double)*(const float *)(const void *)p;
    default: return *(const double *)(const void *)p;
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
static rl_status scale_by_count(rl_call *k, rl_bags *b) {
    int64_t *count = k->svc->scratch(k, rl_count_plus(RL_COUNT(b->rows), 1), sizeof(int64_t));
    double *divisor = k->svc->scratch(k, rl_count_plus(RL_COUNT(b->rows), 1), sizeof(double));
    if (!count || !divisor) return RL_FAIL;
    memset(count, 0, (size_t)b->rows * sizeof *count);
    for (int64_t i = 0; i < b->n; i++) count[b->index[i]]++;
    if (b->skipped) count[b->skip] += b->skipped;
    counts_shift(count, b->rows, divisor);
    for (int64_t i = 0; i < b->n; i++) b->scale[i] /= divisor[b->index[i]];
    return RL_OK;
}

static rl_status scale_find(rl_call *k, rl_bags *b, const rl_view *weights, bool by_count, bool by_size) {
    if (!weights && !by_count && !by_size) return RL_OK;
    b->scale = k->svc->scratch(k, rl_count_plus(RL_COUNT(b->n), 1), sizeof(double));
    if (!b->scale) return RL_FAIL;
    for (int64_t i = 0; i < b->n; i++) b->scale[i] = weights ? value_at(weights, b->place[i]) : 1;
    if (by_count && scale_by_count(k, b) != RL_OK) return RL_FAIL;
    for (int64_t bag = 0; by_size && bag < b->bags; bag++)
        for (int64_t i = b->begin[bag]; i < b->begin[bag + 1]; i++)
            b->scale[i] /= (double)(b->begin[bag + 1] - b->begin[bag]);
    return RL_OK;
}

/* ---- the calls ---- */
/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last, padding) */
rl_status rl_bags_forward(rl_call *k, rl_bags *b) {
    const rl_view *weight = k->arg[0].u.t, *sizes = k->out[2], *largest = k->out[3];
    *b = (rl_bags){.bags = k->out[0]->shape[0], .rows = weight->shape[0], .width = weight->shape[1]};
    b->mode = k->arg[4].u.i, b->skip = k->arg[8].u.i;
    const reading r = {.index = k->arg[1].u.t,
                       .offsets = k->arg[2].u.t,
                       .bag_of = k->out[1],
                       .placed = weight->dtype != RL_F64 && b->mode != RL_BAG_MAX};
    if (lists_read(k, b, r) != RL_OK) return RL_FAIL;
    for (int64_t bag = 0; bag < sizes->numel; bag++) {
        const int64_t size = b->mode == RL_BAG_SUM ? 0 : b->begin[bag + 1] - b->begin[bag];
        rl_bag_put(sizes, bag, size);
        if (b->mode != RL_BAG_MAX) rl_bag_put(largest, bag, size);
    }
    return scale_find(k, b, rl_in(k, 6), false, false);
}

/* (grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
 * sparse, per_sample_weights, padding_idx) */
rl_status rl_bags_backward(rl_call *k, rl_bags *b) {
    *b =
        (rl_bags){.bags = k->arg[0].u.t->shape[0], .rows = k->out[0]->shape[0], .width = k->out[0]->shape[1]};
    b->mode = k->arg[8].u.i, b->skip = k->arg[11].u.i;
    const reading r = {.index = k->arg[1].u.t, .offsets = k->arg[2].u.t};
    if (lists_read(k, b, r) != RL_OK) return RL_FAIL;
    return scale_find(k, b, rl_in(k, 10), k->arg[7].u.i, b->mode == RL_BAG_MEAN);
}

/* (grad, weight, indices, offsets, offset2bag, mode, padding_idx) */
rl_status rl_bags_weights(rl_call *k, rl_bags *b) {
    const rl_view *weight = k->arg[1].u.t;
    *b = (rl_bags){.bags = k->arg[0].u.t->shape[0], .rows = weight->shape[0], .width = weight->shape[1]};
    b->mode = RL_BAG_SUM, b->skip = k->arg[6].u.i;
    const reading r = {.index = k->arg[2].u.t, .offsets = k->arg[3].u.t};
    return lists_read(k, b, r);
}
