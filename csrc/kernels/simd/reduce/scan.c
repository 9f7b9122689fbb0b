/* Scans along one dimension: running sums, products, logarithms of sums, extremes. */
#include "kernels/shared/strided_iterator.h"
#include "reduce.h"

/* Running sums and products along one dim. A line is its elements along that dim.
 *
 *   lines side by side in memory,   a tile of lines goes down its rows together
 *   or short ones
 *   a line in one piece             vectors run over it; few long ones are cut into blocks, whose totals
 *                                   are known before they are scanned
 *   all others                      through a small buffer, halves as floats */
#include <math.h>
/* elements of a block: fixed, so that no result depends on the threads */
enum { SCAN_TILE = 256, BLOCK = 1 << 14, FEW_LINES = 64, BUFFER = 1024, SHORT_LINE = 16 };
typedef struct {
    fold_cell (*total)(const void *from, int64_t n);
    fold_cell (*line)(const void *from, void *to, int64_t n, fold_cell before);
    /* of outputs, then of inputs: bytes from row to row, and from line to line */
    void (*across)(const char *from, char *to, int64_t rows, const int64_t step[2], const int64_t beside[2],
                   int width);
} scan_code;

/* Note [Running powers]
 * Of a block the largest element m is found first; then y = m + log(sum of exp(x - m)) is a running sum, in
 * vectors. It has all its bits where the first of those sums is not much smaller than the last. In all other
 * blocks, and beside infinities and NaN, one element joins after the other. */
enum { LOG_BLOCK = 128, LOG_RANGE = 30 };
static double log_add(double a, double b) {
    double high = fold_max(a, b), low = a < b ? a : b;
    if (high == low && isinf(high)) return high;
    return high + log1p(exp(low - high));
}

#define ISA_IMPL "kernels/simd/reduce/scan_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

#define SCAN_INTEGER(name, neutral, join)                                                                    \
    FOLD_LOOP fold_cell name##_total_I64(const void *from, int64_t n) {                                      \
        fold_cell all = {.i = neutral};                                                                      \
        for (int64_t i = 0; i < n; i++) all.i = join(all.i, ((const int64_t *)from)[i]);                     \
        return all;                                                                                          \
    }                                                                                                        \
    FOLD_LOOP fold_cell name##_line_I64(const void *from, void *to, int64_t n, fold_cell before) {           \
        const int64_t *x = from;                                                                             \
        int64_t *y = to;                                                                                     \
        for (int64_t i = 0; i < n; i++) y[i] = before.i = join(before.i, x[i]);                              \
        return before;                                                                                       \
    }                                                                                                        \
    FOLD_LOOP void name##_across_I64(const char *from, char *to, int64_t rows, const int64_t step[2],        \
                                     const int64_t beside[2], int width) {                                   \
        int64_t carry[SCAN_TILE];                                                                            \
        for (int j = 0; j < width; j++) carry[j] = neutral;                                                  \
        for (int64_t r = 0; r < rows; r++, from += step[1], to += step[0])                                   \
            for (int j = 0; j < width; j++) {                                                                \
                carry[j] = join(carry[j], *(const int64_t *)(from + j * beside[1]));                         \
                *(int64_t *)(to + j * beside[0]) = carry[j];                                                 \
            }                                                                                                \
    }
SCAN_INTEGER(cumsum, 0, fold_add_integer)
SCAN_INTEGER(cumprod, 1, fold_times_integer)

