/* Sums, means, variances and extremes of float32, over all or some dims, where the elements of an output or
 * the outputs lie side by side. */
#include "simd_common.h"
#ifdef RL_SIMD_X86
#include <math.h>
#include "ref_loops.h"

/* Note [Pieces]
 * The reduced elements of a tile of outputs are cut into pieces whose number follows from the sizes alone, so
 * that the answer does not depend on the threads:
 *
 *               tile 0   tile 1 ...           rows     a tile is one output, its elements stand side by side
 *   piece 0    [ double  double ]             columns  a tile is up to WIDTH outputs, whose first elements
 *   piece 1    [ double  double ]  added up            stand side by side
 */
enum { WIDTH = 512, PIECE = 65536, MOST_PIECES = 64 };
typedef struct {
    /* folds n elements into to[0]; center[0]: where squares are measured from */
    void (*row)(const float *x, int64_t n, const double *center, double *to);
    /* folds `rows` rows of `width` elements, `step` apart, into width results */
    void (*columns)(const float *x, int64_t step, int64_t rows, int64_t width, const double *center,
                    double *to);
    double start;
} reduce_fold;

#define SIMD_BITS 256
#include "simd_isa.h"
#include "simd_math_body.h"
#include "simd_sums_body.h"
#include "simd_reduce_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "simd_isa.h"
#include "simd_math_body.h"
#include "simd_sums_body.h"
#include "simd_reduce_body.h"

typedef struct {
    const reduce_fold *fold;
    rl_walk kept, reduced; /* operand 0: the input's elements */
    bool columns;
    int64_t row, width, tiles, pieces, piece; /* outputs of a row and of a tile; elements of a piece */
    int64_t outputs;
    double *center; /* of each output, or NULL */
    double *totals; /* [piece][output] */
} reduce_job;

typedef struct {
    const reduce_job *job;
    int64_t width;
    const double *center;
    double *to;
} reduce_strip;

static void strip_fold(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const reduce_strip *s = ctx;
    const float *x = (const float *)p[0];
    if (s->job->columns)
        s->job->fold->columns(x, step[0] / (int64_t)sizeof(float), n, s->width, s->center, s->to);
    else
        s->job->fold->row(x, n, s->center, s->to);
}

static void piece_fold(const reduce_job *j, int64_t tile, int64_t piece) {
    int64_t in_row = (j->row + j->width - 1) / j->width, from = tile % in_row * j->width;
    int64_t at = tile / in_row * j->row + from, width = simd_min(j->width, j->row - from);
    int64_t begin = piece * j->piece, end = simd_min(begin + j->piece, j->reduced.numel);
    double *to = j->totals + piece * j->outputs + at;
    reduce_strip s = {j, width, j->center ? j->center + at : NULL, to};
    char *first = j->kept.base[0];
    rl_walk_seek(&j->kept, at, &first);
    for (int64_t i = 0; i < width; i++) to[i] = j->fold->start;
    if (j->reduced.ndim == 1) { /* the usual case needs no walk of its own */
        const int64_t step = j->reduced.stride[0][0];
        strip_fold((char *[]){first + begin * step}, &step, end - begin, &s);
    } else {
        rl_walk reduced = j->reduced;
        reduced.base[0] = first;
        rl_walk_range(&reduced, begin, end, strip_fold, &s);
    }
}

static void reduce_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const reduce_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) piece_fold(j, i / j->pieces, i % j->pieces);
}

static void reduce_pass(rl_call *k, const reduce_job *j) {
    int64_t n = j->tiles * j->pieces, cost = simd_min(j->piece, j->reduced.numel) * j->width;
    if (j->kept.numel * j->reduced.numel <= RL_GRAIN)
        reduce_part((void *)j, 0, n, 0);
    else
        k->svc->parallel(k, n, 1 + RL_GRAIN / cost, reduce_part, (void *)j);
}

/* RL_UNSUPPORTED unless there are vectors to load */
static rl_status reduce_begin(rl_call *k, reduce_job *j, const reduce_fold *fold) {
    const rl_view *x = rl_in(k, 0);
    uint64_t mask = (uint64_t)k->attr[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || x->dtype != RL_F32 || !simd_plain(k->out[0]) || x->numel == 0)
        return RL_UNSUPPORTED;
    rl_walk_begin(&j->kept, x, RL_READ);
    j->reduced = j->kept;
    rl_walk_drop(&j->kept, mask);
    rl_walk_drop(&j->reduced, ~mask);
    rl_walk_merge(&j->kept);
    rl_walk_merge(&j->reduced);
    rl_walk_sort(&j->reduced, 0);
    rl_walk_merge(&j->reduced);
    const rl_walk *kept = &j->kept, *reduced = &j->reduced;
    int64_t along = reduced->stride[0][reduced->ndim - 1], last = kept->size[kept->ndim - 1];
    bool rows = along == sizeof(float) && reduced->size[reduced->ndim - 1] > 1;
    j->columns = !rows && last > 1 && kept->stride[0][kept->ndim - 1] == sizeof(float);
    if ((!rows && !j->columns) || reduced->numel == 1) return RL_UNSUPPORTED;
    j->fold = fold, j->outputs = kept->numel;
    j->row = j->columns ? last : 1, j->width = simd_min(j->row, WIDTH);
    j->tiles = kept->numel / j->row * ((j->row + j->width - 1) / j->width);
    int64_t enough = simd_max(1, PIECE / j->width);
    j->pieces = simd_max(1, simd_min(MOST_PIECES / j->tiles, reduced->numel / enough));
    j->piece = (reduced->numel + j->pieces - 1) / j->pieces;
    j->pieces = (reduced->numel + j->piece - 1) / j->piece;
    j->totals = k->svc->scratch(k, (size_t)(j->pieces * j->outputs) * sizeof(double));
    if (!j->totals) return RL_FAIL;
    return RL_OK;
}

