/* The gradients of attention: Note [Attention in blocks] in kernels/simd/attention.h. */
#include "attention.h"
#include "common.h"

enum { KEYS = 256, TASKS = 16, MIN_CHUNK = 2 * KEYS };
enum {
    MASK,
    SCORES,
    SLOPES,
    LSE,
    MEAN,
    KEY_PANELS,
    VALUE_PANELS,
    BY_KEY,
    BY_VALUE,
    KEY_ROWS,
    QUERIES,
    GRADS,
    GRAD_ROW,
    OUT_ROW,
    PARTS
};
static const double SLOPE_NS = 1.2; /* a weight that is found again, and its gradient */

typedef struct {
    attention_job j;
    const rl_view *grad, *out, *lse, *made[3];
    simd_cast_copy lse_in;
    char *sums; /* gradients of queries of each chunk, or NULL: they are added up where they belong */
} back_job;

/* logsumexp of all rows of a batch, and of each the mean of what comes to its weights: grad . out */
static void rows_begin(const back_job *f, int64_t batch, int thread) {
    const attention_job *j = &f->j;
    const int64_t size = j->size, n = j->a.rows, wide = j->a.wide, stride = f->lse->strides[f->lse->ndim - 1];
    const int64_t item = rl_itemsize(f->lse->dtype);
    char *mean = attention_part(j, thread, MEAN), *grad_row = attention_part(j, thread, GRAD_ROW);
    char *out_row = attention_part(j, thread, OUT_ROW);
    const char *lse = rl_attention_at(&j->a, f->lse, 1, batch, RL_READ);
    simd_cast_copy_run(&f->lse_in, attention_part(j, thread, LSE), size, lse, stride * item, n);
    for (int64_t i = 0; i < n; i++) {
        const attention_matrix g = rl_attention_load(j, f->grad, batch, i, i + 1, grad_row);
        const attention_matrix o = rl_attention_load(j, f->out, batch, i, i + 1, out_row);
        const double sum = j->ukernel->dot(g.at, o.at, wide);
        if (size == 4)
            ((float *)mean)[i] = (float)sum;
        else
            ((double *)mean)[i] = sum;
    }
}

typedef struct {
    int64_t batch, j0, keys;
    attention_matrix rows; /* of keys */
    char *to;              /* gradients of queries */
    int64_t to_row;
    int thread;
} place;

/* c (keys x width) += a' (rows x keys)' b, from row `skip` on */
static void add_transposed(const attention_job *j, const attention_rows *s, int64_t skip, const char *a,
                           attention_matrix b, int64_t width, char *c) {
    attention_gemm p = {.rows = s->keys, .k = s->rows - skip, .cols = width, .a_row = 1, .a_col = s->pitch};
    p.a = a + skip * s->pitch * j->size, p.b = b.at + skip * b.row * j->size, p.b_row = b.row;
    p.b_panel = j->gemm->nr, p.c = c, p.c_row = width, p.add = true;
    rl_attention_multiply(j, p);
}

/* rows x panels of keys, where the diagonal does not leave them out */
static void multiply_panels(const attention_job *j, const attention_rows *s, int64_t seen, attention_matrix a,
                            int64_t width, const char *panels, char *to) {
    const int64_t nr = j->gemm->nr, mr = j->gemm->mr;
    for (int64_t c = 0; c < s->keys; c += nr) {
        const int64_t skip = simd_min(s->rows, simd_max(0, c - seen + 1) / mr * mr);
        attention_gemm p = {.rows = s->rows - skip, .k = width, .cols = simd_min(nr, s->keys - c)};
        p.a = a.at + skip * a.row * j->size, p.a_row = a.row, p.a_col = 1;
        p.b = panels + c * width * j->size, p.b_row = nr;
        p.c = to + (skip * s->pitch + c) * j->size, p.c_row = s->pitch;
        rl_attention_multiply(j, p);
    }
}

