/* Softmax over any dimension of floats.
 *
 *   [outer][n][inner]   inner == 1: rows of n that lie side by side
 *                       else: tiles of columns, which stay in the cache between their passes */
#include "floats.h"
#include <string.h>
typedef void (*rows_fn)(const float *, const float *, float *, int64_t n, int64_t rows);
typedef void (*tile_fn)(const float *, const float *, float *, int64_t n, int64_t step, int64_t width);
typedef struct {
    rows_fn rows;
    tile_fn columns;
    int tile;
} softmax_ukernel;
typedef struct {
    const softmax_ukernel *ukernel;
    bool safe;          /* rows that are -inf throughout become 0 */
    const float *a, *b; /* b: of gradients */
    float *to;
    int64_t n, inner, tiles;
    bool back;                   /* halves: there is a b */
    simd_half_rows halves[3];    /* Note [Rows of halves]: a, b and the result */
    int64_t some;                /* rows of a strip */
    rl_rooms rooms;              /* of each thread, whose strips begin at ... */
    int64_t a_at, b_at, made_at; /* ... */
} softmax_job;
enum { STRIP = 1024 }; /* numbers of a strip, at least */
/* Numbers of a row, and rows of a column, whose sum is float; those are joined in double, or with the
 * rounding error kept. */
enum { SPAN = 1024, STRETCH = 64 };
static const double NUMBER_NS = 1; /* by exp */
#define ISA_IMPL "softmax_impl.inc"
#include "kernels/simd/foreach_isa.h"

/* softmax() of a row that is -inf throughout was NaN */
static void rows_mend(const float *x, float *to, int64_t n, int64_t rows) {
    for (int64_t r = 0; r < rows; r++, x += n, to += n) {
        int64_t i = 0;
        if (to[0] == to[0]) continue;
        while (i < n && x[i] == -__builtin_inff()) i++;
        if (i == n) memset(to, 0, (size_t)n * sizeof *to);
    }
}

static void rows_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const softmax_job *j = ctx;
    (void)thread;
    int64_t at = begin * j->n;
    j->ukernel->rows(j->a + at, j->b ? j->b + at : NULL, j->to + at, j->n, end - begin);
    if (j->safe) rows_mend(j->a + at, j->to + at, j->n, end - begin);
}

static void strips_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const softmax_job *j = ctx;
    char *room = rl_room(&j->rooms, thread);
    float *a = (float *)(room + j->a_at), *b = j->back ? (float *)(room + j->b_at) : NULL;
    float *to = (float *)(room + j->made_at);
    for (int64_t i = begin; i < end; i += j->some) {
        const int64_t rows = simd_min(j->some, end - i), n = rows * j->n;
        simd_half_rows_read(&j->halves[0], a, i * j->n, n);
        if (b) simd_half_rows_read(&j->halves[1], b, i * j->n, n);
        j->ukernel->rows(a, b, to, j->n, rows);
        if (j->safe) rows_mend(a, to, j->n, rows);
        simd_half_rows_write(&j->halves[2], to, i * j->n, n);
    }
}

static rl_layout strips_layout(const rl_call *k, softmax_job *j) {
    const rl_count strip = RL_COUNT(j->some, j->n);
    rl_layout l = rl_layout_begin(k);
    j->a_at = rl_layout_add(&l, strip, sizeof(float));
    j->b_at = rl_layout_add(&l, strip, sizeof(float));
    j->made_at = rl_layout_add(&l, strip, sizeof(float));
    return l;
}

/* rows of halves, strip by strip */
static rl_status strips_run(rl_call *k, softmax_job *j, const rl_view *a, const rl_view *b, int64_t rows) {
    j->some = simd_ceil_div(STRIP, j->n);
    j->back = b != NULL;
    const rl_layout l = strips_layout(k, j);
    if (!k->svc->rooms(k, &l, k->threads, &j->rooms)) return RL_FAIL;
    j->halves[0] = simd_half_rows_begin(k, a, RL_READ);
    if (b) j->halves[1] = simd_half_rows_begin(k, b, RL_READ);
    j->halves[2] = simd_half_rows_begin(k, k->out[0], RL_WRITE);
    k->svc->parallel(k, rows, NUMBER_NS * (double)j->n, strips_chunk, j);
    return RL_OK;
}

static void tiles_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const softmax_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t column = i % j->tiles * j->ukernel->tile, at = i / j->tiles * j->n * j->inner + column;
        j->ukernel->columns(j->a + at, j->b ? j->b + at : NULL, j->to + at, j->n, j->inner,
                            simd_min(j->ukernel->tile, j->inner - column));
    }
}

RL_CHOOSER
static rl_status softmax_run(rl_call *k, int arguments, bool safe, const softmax_ukernel *ukernels) {
    const rl_view *a = rl_in(k, 0), *b = arguments == 2 ? rl_in(k, 1) : NULL, *out = k->out[0];
    if (!k->svc->isa || out->numel == 0 || !simd_is_floats(a)) return RL_UNSUPPORTED;
    softmax_job j = {.ukernel = &ukernels[k->svc->isa], .safe = safe, .n = 1, .inner = 1};
    if (safe && out->ndim && k->attr[0] != out->ndim - 1) return RL_UNSUPPORTED;
    if (out->ndim) j.n = out->shape[k->attr[0]];
    for (int d = (int)k->attr[0] + 1; d < out->ndim; d++) j.inner *= out->shape[d];
    int64_t outer = out->numel / (j.n * j.inner);
    if (j.inner == 1 && simd_is_half_rows(out) && simd_is_half_rows(a) && (!b || simd_is_half_rows(b)))
        return strips_run(k, &j, a, b, outer);
    if (!(j.a = simd_floats_of(k, a)) || (b && !(j.b = simd_floats_of(k, b))) ||
        simd_results_begin(k, 0, &j.to) != RL_OK)
        return RL_FAIL;
    j.tiles = simd_ceil_div(j.inner, j.ukernel->tile);
    if (j.inner == 1)
        k->svc->parallel(k, outer, NUMBER_NS * (double)j.n, rows_chunk, &j);
    else
        k->svc->parallel(k, outer * j.tiles, NUMBER_NS * (double)(j.n * simd_min(j.inner, j.ukernel->tile)),
                         tiles_chunk, &j);
    return simd_results_end(k, 0, &j.to);
}

#define SOFTMAX_OF(isa, torch, has, name)                                                                    \
    [RL_ISA_##isa] = {name##_rows_##isa, name##_columns_##isa, TILE_##isa},
#define SOFTMAX(kernel, arguments, safe, name)                                                               \
    RL_KERNEL(simd_##kernel) {                                                                               \
        static const softmax_ukernel ukernels[] = {RL_EACH_ISA(SOFTMAX_OF, name)};                           \
        return softmax_run(k, arguments, safe, ukernels);                                                    \
    }
SOFTMAX(softmax, 1, false, softmax)
SOFTMAX(safe_softmax, 1, true, softmax)
SOFTMAX(log_softmax, 1, false, log_softmax)
SOFTMAX(softmax_backward, 2, false, softmax_back)
SOFTMAX(log_softmax_backward, 2, false, log_softmax_back)