static double pieces_sum(const reduce_job *j, int64_t i) {
    double sum = 0;
    for (int64_t p = 0; p < j->pieces; p++) sum += j->totals[p * j->outputs + i];
    return sum;
}

static rl_status sum_run(rl_call *k, bool mean) {
    static const reduce_fold narrow = {row_sum_avx2, columns_sum_avx2, 0},
                             wide = {row_sum_avx512, columns_sum_avx512, 0};
    reduce_job j = {.center = NULL};
    rl_status status = reduce_begin(k, &j, k->svc->isa & RL_ISA_AVX512 ? &wide : &narrow);
    if (status != RL_OK) return status;
    reduce_pass(k, &j);
    float *out = rl_data(k->out[0], RL_WRITE);
    double n = mean ? (double)j.reduced.numel : 1;
    for (int64_t i = 0; i < j.outputs; i++) out[i] = (float)(pieces_sum(&j, i) / n);
    return RL_OK;
}
RL_KERNEL(simd_sum) {
    return sum_run(k, false);
}
RL_KERNEL(simd_mean) {
    return sum_run(k, true);
}

/* the larger, or a NaN; `sign` -1 finds the smaller */
static double extreme(double a, double b, double sign) {
    return a != a || sign * a > sign * b ? a : b;
}

static rl_status extreme_run(rl_call *k, const reduce_fold *narrow, const reduce_fold *wide, double sign) {
    reduce_job j = {.center = NULL};
    rl_status status = reduce_begin(k, &j, k->svc->isa & RL_ISA_AVX512 ? wide : narrow);
    if (status != RL_OK) return status;
    reduce_pass(k, &j);
    float *out = rl_data(k->out[0], RL_WRITE);
    for (int64_t i = 0; i < j.outputs; i++) {
        double most = j.totals[i];
        for (int64_t p = 1; p < j.pieces; p++) most = extreme(j.totals[p * j.outputs + i], most, sign);
        out[i] = (float)most;
    }
    return RL_OK;
}
RL_KERNEL(simd_amax) {
    static const reduce_fold narrow = {row_max_avx2, columns_max_avx2, -INFINITY},
                             wide = {row_max_avx512, columns_max_avx512, -INFINITY};
    return extreme_run(k, &narrow, &wide, 1);
}
RL_KERNEL(simd_amin) {
    static const reduce_fold narrow = {row_min_avx2, columns_min_avx2, INFINITY},
                             wide = {row_min_avx512, columns_min_avx512, INFINITY};
    return extreme_run(k, &narrow, &wide, -1);
}

/* one pass for the mean, one for the squares around it */
static rl_status var_run(rl_call *k, bool root) {
    static const reduce_fold narrow[2] = {{row_sum_avx2, columns_sum_avx2, 0},
                                          {row_squares_avx2, columns_squares_avx2, 0}},
                             wide[2] = {{row_sum_avx512, columns_sum_avx512, 0},
                                        {row_squares_avx512, columns_squares_avx512, 0}};
    const reduce_fold *fold = k->svc->isa & RL_ISA_AVX512 ? wide : narrow;
    reduce_job j = {.center = NULL};
    rl_status status = reduce_begin(k, &j, &fold[0]);
    if (status != RL_OK) return status;
    double correction = k->n_arg > 2 && k->arg[2].tag == RL_FLOAT ? k->arg[2].u.d : (double)k->attr[1];
    double n = (double)j.reduced.numel, left = n - correction > 0 ? n - correction : 0;
    double *center = k->svc->scratch(k, (size_t)j.outputs * sizeof *center);
    if (!center) return RL_FAIL;
    reduce_pass(k, &j);
    for (int64_t i = 0; i < j.outputs; i++) center[i] = pieces_sum(&j, i) / n;
    j.fold = &fold[1], j.center = center;
    reduce_pass(k, &j);
    float *out = rl_data(k->out[0], RL_WRITE);
    for (int64_t i = 0; i < j.outputs; i++) {
        double var = pieces_sum(&j, i) / left;
        out[i] = (float)(root ? sqrt(var) : var);
    }
    return RL_OK;
}
RL_KERNEL(simd_var) {
    return var_run(k, false);
}
RL_KERNEL(simd_std) {
    return var_run(k, true);
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(sum)
REFUSES(mean)
REFUSES(amax)
REFUSES(amin)
REFUSES(var)
REFUSES(std)
#endif
