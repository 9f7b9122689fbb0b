/* layer_norm and rms_norm of floats, and their gradients: a thread takes whole rows. */
#include "norm.h"
#include <float.h>

/* ---- passes of the norms over contiguous runs, compiled for each vector width; vectors of weights ---- */
enum { BACK_STRETCH = 128, COLUMNS = 512 };
enum { LONG_ROW = 8192, BLOCK = 24576, BLOCK_ROWS = 8, BLOCKS = 64 }; /* numbers, rows; at most so many */
typedef struct {
    const float *grad, *x, *weight;
    float *to, *by_weight, *by_bias;
} norm_row;

#define ISA_IMPL "kernels/simd/norm/rows_impl.inc"
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
const rl_norm_runs *rl_norm_runs_get(const rl_call *k) {
    static const rl_norm_runs *const all[] = ISA_TABLE(&runs);
    return all[k->svc->isa];
}

const float *rl_norm_vector(rl_call *k, const rl_view *v, int64_t n, float missing) {
    if (v) return simd_floats_of(k, v);
    float *all = k->svc->scratch(k, RL_COUNT(n), sizeof *all);
    for (int64_t i = 0; all && i < n; i++) all[i] = missing;
    return all;
}

/* ---- layer_norm and rms_norm ---- */
static const double ROW_NS = 20; /* what a row takes beside its numbers */

rl_status rl_norm_rows_run(rl_call *k, rl_norm_rows *j, int64_t rows) {
    static const simd_body body[] = ISA_TABLE(norm_rows);
    k->svc->parallel(k, rows, ROW_NS + NORM_NS * (double)j->n, body[k->svc->isa], j);
    return RL_OK;
}

static rl_layout rows_layout(const rl_call *k, rl_norm_rows *j) {
    rl_layout l = rl_layout_begin(k);
    j->read_at = rl_layout_add(&l, RL_COUNT(j->n), sizeof(float));
    j->made_at = rl_layout_add(&l, RL_COUNT(j->n), sizeof(float));
    return l;
}

static rl_status rows_strips(rl_call *k, rl_norm_rows *j, const rl_view *x) {
    const rl_layout l = rows_layout(k, j);
    j->strips = true;
    j->in = simd_half_rows_begin(k, x, RL_READ), j->made = simd_half_rows_begin(k, k->out[0], RL_WRITE);
    return k->svc->rooms(k, &l, k->threads, &j->rooms) ? RL_OK : RL_FAIL;
}
static rl_status rows_floats(rl_call *k, rl_norm_rows *j, const rl_view *x) {
    j->x = simd_floats_of(k, x);
    return j->x ? RL_OK : RL_FAIL;
}

/* what the operators over the last dims share; RL_UNSUPPORTED where the reference does it */
RL_CHOOSER
static rl_status rows_run(rl_call *k, const rl_view *weight, const rl_view *bias, rl_norm_rows *j) {
    float *made[3];
    const rl_view *x = k->arg[0].u.t;
    if (!k->svc->isa || x->numel == 0 || !simd_is_floats(x) || !simd_is_floats(weight)) return RL_UNSUPPORTED;
    j->n = j->period = 1;
    for (int d = x->ndim - (int)k->attr[0]; d < x->ndim; d++) j->n *= x->shape[d];
    const bool strips = simd_is_half_rows(x);
    if ((strips ? rows_strips(k, j, x) : rows_floats(k, j, x)) != RL_OK ||
        simd_results_begin(k, strips, made) != RL_OK)
        return RL_FAIL;
    if ((weight || bias) && !(j->weight = rl_norm_vector(k, weight, j->n, 1))) return RL_FAIL;
    if (bias && !(j->bias = simd_floats_of(k, bias))) return RL_FAIL;
    if (!strips) j->to = made[0];
    if (k->n_out == 3) j->mean = made[1], j->scale = made[2];
    rl_norm_rows_run(k, j, x->numel / j->n);
    return simd_results_end(k, strips, made);
}

RL_KERNEL(simd_layer_norm) {
    rl_norm_rows j = {.eps = rl_num(k, 4)};
    return rows_run(k, rl_in(k, 2), rl_in(k, 3), &j);
}