#define ENTRY(D, name, suffix)                                                                               \
    [RL_##D] = {name##_total_##suffix, name##_line_##suffix, name##_across_##suffix},
#define SCAN_FLOATS(isa, torch, has, name)                                                                   \
    [RL_ISA_##isa] = {ENTRY(F32, name, isa) ENTRY(F64, name, isa##_f64)},
#define SCAN_NUMBERS(isa, torch, has, name)                                                                  \
    [RL_ISA_##isa] = {ENTRY(F32, name, isa) ENTRY(F64, name, isa##_f64) ENTRY(I64, name, I64)},
typedef struct {
    scan_code code[RL_ISA_END][RL_NDTYPES];
    double first;
    double (*join)(double, double);
    int64_t first_integer;
    int64_t (*join_integer)(int64_t, int64_t);
    double ns; /* an element */
} scan;

typedef struct {
    const scan *how;
    scan_code code;
    fold_load load; /* NULL: lines are scanned where they lie */
    fold_store store;
    bool floats;
    rl_iter lines; /* operands: output, input; without the dim */
    int64_t n, step[2], beside[2], item;
    int64_t row, per_row, blocks;
    fold_cell *totals; /* of blocks; then what came before them */
} scan_job;

static void line_seek(const scan_job *job, int64_t line, char **p) {
    p[0] = job->lines.base[0], p[1] = job->lines.base[1];
    rl_iter_seek(&job->lines, line, p);
}

static fold_cell scan_first(const scan_job *job) {
    return job->floats ? (fold_cell){.d = job->how->first} : (fold_cell){.i = job->how->first_integer};
}

static void line_buffered(const scan_job *job, char *to, const char *from) {
    double buffer[BUFFER];
    fold_cell before = scan_first(job);
    for (int64_t i = 0, m; i < job->n; i += m) {
        m = simd_min(job->n - i, BUFFER);
        job->load(from + i * job->step[1], job->step[1], m, buffer);
        before = job->code.line(buffer, buffer, m, before);
        job->store(to + i * job->step[0], job->step[0], m, buffer);
    }
}

static void lines_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const scan_job *job = ctx;
    char *p[RL_ITER_OPS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        line_seek(job, i, p);
        if (job->load)
            line_buffered(job, p[0], p[1]);
        else
            job->code.line(p[1], p[0], job->n, scan_first(job));
    }
}

static void tiles_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const scan_job *job = ctx;
    char *p[RL_ITER_OPS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % job->per_row * SCAN_TILE;
        line_seek(job, i / job->per_row * job->row + at, p);
        job->code.across(p[1], p[0], job->n, job->step, job->beside, (int)simd_min(job->row - at, SCAN_TILE));
    }
}

static void totals_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const scan_job *job = ctx;
    char *p[RL_ITER_OPS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % job->blocks * BLOCK;
        line_seek(job, i / job->blocks, p);
        job->totals[i] = job->code.total(p[1] + at * job->item, simd_min(job->n - at, BLOCK));
    }
}

static void blocks_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const scan_job *job = ctx;
    char *p[RL_ITER_OPS];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % job->blocks * BLOCK;
        line_seek(job, i / job->blocks, p);
        job->code.line(p[1] + at * job->item, p[0] + at * job->item, simd_min(job->n - at, BLOCK),
                       job->totals[i]);
    }
}

/* what came before each block of every line */
static void totals_scan(scan_job *job) {
    fold_cell before = scan_first(job);
    for (int64_t i = 0; i < job->lines.numel * job->blocks; i++) {
        fold_cell own = job->totals[i];
        if (i % job->blocks == 0) before = scan_first(job);
        job->totals[i] = before;
        if (job->floats)
            before.d = job->how->join(before.d, own.d);
        else
            before.i = job->how->join_integer(before.i, own.i);
    }
}

RL_CHOOSER
static bool scan_code_of(const rl_call *k, scan_job *job, int dtype) {
    static const fold_load load_halves[] = ISA_TABLE(load_half), load_bfloats[] = ISA_TABLE(load_bfloat);
    static const fold_store store_halves[] = ISA_TABLE(store_half), store_bfloats[] = ISA_TABLE(store_bfloat);
    const int isa = k->svc->isa;
    bool half = rl_is_half(dtype);
    job->code = job->how->code[isa][half ? RL_F32 : dtype];
    job->item = rl_itemsize(dtype);
    job->floats = rl_is_float(dtype);
    job->load = NULL;
    if (dtype == RL_F16) {
        job->load = load_halves[isa];
        job->store = store_halves[isa];
    } else if (dtype == RL_BF16) {
        job->load = load_bfloats[isa];
        job->store = store_bfloats[isa];
    }
    return job->code.line != NULL;
}

static void scan_iter(const rl_call *k, scan_job *job) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    int64_t dim = k->attr[0];
    rl_iter *w = &job->lines;
    rl_iter_begin(w, out, RL_WRITE);
    rl_iter_add(w, x);
    job->n = 1, job->step[0] = job->step[1] = job->item;
    if (x->ndim) {
        job->n = x->shape[dim];
        for (int i = 0; i < 2; i++) job->step[i] = w->stride[i][dim];
        rl_iter_drop(w, 1ull << dim);
    }
    rl_iter_sort(w, 0);
    rl_iter_merge(w);
    job->row = w->size[w->ndim - 1];
    for (int i = 0; i < 2; i++) job->beside[i] = w->stride[i][w->ndim - 1];
}