/* rows [i0, i1) against the block of keys */
static void block(const back_job *f, const place *at, int64_t i0, int64_t i1) {
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    const int64_t seen = a->causal ? i0 + 1 - at->j0 : at->keys, skip = simd_max(0, 1 - seen);
    const int thread = at->thread;
    attention_rows s = {
        .rows = i1 - i0, .keys = at->keys, .pitch = j->block + ATTENTION_PAD, .first = at->keys};
    if (a->causal) s.keys = simd_min(at->keys, seen + s.rows - 1), s.first = seen;
    s.scores = attention_part(j, thread, SCORES), s.sums = attention_part(j, thread, SLOPES);
    s.most = attention_part(j, thread, LSE) + i0 * j->size,
    s.total = attention_part(j, thread, MEAN) + i0 * j->size;
    s.scale = a->scale;
    const attention_matrix q =
        rl_attention_load(j, a->query, at->batch, i0, i1, attention_part(j, thread, QUERIES));
    const attention_matrix g =
        rl_attention_load(j, f->grad, at->batch, i0, i1, attention_part(j, thread, GRADS));
    multiply_panels(j, &s, seen, q, a->width, attention_part(j, thread, KEY_PANELS), s.scores);
    multiply_panels(j, &s, seen, g, a->wide, attention_part(j, thread, VALUE_PANELS), s.sums);
    rl_attention_mask_set(j, &s, at->batch, i0, at->j0, attention_part(j, thread, MASK));
    j->ukernel->slopes(&s);
    add_transposed(j, &s, skip, s.scores, g, a->wide, attention_part(j, thread, BY_VALUE));
    add_transposed(j, &s, skip, s.sums, q, a->width, attention_part(j, thread, BY_KEY));
    rl_attention_multiply(j, (attention_gemm){.rows = s.rows - skip,
                                              .k = s.keys,
                                              .cols = a->width,
                                              .a = (char *)s.sums + skip * s.pitch * j->size,
                                              .a_row = s.pitch,
                                              .a_col = 1,
                                              .b = at->rows.at,
                                              .b_row = at->rows.row,
                                              .b_panel = j->gemm->nr,
                                              .c = at->to + (i0 + skip) * at->to_row * j->size,
                                              .c_row = at->to_row,
                                              .add = true});
}

static void block_of_keys(const back_job *f, place *at) {
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    char *by_key = attention_part(j, at->thread, BY_KEY), *by_value = attention_part(j, at->thread, BY_VALUE);
    const int64_t end = at->j0 + at->keys;
    memset(by_key, 0, (size_t)(at->keys * a->width * j->size));
    memset(by_value, 0, (size_t)(at->keys * a->wide * j->size));
    rl_attention_panels(j, a->key, at->batch, at->j0, end, a->scale,
                        attention_part(j, at->thread, KEY_PANELS));
    rl_attention_panels(j, a->value, at->batch, at->j0, end, 1, attention_part(j, at->thread, VALUE_PANELS));
    at->rows = rl_attention_load(j, a->key, at->batch, at->j0, end, attention_part(j, at->thread, KEY_ROWS));
    for (int64_t i = a->causal ? at->j0 / ATTENTION_BLOCK * ATTENTION_BLOCK : 0; i < a->rows;
         i += ATTENTION_BLOCK)
        block(f, at, i, simd_min(a->rows, i + ATTENTION_BLOCK));
    for (int64_t i = 0; i < at->keys; i++) {
        rl_attention_store(j, f->made[1], at->batch, at->j0 + i, by_key + i * a->width * j->size);
        rl_attention_store(j, f->made[2], at->batch, at->j0 + i, by_value + i * a->wide * j->size);
    }
}

static void chunks(void *ctx, int64_t begin, int64_t end, int thread) {
    const back_job *f = ctx;
    const attention_job *j = &f->j;
    const rl_attention *a = &j->a;
    const rl_view *to = f->made[0];
    for (int64_t task = begin; task < end; task++) {
        place at = {.batch = task / j->chunks, .thread = thread, .to_row = a->width};
        const int64_t first = task % j->chunks * j->chunk, last = simd_min(a->keys, first + j->chunk);
        if (f->sums)
            at.to = f->sums + task * a->rows * a->width * j->size;
        else
            at.to = rl_attention_at(a, to, 2, at.batch, RL_WRITE), at.to_row = to->strides[to->ndim - 2];
        for (int64_t i = 0; i < a->rows; i++)
            memset(at.to + i * at.to_row * j->size, 0, (size_t)(a->width * j->size));
        rows_begin(f, at.batch, thread);
        for (at.j0 = first; at.j0 < last; at.j0 += j->block) {
            at.keys = simd_min(j->block, last - at.j0);
            block_of_keys(f, &at);
        }
    }
}