RL_KERNEL(simd_rms_norm) {
    rl_norm_rows j = {.around_zero = true};
    j.eps = k->arg[3].tag != RL_NONE ? rl_num(k, 3) : (double)FLT_EPSILON;
    return rows_run(k, rl_in(k, 2), NULL, &j);
}

/* Gradients of layer_norm and rms_norm of floats.
 *
 * Note [Rows backward]
 * With h = (x - mean) / deviation and u = grad * weight, the gradient by input is
 *   (u - mean of u - h * mean of u h) / deviation
 * and those by weight and bias are the sums of grad * h and grad over rows. They are gathered on the way, in
 * float within a stretch of rows, in double within a block of them, and blocks are added in order: which
 * blocks there are depends on the sizes alone. Of long rows, whose sums would fill the cache, columns of them
 * are summed by a pass of their own. */

static const double BACK_ROW_NS = 30; /* what a row takes beside its numbers */

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
    static const simd_body by_rows[] = ISA_TABLE(back_rows), by_columns[] = ISA_TABLE(back_columns),
                           by_blocks[] = ISA_TABLE(back_blocks);
    const int isa = k->svc->isa;
    const bool columns = j->n > LONG_ROW && j->period == 1;
    double ns = BACK_ROW_NS + 2 * NORM_NS * (double)j->n;
    int64_t all = j->n * j->period, samples = j->rows / j->period;
    int64_t block = simd_max(simd_max(simd_ceil_div(BLOCK, all), simd_ceil_div(samples, BLOCKS)), BLOCK_ROWS);
    int64_t blocks = columns ? 1 : simd_ceil_div(samples, block);
    j->block = block * j->period;
    for (int i = 0; i < 2; i++)
        if (!(j->parts[i] = k->svc->scratch(k, RL_COUNT(blocks, all), sizeof(double)))) return RL_FAIL;
    if (columns) {
        k->svc->parallel(k, j->rows, ns, by_rows[isa], j);
        k->svc->parallel(k, simd_ceil_div(j->n, COLUMNS), NORM_NS * COLUMNS * (double)j->rows,
                         by_columns[isa], j);
        return RL_OK;
    }
    const rl_layout l = back_layout(k, j, all);
    if (!k->svc->rooms(k, &l, k->threads, &j->rooms)) return RL_FAIL;
    k->svc->parallel(k, blocks, ns * (double)simd_min(j->block, j->rows), by_blocks[isa], j);
    for (int h = 0; h < 2; h++)
        for (int64_t b = 1; b < blocks; b++)
            for (int64_t i = 0; i < all; i++) j->parts[h][i] += j->parts[h][b * all + i];
    return RL_OK;
}

static rl_status back_floats(rl_call *k, rl_norm_back *j, const rl_view *grad, const rl_view *x) {
    j->grad = simd_floats_of(k, grad), j->x = simd_floats_of(k, x);
    return j->grad && j->x ? RL_OK : RL_FAIL;
}
static void back_strips(rl_call *k, rl_norm_back *j, const rl_view *grad, const rl_view *x) {
    j->strips = true;
    j->halves[0] = simd_half_rows_begin(k, grad, RL_READ), j->halves[1] = simd_half_rows_begin(k, x, RL_READ);
    j->halves[2] = simd_half_rows_begin(k, k->out[0], RL_WRITE);
}

RL_CHOOSER
static rl_status rows_back(rl_call *k, rl_norm_back j, const rl_view *weight, const rl_view *mean,
                           const rl_view *scale) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t;
    float *made[3];
    if (!k->svc->isa || x->numel == 0 || !simd_is_floats(x) || !simd_is_floats(weight) ||
        !simd_is_floats(mean) || !simd_is_floats(scale))
        return RL_UNSUPPORTED;
    j.rows = k->attr[0], j.n = k->attr[1], j.period = 1;
    if (rl_norm_back_statistics(k, mean, scale, &j) != RL_OK) return RL_FAIL;
    const bool strips = j.n <= LONG_ROW && simd_is_half_rows(grad) && simd_is_half_rows(x);
    j.weight = rl_norm_vector(k, weight, j.n, 1);
    if (!j.weight || (!strips && back_floats(k, &j, grad, x) != RL_OK) ||
        simd_results_begin(k, strips, made) != RL_OK)
        return RL_FAIL;
    if (strips)
        back_strips(k, &j, grad, x);
    else
        j.to = made[0];
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
