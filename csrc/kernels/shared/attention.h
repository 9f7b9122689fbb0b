/* What kernels of attention read of their call. */
#ifndef RL_KERNELS_SHARED_ATTENTION_H
#define RL_KERNELS_SHARED_ATTENTION_H
#include "kernel_abi/kernel.h"
#include <math.h>

/* Note [Attention]
 *
 *                  keys: j ->
 *    queries      ┌──────────┐      values            a score is scale * (query row . key row), plus the
 *    rows       i │  scores  │  x   keys   =  out     mask; a row of weights is softmax of its scores, or 0
 *    of width     └──────────┘      of wide           where all of these are -inf
 *
 *   logsumexp of a row is log(sum(exp(score))), by which weights are found again; 0 where all are 0. Causal:
 *   row i sees keys 0 .. i. Any number of batches stands in front. A mask may be stretched over batches, rows
 *   and keys. */
typedef struct {
    const rl_view *query, *key, *value, *mask; /* mask: may be NULL */
    int64_t batches, rows, keys, width, wide;
    int64_t mask_row, mask_col; /* strides of the mask, in elements */
    double scale;
    bool causal;
} rl_attention;

/* query, key and value are arguments from `at` on; is_causal, attn_mask and scale from `rest` on */
static inline rl_attention rl_attention_of(const rl_call *k, int at, int rest) {
    rl_attention a = {
        .query = rl_in(k, at), .key = rl_in(k, at + 1), .value = rl_in(k, at + 2), .batches = 1};
    const int n = a.query->ndim;
    a.rows = a.query->shape[n - 2], a.width = a.query->shape[n - 1];
    a.keys = a.key->shape[n - 2], a.wide = a.value->shape[n - 1];
    for (int d = 0; d < n - 2; d++) a.batches *= a.query->shape[d];
    a.causal = k->arg[rest].u.i != 0;
    a.mask = rl_in(k, rest + 1);
    if (a.mask) {
        const int m = a.mask->ndim;
        if (m > 0 && a.mask->shape[m - 1] != 1) a.mask_col = a.mask->strides[m - 1];
        if (m > 1 && a.mask->shape[m - 2] != 1) a.mask_row = a.mask->strides[m - 2];
    }
    /* rows of no numbers fit each other equally well */
    a.scale = a.width == 0                      ? 0
              : k->arg[rest + 2].tag == RL_NONE ? 1 / sqrt((double)a.width)
                                                : rl_num(k, rest + 2);
    return a;
}

/* how many elements into a view a batch begins; the view's last `inner` dimensions are no batches */
static inline int64_t rl_attention_offset(const rl_attention *a, const rl_view *v, int inner, int64_t batch) {
    const rl_view *q = a->query;
    int64_t offset = 0;
    for (int d = q->ndim - 3; d >= 0; batch /= q->shape[d--]) {
        const int dim = d - (q->ndim - 2) + v->ndim - inner;
        if (dim >= 0 && v->shape[dim] != 1) offset += batch % q->shape[d] * v->strides[dim];
    }
    return offset;
}
static inline char *rl_attention_at(const rl_attention *a, const rl_view *v, int inner, int64_t batch,
                                    int mode) {
    return (char *)rl_data(v, mode) + rl_attention_offset(a, v, inner, batch) * rl_itemsize(v->dtype);
}
static inline int64_t rl_attention_seen(const rl_attention *a, int64_t row) { /* keys that a row sees */
    return a->causal && row + 1 < a->keys ? row + 1 : a->keys;
}
#endif
