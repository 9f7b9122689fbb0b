/* Attention forward: Note [Attention in blocks] in kernels/simd/attention.h. */
#include "attention.h"
#include "common.h"
#include "kernels/simd/gemm/gemm.h"

enum { CHUNK = 4 * ATTENTION_BLOCK, KEYS = 512 };
enum { QUERIES, SCORES, SUMS, MOST, TOTAL, MASK, PANELS, VALUES, PARTS };
static const double WEIGHT_NS = 0.8; /* a score that becomes a weight */

typedef struct {
    attention_job j;
    const rl_view *out, *lse;
    rl_gemv_body dots, rows;
} forward_job;

/* ---- rows of a batch: from i0 on, at `r` of a thread's parts ---- */
static void rows_begin(const forward_job *f, int thread, int64_t rows) {
    const int64_t size = f->j.size;
    char *most = attention_part(&f->j, thread, MOST);
    for (int64_t i = 0; i < rows; i++)
        if (size == 4)
            ((float *)most)[i] = -__builtin_inff();
        else
            ((double *)most)[i] = -__builtin_inf();
    memset(attention_part(&f->j, thread, TOTAL), 0, (size_t)(rows * size));
}

static void rows_end(const forward_job *f, int thread, int64_t batch, int64_t i0, int64_t rows) {
    const attention_job *j = &f->j;
    const int64_t wide = j->a.wide, *stride = f->out->strides + f->out->ndim - 2;
    const bool moves = rl_attention_moves(j, f->out);
    char *sums = attention_part(j, thread, SUMS), *to = rl_attention_at(&j->a, f->out, 2, batch, RL_WRITE);
    char *lse = (char *)rl_data(f->lse, RL_WRITE) + (batch * j->a.rows + i0) * j->size;
    attention_rows s = {.rows = rows, .wide = wide, .sums = sums};
    s.most = attention_part(j, thread, MOST), s.total = attention_part(j, thread, TOTAL);
    j->ukernel->end(&s, moves ? sums : to + i0 * stride[0] * j->size, moves ? wide : stride[0], lse);
    for (int64_t i = 0; moves && i < rows; i++)
        rl_attention_store(j, f->out, batch, i0 + i, sums + i * wide * j->size);
}

/* ---- blocks ---- */
typedef struct {
    int64_t batch, i0, j0, keys; /* of the chunk; the block of keys */
    attention_matrix queries, values;
    int thread;
} place;

/* Rows [r0, r1) of the chunk against the block of keys. Causal: where the diagonal goes through the block,
 * only what is under it is multiplied, up to a panel or a few rows. */
static void block(const forward_job *f, const place *at, int64_t r0, int64_t r1) {
    enum { STEP = 24 };
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    const int64_t size = j->size, nr = j->gemm->nr, seen = at->i0 + r0 + 1 - at->j0, wide = a->wide;
    const int64_t keys = a->causal ? simd_min(at->keys, seen + r1 - r0 - 1) : at->keys;
    const bool cut = a->causal && seen < keys;
    char *scores = attention_part(j, at->thread, SCORES), *sums = attention_part(j, at->thread, SUMS);
    attention_rows s = {.rows = r1 - r0, .keys = keys, .pitch = j->block + ATTENTION_PAD, .scores = scores};
    s.first = a->causal ? seen : keys;
    for (int64_t c = 0; c < keys; c += nr) {
        const int64_t skip = cut ? simd_max(0, c - seen + 1) / j->gemm->mr * j->gemm->mr : 0;
        attention_gemm p = {.rows = s.rows - skip, .k = a->width, .cols = simd_min(nr, keys - c)};
        p.a = at->queries.at + (r0 + skip) * at->queries.row * size, p.a_row = at->queries.row, p.a_col = 1;
        p.b = attention_part(j, at->thread, PANELS) + c * a->width * size, p.b_row = nr;
        p.c = scores + (skip * s.pitch + c) * size, p.c_row = s.pitch;
        rl_attention_multiply(j, p);
    }
    s.most = attention_part(j, at->thread, MOST) + r0 * size;
    s.total = attention_part(j, at->thread, TOTAL) + r0 * size;
    s.sums = sums + r0 * wide * size, s.wide = wide;
    rl_attention_mask_set(j, &s, at->batch, at->i0 + r0, at->j0, attention_part(j, at->thread, MASK));
    j->ukernel->weigh(&s);
    for (int64_t r = 0, step = cut ? STEP : s.rows; r < s.rows; r += step) {
        const int64_t rows = simd_min(step, s.rows - r), k = cut ? simd_min(keys, seen + r + rows - 1) : keys;
        if (k <= 0) continue;
        rl_attention_multiply(j, (attention_gemm){.rows = rows,
                                                  .k = k,
                                                  .cols = wide,
                                                  .a = scores + r * s.pitch * size,
                                                  .a_row = s.pitch,
                                                  .a_col = 1,
                                                  .b = at->values.at,
                                                  .b_row = at->values.row,
                                                  .b_panel = nr,
                                                  .c = (char *)s.sums + r * wide * size,
                                                  .c_row = wide,
                                                  .add = true});
    }
}

