/* Gradients of layer_norm and rms_norm of floats.
 *
 * Note [Rows backward]
 * With h = (x - mean) / deviation and u = grad * weight, the gradient by input is
 *   (u - mean of u - h * mean of u h) / deviation
 * and those by weight and bias are the sums of grad * h and grad over rows. They are gathered on the way, in
 * float within a stretch of rows, in double within a block of them, and blocks are added in order: which
 * blocks there are depends on the sizes alone. Of long rows, whose sums would fill the cache, columns of them
 * are summed by a pass of their own. */
#include "norm_rows.h"
#ifdef RL_SIMD_X86
#include <float.h>

enum { STRETCH = 128, COLUMNS = 512 };
enum { LONG_ROW = 8192, BLOCK = 24576, BLOCK_ROWS = 8, BLOCKS = 64 }; /* numbers, rows; at most so many */
typedef struct {
    const float *grad, *x, *weight;
    float *to, *by_weight, *by_bias;
} norm_row;

#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_rows_back_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_rows_back_impl.inc"

static const double ROW_NS = 30; /* what a row takes beside its numbers */

rl_status rl_norm_back_statistics(rl_call *k, const rl_view *mean, const rl_view *scale, rl_norm_back *j) {
    j->find = !mean || !scale || !mean->numel || !scale->numel;
    if (!j->find) {
        j->mean = simd_floats_of(k, mean), j->scale = simd_floats_of(k, scale);
    } else {
        for (int i = 0; i < 2; i++) j->found[i] = k->svc->scratch(k, RL_COUNT(j->rows), sizeof(float));
        j->mean = j->found[0], j->scale = j->found[1];
    }
    return j->mean && j->scale ? RL_OK : RL_FAIL;
}

static rl_layout back_layout(const rl_call *k, rl_norm_back *j, int64_t all) {
    rl_layout l = rl_layout_begin(k);
    for (int i = 0; i < 2; i++) j->sums_at[i] = rl_layout_add(&l, RL_COUNT(all), sizeof(float));
    for (int i = 0; j->strips && i < 3; i++) j->rows_at[i] = rl_layout_add(&l, RL_COUNT(j->n), sizeof(float));
    return l;
}

rl_status rl_norm_back_run(rl_call *k, rl_norm_back *j) {
    bool wide = k->svc->isa & RL_ISA_AVX512, columns = j->n > LONG_ROW && j->period == 1;
    double ns = ROW_NS + 2 * NORM_NS * (double)j->n;
    int64_t all = j->n * j->period, samples = j->rows / j->period;
    int64_t block = simd_max(simd_max(simd_ceil_div(BLOCK, all), simd_ceil_div(samples, BLOCKS)), BLOCK_ROWS);
    int64_t blocks = columns ? 1 : simd_ceil_div(samples, block);
    j->block = block * j->period;
    for (int i = 0; i < 2; i++)
        if (!(j->parts[i] = k->svc->scratch(k, RL_COUNT(blocks, all), sizeof(double)))) return RL_FAIL;
    if (columns) {
        k->svc->parallel(k, j->rows, ns, wide ? back_rows_avx512 : back_rows_avx2, j);
        k->svc->parallel(k, simd_ceil_div(j->n, COLUMNS), NORM_NS * COLUMNS * (double)j->rows,
                         wide ? back_columns_avx512 : back_columns_avx2, j);
        return RL_OK;
    }
    const rl_layout l = back_layout(k, j, all);
    if (!k->svc->rooms(k, &l, k->threads, &j->rooms)) return RL_FAIL;
    k->svc->parallel(k, blocks, ns * (double)simd_min(j->block, j->rows),
                     wide ? back_blocks_avx512 : back_blocks_avx2, j);
    for (int h = 0; h < 2; h++)
        for (int64_t b = 1; b < blocks; b++)
            for (int64_t i = 0; i < all; i++) j->parts[h][i] += j->parts[h][b * all + i];
    return RL_OK;
}

static rl_status rows_floats(rl_call *k, rl_norm_back *j, const rl_view *grad, const rl_view *x) {
    j->grad = simd_floats_of(k, grad), j->x = simd_floats_of(k, x);
    return j->grad && j->x ? RL_OK : RL_FAIL;
}
static rl_status rows_strips(rl_call *k, rl_norm_back *j, const rl_view *grad, const rl_view *x) {
    j->strips = true;
    j->halves[0] = simd_strip_begin(k, grad, RL_READ), j->halves[1] = simd_strip_begin(k, x, RL_READ);
    j->halves[2] = simd_strip_begin(k, k->out[0], RL_WRITE);
    return RL_OK;
}

RL_CHOOSER
static rl_status rows_back(rl_call *k, rl_norm_back j, const rl_view *weight, const rl_view *mean,
                           const rl_view *scale) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    float *made[3];
    if (!(k->svc->isa & RL_ISA_AVX2) || x->numel == 0 || !simd_is_floats(x) || !simd_is_floats(weight) ||
        !simd_is_floats(mean) || !simd_is_floats(scale) || !simd_makes_floats(k))
        return RL_UNSUPPORTED;
    j.rows = k->attr[0], j.n = k->attr[1], j.period = 1;
    if (rl_norm_back_statistics(k, mean, scale, &j) != RL_OK) return RL_FAIL;
    const bool strips =
        j.n <= LONG_ROW && simd_is_strip(grad) && simd_is_strip(x) && simd_is_strip(k->out[0]);
    j.weight = rl_norm_vector(k, weight, j.n, 1);
    if (!j.weight || (strips ? rows_strips(k, &j, grad, x) : rows_floats(k, &j, grad, x)) != RL_OK ||
        simd_results_begin(k, strips, made) != RL_OK)
        return RL_FAIL;
    if (!strips) j.to = made[0];
    if (rl_norm_back_run(k, &j) != RL_OK) return RL_FAIL;
    for (int i = 1; i < k->n_out; i++)
        for (int64_t c = 0; c < j.n; c++) made[i][c] = (float)j.parts[i - 1][c];
    return simd_results_end(k, strips, made);
}

RL_KERNEL(simd_layer_norm_back) {
    return rows_back(k, (rl_norm_back){.eps = rl_num(k, 6)}, rl_in(k, 5), rl_in(k, 3), rl_in(k, 4));
}
RL_KERNEL(simd_rms_norm_back) {
    double eps = k->arg[4].tag != RL_NONE ? rl_num(k, 4) : (double)FLT_EPSILON;
    return rows_back(k, (rl_norm_back){.eps = eps, .around_zero = true}, rl_in(k, 3), NULL, NULL);
}
#else
RL_KERNEL(simd_layer_norm_back) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_rms_norm_back) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