RL_CHOOSER
static rl_status scan_run(rl_call *k, const scan *how) {
    const double ns = how->ns;
    const rl_view *x = rl_in(k, 0);
    scan_job job;
    job.how = how;
    if (!k->svc->isa || x->numel == 0 || !scan_code_of(k, &job, x->dtype)) return RL_UNSUPPORTED;
    scan_iter(k, &job);
    const rl_iter *w = &job.lines;
    bool in_one = job.step[0] == job.item && job.step[1] == job.item;
    bool beside = (job.beside[0] == job.item && job.beside[1] == job.item) || job.n < SHORT_LINE;
    if (!job.load && beside && job.row > 1) {
        job.per_row = simd_ceil_div(job.row, SCAN_TILE);
        double cost = ns * (double)job.n * (double)simd_min(job.row, SCAN_TILE);
        k->svc->parallel(k, w->numel / job.row * job.per_row, cost, tiles_part, &job);
        return RL_OK;
    }
    if (!job.load && !in_one) {
        job.load = job.item == 4 ? load_4 : load_8;
        job.store = job.item == 4 ? store_4 : store_8;
    }
    if (job.load || w->numel >= FEW_LINES || job.n < 2 * BLOCK) {
        k->svc->parallel(k, w->numel, (job.load ? 4 : 1) * ns * (double)job.n + 10, lines_part, &job);
        return RL_OK;
    }
    job.blocks = simd_ceil_div(job.n, BLOCK);
    job.totals = k->svc->scratch(k, RL_COUNT(w->numel, job.blocks), sizeof *job.totals);
    if (!job.totals) return RL_FAIL;
    k->svc->parallel(k, w->numel * job.blocks, ns / 4 * BLOCK, totals_part, &job);
    totals_scan(&job);
    k->svc->parallel(k, w->numel * job.blocks, ns * BLOCK, blocks_part, &job);
    return RL_OK;
}

RL_KERNEL(simd_cumsum) {
    static const scan how = {{RL_EACH_ISA(SCAN_NUMBERS, cumsum)}, 0, fold_add, 0, fold_add_integer, 0.4};
    return scan_run(k, &how);
}
RL_KERNEL(simd_cumprod) {
    static const scan how = {{RL_EACH_ISA(SCAN_NUMBERS, cumprod)}, 1, fold_times, 1, fold_times_integer, 0.4};
    return scan_run(k, &how);
}
RL_KERNEL(simd_logcumsumexp) {
    static const scan how = {{RL_EACH_ISA(SCAN_FLOATS, logcumsumexp)}, -INFINITY, log_add, .ns = 3};
    return scan_run(k, &how);
}

/* ---- running extremes and where they stand: the last of equals; a NaN is the extreme from then on ---- */
enum { TILE = 256 };
typedef struct {
    const char *from;
    char *values, *places;
    const int64_t *step, *beside; /* of values, places, input: along the dim, and from line to line */
    int64_t n;
} part;
typedef void (*cumulative)(const part *p, int width);
typedef struct {
    cumulative run;
    rl_iter lines; /* operands: values, places, input; without the dim */
    int64_t n, step[3], beside[3];
    int64_t row, per_row;
} cumulative_job;