static void chunks(void *ctx, int64_t begin, int64_t end, int thread) {
    const forward_job *f = ctx;
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    for (int64_t task = begin; task < end; task++) {
        place at = {.batch = task / j->chunks, .i0 = task % j->chunks * j->chunk, .thread = thread};
        const int64_t rows = simd_min(j->chunk, a->rows - at.i0),
                      keys = rl_attention_seen(a, at.i0 + rows - 1);
        rows_begin(f, thread, rows);
        memset(attention_part(j, thread, SUMS), 0, (size_t)(rows * a->wide * j->size));
        at.queries =
            rl_attention_load(j, a->query, at.batch, at.i0, at.i0 + rows, attention_part(j, thread, QUERIES));
        for (at.j0 = 0; at.j0 < keys; at.j0 += j->block) {
            at.keys = simd_min(j->block, keys - at.j0);
            rl_attention_panels(j, a->key, at.batch, at.j0, at.j0 + at.keys, a->scale,
                                attention_part(j, thread, PANELS));
            at.values = rl_attention_load(j, a->value, at.batch, at.j0, at.j0 + at.keys,
                                          attention_part(j, thread, VALUES));
            for (int64_t r = 0; r < rows; r += ATTENTION_BLOCK) {
                const int64_t r1 = simd_min(rows, r + ATTENTION_BLOCK);
                if (!a->causal || at.j0 < at.i0 + r1) block(f, &at, r, r1);
            }
        }
        rows_end(f, thread, at.batch, at.i0, rows);
    }
}

RL_CHOOSER
RL_KERNEL(simd_attention) {
    forward_job f = {.out = k->out[0], .lse = k->out[1]};
    attention_job *j = &f.j;
    if (!rl_attention_begin(k, j, 0, 4)) return RL_UNSUPPORTED;
    const rl_attention *a = &j->a;
    j->block = simd_min(KEYS, a->keys), j->chunk = simd_min(CHUNK, a->rows);
    j->chunks = simd_ceil_div(a->rows, j->chunk);
    const int64_t rows = simd_min(ATTENTION_BLOCK, a->rows), nr = j->gemm->nr;
    const rl_count parts[PARTS] = {
        [QUERIES] = RL_COUNT(rl_attention_moves(j, a->query), j->chunk, a->width),
        [SCORES] = RL_COUNT(rows, j->block + ATTENTION_PAD),
        [SUMS] = RL_COUNT(j->chunk, a->wide),
        [MOST] = RL_COUNT(j->chunk),
        [TOTAL] = RL_COUNT(j->chunk),
        [MASK] = RL_COUNT(j->block),
        [PANELS] = RL_COUNT(simd_ceil_div(j->block, nr), nr, a->width),
        [VALUES] = RL_COUNT(rl_attention_moves(j, a->value), j->block, a->wide),
    };
    if (rl_attention_rooms(k, j, parts, PARTS) != RL_OK) return RL_FAIL;
    const double ns = RL_GEMM_NS * (double)(j->size / 4 * (a->width + a->wide)) + WEIGHT_NS;
    k->svc->parallel(k, a->batches * j->chunks, ns * (double)(j->chunk * a->keys) / (a->causal ? 2 : 1),
                     chunks, &f);
    return RL_OK;
}

