/* Sums of contiguous float32 over neighbouring dimensions, in double.
 *
 *   input [lead][run][tail] ─► output [lead][tail]      tail == 1: a run is summed in blocks, whatever the
 * threads else: TILE columns at a time stay in registers */
#include "common.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
typedef float f4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef double d4 __attribute__((vector_size(32)));
#define WIDEN(p) __builtin_convertvector(*(const f4 *)(p), d4)

enum { TILE = 32, BLOCK = 1 << 15 };
typedef struct {
    const float *from;
    float *to;
    double *parts; /* of the blocks of a run */
    int64_t lead, run, tail, pieces;
} sum_job;

static V_TARGET double sum_row(const float *x, int64_t n) {
    d4 a = {0}, b = {0}, c = {0}, d = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        a += WIDEN(x + i), b += WIDEN(x + i + 4), c += WIDEN(x + i + 8), d += WIDEN(x + i + 12);
    for (; i + 4 <= n; i += 4) a += WIDEN(x + i);
    a = (a + b) + (c + d);
    double sum = (a[0] + a[2]) + (a[1] + a[3]);
    for (; i < n; i++) sum += x[i];
    return sum;
}

static V_TARGET void sum_tile(const float *x, int64_t rows, int64_t step, float *to) {
    d4 sum[TILE / 4] = {{0}};
    for (int64_t r = 0; r < rows; r++, x += step)
        for (int j = 0; j < TILE / 4; j++) sum[j] += WIDEN(x + 4 * j);
    for (int j = 0; j < TILE; j++) to[j] = (float)sum[j / 4][j % 4];
}

static void sum_few(const float *x, int64_t rows, int64_t step, float *to, int64_t width) {
    double sum[TILE] = {0};
    for (int64_t r = 0; r < rows; r++, x += step)
        for (int64_t j = 0; j < width; j++) sum[j] += x[j];
    for (int64_t j = 0; j < width; j++) to[j] = (float)sum[j];
}

static void rows_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const sum_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % j->pieces * BLOCK, n = simd_min(j->run - at, BLOCK);
        double sum = sum_row(j->from + i / j->pieces * j->run + at, n);
        if (j->parts)
            j->parts[i] = sum;
        else
            j->to[i] = (float)sum;
    }
}

static void columns_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const sum_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % j->pieces * TILE, outer = i / j->pieces;
        const float *from = j->from + outer * j->run * j->tail + at;
        float *to = j->to + outer * j->tail + at;
        if (at + TILE <= j->tail)
            sum_tile(from, j->run, j->tail, to);
        else
            sum_few(from, j->run, j->tail, to, j->tail - at);
    }
}

/* Do the reduced dims stand side by side? Their sizes into j. */
static bool sum_shape(const rl_view *x, uint64_t mask, sum_job *j) {
    int place = 0; /* 0: before the run, 1: within, 2: behind */
    int64_t size[3] = {1, 1, 1};
    for (int d = 0; d < x->ndim; d++) {
        bool reduced = mask >> d & 1;
        if (x->shape[d] == 1) continue;
        if (reduced && place == 2) return false;
        place = reduced ? 1 : place ? 2 : 0;
        size[place] *= x->shape[d];
    }
    j->lead = size[0], j->run = size[1], j->tail = size[2];
    return true;
}

static void sum_spread(rl_call *k, sum_job *j, int64_t units, int64_t cost,
                       void (*chunk)(void *, int64_t, int64_t, int)) {
    k->svc->parallel(k, units, 0.3 * (double)cost, chunk, j);
}

RL_KERNEL(simd_sum) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    sum_job j = {0};
    if (!(k->svc->isa & RL_ISA_AVX2) || x->dtype != RL_F32 || out->dtype != RL_F32 || x->numel == 0 ||
        !rl_is_contiguous(x) || !rl_is_contiguous(out) || !sum_shape(x, (uint64_t)k->attr[0], &j))
        return RL_UNSUPPORTED;
    j.from = rl_const_data(x);
    if (j.tail > 1) {
        j.to = rl_data(out, RL_WRITE);
        j.pieces = simd_ceil_div(j.tail, TILE);
        sum_spread(k, &j, j.lead * j.pieces, j.run * TILE, columns_chunk);
        return RL_OK;
    }
    j.pieces = simd_ceil_div(j.run, BLOCK);
    if (j.pieces > 1 && !(j.parts = k->svc->scratch(k, RL_COUNT(j.lead, j.pieces), sizeof *j.parts)))
        return RL_FAIL;
    j.to = rl_data(out, RL_WRITE);
    sum_spread(k, &j, j.lead * j.pieces, simd_min(j.run, BLOCK), rows_chunk);
    for (int64_t i = 0; j.parts && i < j.lead; i++) {
        double sum = 0;
        for (int64_t p = 0; p < j.pieces; p++) sum += j.parts[i * j.pieces + p];
        j.to[i] = (float)sum;
    }
    return RL_OK;
}
#else
RL_KERNEL(simd_sum) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