/* x is met after best */
#define RUNNING(name, D, T, beats)                                                                           \
    FOLD_LOOP void name##_line_##D(const part *p) {                                                          \
        T best = *(const T *)p->from;                                                                        \
        int64_t at = 0;                                                                                      \
        for (int64_t i = 0; i < p->n; i++) {                                                                 \
            const T x = *(const T *)(p->from + i * p->step[2]);                                              \
            if (beats) best = x, at = i;                                                                     \
            *(T *)(p->values + i * p->step[0]) = best;                                                       \
            *(int64_t *)(p->places + i * p->step[1]) = at;                                                   \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_##D(const part *lines, int width) {                                                \
        part p = *lines;                                                                                     \
        T kept[TILE];                                                                                        \
        int64_t at[TILE];                                                                                    \
        if (p.beside[0] != sizeof(T) || p.beside[1] != 8 || p.beside[2] != sizeof(T)) {                      \
            for (int j = 0; j < width; j++) {                                                                \
                name##_line_##D(&p);                                                                         \
                p.values += p.beside[0], p.places += p.beside[1], p.from += p.beside[2];                     \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        __builtin_memcpy(kept, p.from, (size_t)width * sizeof(T));                                           \
        for (int j = 0; j < width; j++) at[j] = 0;                                                           \
        for (int64_t r = 0; r < p.n; r++) {                                                                  \
            const T *from = (const T *)(p.from + r * p.step[2]);                                             \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = from[j], best = kept[j];                                                         \
                const bool wins = beats;                                                                     \
                kept[j] = wins ? x : best;                                                                   \
                at[j] = wins ? r : at[j];                                                                    \
            }                                                                                                \
            __builtin_memcpy(p.values + r * p.step[0], kept, (size_t)width * sizeof(T));                     \
            __builtin_memcpy(p.places + r * p.step[1], at, (size_t)width * 8);                               \
        }                                                                                                    \
    }

/* halves by their bits: as whole numbers of the same order */
static inline int half_key(uint16_t x) {
    return x & 0x8000 ? -(x & 0x7fff) : x;
}
#define HALF_BEATS(infinity, op)                                                                             \
    ((x & 0x7fff) > (infinity)) | (((best & 0x7fff) <= (infinity)) & (half_key(x) op half_key(best)))
#define EACH(name, op)                                                                                       \
    RUNNING(name, F32, float, (x op best) | (x != x))                                                        \
    RUNNING(name, F64, double, (x op best) | (x != x))                                                       \
    RUNNING(name, F16, uint16_t, HALF_BEATS(0x7c00, op))                                                     \
    RUNNING(name, BF16, uint16_t, HALF_BEATS(0x7f80, op))                                                    \
    RUNNING(name, U8, uint8_t, x op best)                                                                    \
    RUNNING(name, I8, int8_t, x op best)                                                                     \
    RUNNING(name, I16, int16_t, x op best)                                                                   \
    RUNNING(name, I32, int32_t, x op best)                                                                   \
    RUNNING(name, I64, int64_t, x op best)
EACH(max, >=)
EACH(min, <=)
#define EXTREME_CODE(name)                                                                                   \
    {                                                                                                        \
        [RL_F32] = name##_F32, [RL_F64] = name##_F64, [RL_F16] = name##_F16, [RL_BF16] = name##_BF16,        \
        [RL_BOOL] = name##_U8, [RL_U8] = name##_U8,   [RL_I8] = name##_I8,   [RL_I16] = name##_I16,          \
        [RL_I32] = name##_I32, [RL_I64] = name##_I64,                                                        \
    }

static void cumulative_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const cumulative_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[RL_ITER_OPS];
        int64_t at = i % job->per_row * TILE;
        for (int op = 0; op < 3; op++) p[op] = job->lines.base[op];
        rl_iter_seek(&job->lines, i / job->per_row * job->row + at, p);
        const part lines = {p[2], p[0], p[1], job->step, job->beside, job->n};
        job->run(&lines, (int)simd_min(job->row - at, TILE));
    }
}

RL_CHOOSER
static rl_status cumulative_run(rl_call *k, const cumulative code[RL_NDTYPES]) {
    static const double ns = 1.5;
    const rl_view *x = rl_in(k, 0);
    int64_t dim = k->attr[0];
    cumulative_job job;
    rl_iter *w = &job.lines;
    if (!k->svc->isa || x->numel == 0) return RL_UNSUPPORTED;
    job.run = code[x->dtype];
    rl_iter_begin(w, k->out[0], RL_WRITE);
    rl_iter_add(w, k->out[1]);
    rl_iter_add(w, x);
    rl_data(k->out[1], RL_WRITE);
    job.n = x->ndim ? x->shape[dim] : 1;
    for (int i = 0; i < 3; i++) job.step[i] = x->ndim ? w->stride[i][dim] : 0;
    if (x->ndim) rl_iter_drop(w, 1ull << dim);
    rl_iter_sort(w, 0);
    rl_iter_merge(w);
    job.row = w->size[w->ndim - 1];
    job.per_row = simd_ceil_div(job.row, TILE);
    for (int i = 0; i < 3; i++) job.beside[i] = w->stride[i][w->ndim - 1];
    double cost = ns * (double)job.n * (double)simd_min(job.row, TILE);
    k->svc->parallel(k, w->numel / job.row * job.per_row, cost, cumulative_part, &job);
    return RL_OK;
}

RL_KERNEL(simd_cummax) {
    static const cumulative code[RL_NDTYPES] = EXTREME_CODE(max);
    return cumulative_run(k, code);
}
RL_KERNEL(simd_cummin) {
    static const cumulative code[RL_NDTYPES] = EXTREME_CODE(min);
    return cumulative_run(k, code);
}