/* the sums of all chunks, in order, to where they belong */
static void gather(void *ctx, int64_t begin, int64_t end, int thread) {
    const back_job *f = ctx;
    const attention_job *j = &f->j;
    const int64_t rows = j->a.rows, line = j->a.width * j->size;
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        const int64_t batch = at / rows, i = at % rows;
        char *sum = f->sums + (batch * j->chunks * rows + i) * line;
        for (int64_t c = 1; c < j->chunks; c++) j->ukernel->add(sum, sum + c * rows * line, j->a.width);
        rl_attention_store(j, f->made[0], batch, i, sum);
    }
}

RL_CHOOSER
RL_KERNEL(simd_attention_back) {
    back_job f = {.grad = rl_in(k, 0),
                  .out = rl_in(k, 4),
                  .lse = rl_in(k, 5),
                  .made = {k->out[0], k->out[1], k->out[2]}};
    attention_job *j = &f.j;
    if (!rl_attention_begin(k, j, 1, 7)) return RL_UNSUPPORTED;
    const rl_attention *a = &j->a;
    f.lse_in = simd_cast_copy_between(k, a->query->dtype == RL_F64 ? RL_F64 : RL_F32, f.lse->dtype);
    const int64_t rows = simd_min(ATTENTION_BLOCK, a->rows), nr = j->gemm->nr;
    j->block = simd_min(KEYS, a->keys);
    const int64_t panels = simd_ceil_div(j->block, nr), pitch = j->block + ATTENTION_PAD;
    j->chunks = simd_max(1, simd_min(TASKS / a->batches, a->keys / MIN_CHUNK));
    j->chunk = simd_ceil_div(simd_ceil_div(a->keys, j->chunks), KEYS) * KEYS;
    j->chunks = simd_ceil_div(a->keys, j->chunk);
    const rl_count parts[PARTS] = {
        [MASK] = RL_COUNT(j->block),
        [SCORES] = RL_COUNT(rows, pitch),
        [SLOPES] = RL_COUNT(rows, pitch),
        [LSE] = RL_COUNT(a->rows),
        [MEAN] = RL_COUNT(a->rows),
        [KEY_PANELS] = RL_COUNT(panels, nr, a->width),
        [VALUE_PANELS] = RL_COUNT(panels, nr, a->wide),
        [BY_KEY] = RL_COUNT(j->block, a->width),
        [BY_VALUE] = RL_COUNT(j->block, a->wide),
        [KEY_ROWS] = RL_COUNT(rl_attention_moves(j, a->key), j->block, a->width),
        [QUERIES] = RL_COUNT(rl_attention_moves(j, a->query), rows, a->width),
        [GRADS] = RL_COUNT(rl_attention_moves(j, f.grad), rows, a->wide),
        [GRAD_ROW] = RL_COUNT(a->wide),
        [OUT_ROW] = RL_COUNT(a->wide),
    };
    if (rl_attention_rooms(k, j, parts, PARTS) != RL_OK) return RL_FAIL;
    if (j->chunks > 1 || rl_attention_moves(j, k->out[0])) {
        f.sums = k->svc->scratch(k, RL_COUNT(a->batches, j->chunks, a->rows, a->width, j->size), 1);
        if (!f.sums) return RL_FAIL;
    }
    const double ns = RL_GEMM_NS * (double)(j->size / 4 * (3 * a->width + 2 * a->wide)) + SLOPE_NS;
    k->svc->parallel(k, a->batches * j->chunks, ns * (double)(j->chunk * a->rows) / (a->causal ? 2 : 1),
                     chunks, &f);
    if (f.sums) k->svc->parallel(k, a->batches * a->rows, 0.3 * (double)(j->chunks * a->width), gather, &f);
    return RL_OK;
}