/* ---- a few rows: keys and values are read once, as they lie ---- */
static void few(void *ctx, int64_t begin, int64_t end, int thread) {
    const forward_job *f = ctx;
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    const rl_view *key = a->key, *value = a->value;
    char *queries = attention_part(j, thread, QUERIES), *scores = attention_part(j, thread, SCORES);
    attention_rows s = {
        .rows = a->rows, .keys = j->block, .pitch = j->block + ATTENTION_PAD, .scores = scores};
    s.most = attention_part(j, thread, MOST), s.total = attention_part(j, thread, TOTAL);
    s.sums = attention_part(j, thread, SUMS), s.wide = a->wide, s.first = a->causal ? 1 : j->block;
    for (int64_t batch = begin; batch < end; batch++) {
        rows_begin(f, thread, a->rows);
        const attention_matrix q = rl_attention_load(j, a->query, batch, 0, a->rows, queries);
        for (int64_t i = 0; i < a->rows; i++) {
            char *row = queries + i * a->width * j->size;
            if (q.at != queries) memcpy(row, q.at + i * q.row * j->size, (size_t)(a->width * j->size));
            j->ukernel->scale(row, a->width, a->scale);
        }
        rl_gemv t = {
            .rows = a->rows, .k = a->width, .x = queries, .x_row = a->width, .c = scores, .c_row = s.pitch};
        t.c_col = 1, t.w = rl_attention_at(a, key, 2, batch, RL_READ), t.w_row = key->strides[key->ndim - 2];
        f->dots(&t, 0, j->block);
        rl_attention_mask_set(j, &s, batch, 0, 0, attention_part(j, thread, MASK));
        j->ukernel->weigh(&s);
        t.k = j->block, t.x = scores, t.x_row = s.pitch, t.c = s.sums, t.c_row = a->wide;
        t.w = rl_attention_at(a, value, 2, batch, RL_READ), t.w_row = value->strides[value->ndim - 2];
        f->rows(&t, 0, a->wide);
        rows_end(f, thread, batch, 0, a->rows);
    }
}

static bool has_dense_rows(const rl_view *v) {
    return v->strides[v->ndim - 1] == 1 || v->shape[v->ndim - 1] == 1;
}

RL_CHOOSER
RL_KERNEL(simd_attention_few) {
    forward_job f = {.out = k->out[0], .lse = k->out[1]};
    attention_job *j = &f.j;
    const int dtype = rl_in(k, 0)->dtype;
    if (!rl_attention_begin(k, j, 0, 4) || j->a.rows > RL_GEMM_FEW) return RL_UNSUPPORTED;
    const rl_attention *a = &j->a;
    if (!has_dense_rows(a->key) || !has_dense_rows(a->value)) return RL_UNSUPPORTED;
    f.dots = rl_gemv_body_get(rl_gemv_body_of(k, dtype, true));
    f.rows = rl_gemv_body_get(rl_gemv_body_of(k, dtype, false));
    j->block = rl_attention_seen(a, a->rows - 1);
    const rl_count parts[MASK + 1] = {
        [QUERIES] = RL_COUNT(a->rows, a->width),
        [SCORES] = RL_COUNT(a->rows, j->block + ATTENTION_PAD),
        [SUMS] = RL_COUNT(a->rows, a->wide),
        [MOST] = RL_COUNT(a->rows),
        [TOTAL] = RL_COUNT(a->rows),
        [MASK] = RL_COUNT(j->block),
    };
    if (rl_attention_rooms(k, j, parts, MASK + 1) != RL_OK) return RL_FAIL;
    const double ns =
        (0.03 * (double)(j->item * (a->width + a->wide)) + WEIGHT_NS * (double)a->rows) * (double)j->block;
    k->svc->parallel(k, a->batches, ns, few, &f);
    return RL_OK;
}
