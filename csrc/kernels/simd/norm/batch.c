/* Batch normalisation and its gradient; planes too small for vectors go by columns. */
#include "norm.h"

/* Batch normalisation of planes too small for vectors: rows of channels * plane numbers, and every column has
 * its own statistics until those of a channel are joined. */
/* Note [Columns]
 *
 *             columns ─►  tile │ tile │ ...     A tile of columns stays in registers while a stretch of rows
 *      rows   ┌ stretch ┌──────┬──────┬──       runs; stretches of a block are joined in double, and blocks
 *       │     │         │      │      │         in order. Which blocks there are depends on sizes alone. */
typedef struct {
    const float *x, *grad; /* grad: of gradients, else NULL */
    float *to;
    int64_t rows, columns, block, tiles, tile;   /* block: rows of one; tile: columns */
    const float *center, *scale, *slope, *shift; /* of each column; slope: of gradients */
    double (*parts)[2];                          /* of each column in each block */
} rl_norm_columns;

/* ---- columns of batch normalisation ---- */
enum { STRETCH = 64, BLOCKS = 64 }; /* rows; at most so many blocks */
#define ISA_IMPL "kernels/simd/norm/batch_impl.inc"
#include "kernels/simd/foreach_isa.h"

/* the moments of a channel's columns in all blocks but the first */
static void blocks_join(const rl_norm_columns *j, int64_t blocks) {
    for (int64_t b = 1; b < blocks; b++) {
        double (*to)[2] = j->parts, (*from)[2] = j->parts + b * j->columns;
        int64_t done = b * j->block, more = simd_min(j->block, j->rows - done);
        for (int64_t i = 0; i < j->columns; i++) {
            if (j->grad) {
                to[i][0] += from[i][0], to[i][1] += from[i][1];
                continue;
            }
            norm_moments all = norm_join((norm_moments){to[i][0], to[i][1]}, done,
                                         (norm_moments){from[i][0], from[i][1]}, more);
            to[i][0] = all.mean, to[i][1] = all.squares;
        }
    }
}

/* The mean and the squared distances of each column; of gradients the sums of grad and grad * (x - center).
 * They end in the parts of the first block. RL_UNSUPPORTED without an instruction set. */
RL_CHOOSER
static rl_status rl_norm_columns_sum(rl_call *k, rl_norm_columns *j) {
    static const simd_body sums[] = ISA_TABLE(sum_tiles);
    static const int64_t tiles[] = ISA_TABLE(TILE);
    j->block = simd_max(simd_ceil_div(j->rows, BLOCKS), STRETCH);
    j->tile = tiles[k->svc->isa];
    j->tiles = simd_ceil_div(j->columns, j->tile);
    int64_t blocks = simd_ceil_div(j->rows, j->block);
    j->parts = k->svc->scratch(k, RL_COUNT(blocks, j->columns), sizeof *j->parts);
    if (!j->parts) return RL_FAIL;
    double ns = NORM_NS * (double)(simd_min(j->block, j->rows) * simd_min(j->tile, j->columns));
    k->svc->parallel(k, blocks * j->tiles, ns, sums[k->svc->isa], j);
    blocks_join(j, blocks);
    return RL_OK;
}

/* to = (x - center) * scale + shift; of gradients to = grad * scale - (x - center) * slope - shift */
static void rl_norm_columns_apply(rl_call *k, rl_norm_columns *j) {
    static const simd_body apply[] = ISA_TABLE(apply_rows);
    k->svc->parallel(k, j->rows, NORM_NS * (double)j->columns, apply[k->svc->isa], j);
}

/* Batch normalisation of contiguous float32, forward and backward: a thread takes whole channels where planes
 * are long enough for vectors, else rows of channels (batch.c). */
#include <math.h>

typedef struct {
    const rl_norm_runs *runs;
    const float *x, *grad;
    float *to;
    int64_t samples, channels, plane;
    const rl_view *weight, *bias, *mean, *var; /* mean, var: running, or saved for backward */
    float *kept[2];                            /* two more results, or NULL */
    bool train;
    double momentum, eps;
} norm_job;

/* what the passes over a channel need */
typedef struct {
    float center, scale, slope, shift;
} channel_numbers;

static float *element(const rl_view *v, int64_t c, int mode) {
    return (float *)rl_data(v, mode) + c * (v->ndim ? v->strides[v->ndim - 1] : 0);
}
static double number(const rl_view *v, int64_t c, double missing) {
    return v ? (double)*element(v, c, RL_READ) : missing;
}

static void running_move(const rl_view *v, int64_t c, double momentum, double value) {
    float *p = element(v, c, RL_WRITE);
    *p = (float)((1 - momentum) * (double)*p + momentum * value);
}

/* ---- statistics to numbers ---- */
/* the squares of a channel whose sum is beyond float32 */
static double wide_squares(const norm_job *j, int64_t c, double mean) {
    double sum = 0;
    for (int64_t i = 0; i < j->samples; i++)
        for (int64_t p = 0; p < j->plane; p++) {
            double d = (double)j->x[(i * j->channels + c) * j->plane + p] - mean;
            sum += d * d;
        }
    return sum;
}

static channel_numbers forward_numbers(const norm_job *j, int64_t c, norm_moments m) {
    double n = (double)(j->samples * j->plane), mean = m.mean, var = m.squares / n;
    if (j->train) {
        if (RL_UNLIKELY(isinf(var)) && isfinite(mean)) var = wide_squares(j, c, mean) / n;
        if (j->mean) running_move(j->mean, c, j->momentum, mean);
        if (j->var) running_move(j->var, c, j->momentum, var * n / (n - 1));
    } else {
        mean = number(j->mean, c, 0), var = number(j->var, c, 1);
    }
    double scale = 1 / sqrt(var + j->eps);
    if (j->kept[0] && j->train) j->kept[0][c] = (float)mean, j->kept[1][c] = (float)scale;
    scale *= number(j->weight, c, 1);
    float center = (float)mean;
    return (channel_numbers){center, (float)scale, 0,
                             (float)(((double)center - mean) * scale + number(j->bias, c, 0))};
}

/* Note [Lines] in kernels/ref/norm.c has the formulas; dots: the sums of grad and of
 * grad * (x - mean) */
static channel_numbers backward_numbers(const norm_job *j, int64_t c, const double dots[2]) {
    double n = (double)(j->samples * j->plane), scale = number(j->var, c, 1);
    if (!j->train) scale = 1 / sqrt(scale + j->eps);
    j->kept[0][c] = (float)(dots[1] * scale), j->kept[1][c] = (float)dots[0];
    double a = number(j->weight, c, 1) * scale;
    double slope = j->train ? a * dots[1] * scale * scale / n : 0, shift = j->train ? a * dots[0] / n : 0;
    return (channel_numbers){*element(j->mean, c, RL_READ), (float)a, (float)slope, (float)shift};
}

/* ---- planes ---- */
static void plane_apply(const norm_job *j, int64_t at, channel_numbers n) {
    j->runs->apply(j->x + at, j->to + at, j->plane, n.center, n.scale, n.shift);
}

static void norm_channels(void *ctx, int64_t begin, int64_t end, int thread) {
    const norm_job *j = ctx;
    int64_t step = j->channels * j->plane;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        norm_moments all = {0, 0};
        for (int64_t i = 0; i < j->samples && j->train; i++) {
            norm_moments m = j->runs->moments(j->x + c * j->plane + i * step, j->plane);
            all = i ? norm_join(all, i * j->plane, m, j->plane) : m;
        }
        channel_numbers n = forward_numbers(j, c, all);
        for (int64_t i = 0; i < j->samples; i++) plane_apply(j, c * j->plane + i * step, n);
    }
}

static void back_channels(void *ctx, int64_t begin, int64_t end, int thread) {
    const norm_job *j = ctx;
    int64_t step = j->channels * j->plane;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        double dots[2] = {0, 0};
        for (int64_t i = 0; i < j->samples; i++) {
            int64_t at = c * j->plane + i * step;
            j->runs->dots(j->grad + at, j->x + at, j->plane, *element(j->mean, c, RL_READ), dots);
        }
        channel_numbers n = backward_numbers(j, c, dots);
        for (int64_t i = 0; i < j->samples; i++) {
            int64_t at = c * j->plane + i * step;
            j->runs->back(j->grad + at, j->x + at, j->to + at, j->plane, n.center, n.scale, n.slope, n.shift);
        }
    }
}

/* ---- columns ---- */
/* Are planes too short for vectors of their own? A few samples give columns little to sum. */
static bool is_short(const norm_job *j) {
    return j->plane < 8 || (j->plane < 32 && j->samples >= 16);
}

static rl_status columns_begin(rl_call *k, const norm_job *j, rl_norm_columns *c, float *of[4]) {
    *c = (rl_norm_columns){.x = j->x, .grad = j->grad, .to = j->to, .rows = j->samples};
    c->columns = j->channels * j->plane;
    for (int i = 0; i < 4; i++)
        if (!(of[i] = k->svc->scratch(k, RL_COUNT(c->columns), sizeof(float)))) return RL_FAIL;
    c->center = of[0], c->scale = of[1], c->slope = of[2], c->shift = of[3];
    return RL_OK;
}

static void column_fill(const norm_job *j, int64_t c, float *const of[4], channel_numbers n) {
    for (int64_t i = c * j->plane; i < (c + 1) * j->plane; i++)
        of[0][i] = n.center, of[1][i] = n.scale, of[2][i] = n.slope, of[3][i] = n.shift;
}

static rl_status norm_columns(rl_call *k, const norm_job *j) {
    rl_norm_columns columns;
    float *of[4];
    if (columns_begin(k, j, &columns, of) != RL_OK) return RL_FAIL;
    if (j->train && rl_norm_columns_sum(k, &columns) != RL_OK) return RL_FAIL;
    for (int64_t c = 0; c < j->channels; c++) {
        norm_moments all = {0, 0};
        for (int64_t i = 0; i < j->plane && j->train; i++) {
            const double *part = columns.parts[c * j->plane + i];
            norm_moments m = {part[0], part[1]};
            all = i ? norm_join(all, i * j->samples, m, j->samples) : m;
        }
        column_fill(j, c, of, forward_numbers(j, c, all));
    }
    rl_norm_columns_apply(k, &columns);
    return RL_OK;
}

static rl_status back_columns(rl_call *k, const norm_job *j) {
    rl_norm_columns columns;
    float *of[4];
    if (columns_begin(k, j, &columns, of) != RL_OK) return RL_FAIL;
    for (int64_t c = 0; c < j->channels; c++)
        column_fill(j, c, of, (channel_numbers){.center = *element(j->mean, c, RL_READ)});
    if (rl_norm_columns_sum(k, &columns) != RL_OK) return RL_FAIL;
    for (int64_t c = 0; c < j->channels; c++) {
        double dots[2] = {0, 0};
        for (int64_t i = c * j->plane; i < (c + 1) * j->plane; i++)
            dots[0] += columns.parts[i][0], dots[1] += columns.parts[i][1];
        column_fill(j, c, of, backward_numbers(j, c, dots));
    }
    rl_norm_columns_apply(k, &columns);
    return RL_OK;
}

/* ---- the kernels ---- */
/* Do the channels of each place lie side by side, and the places in order? Then these are rows, too. */
static bool is_channels_last(const rl_view *v) {
    int64_t step = v->shape[1];
    if (v->dtype != RL_F32 || (v->shape[1] != 1 && v->strides[1] != 1)) return false;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (d == 1 || v->shape[d] == 1) continue;
        if (v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return true;
}

/* the input, of gradients `grad`, too, in the layout of the result; RL_UNSUPPORTED where the reference does
 * it */
RL_CHOOSER
static rl_status norm_read(rl_call *k, const rl_view *x, const rl_view *grad, const rl_view *weight,
                           norm_job *j) {
    const rl_view *out = k->out[0];
    *j = (norm_job){.runs = rl_norm_runs_get(k), .weight = weight};
    if (!j->runs || x->dtype != RL_F32 || x->numel == 0 || !norm_is_float(weight)) return RL_UNSUPPORTED;
    j->channels = x->shape[1], j->to = rl_data(out, RL_WRITE);
    if (rl_is_plain(out)) {
        j->samples = x->shape[0], j->plane = x->numel / (j->samples * j->channels);
        j->x = simd_floats_of(k, x), j->grad = grad ? simd_floats_of(k, grad) : NULL;
        return j->x && (j->grad || !grad) ? RL_OK : RL_FAIL;
    }
    if (!is_channels_last(x) || (grad && !is_channels_last(grad))) return RL_UNSUPPORTED;
    j->samples = x->numel / j->channels, j->plane = 1;
    j->x = rl_const_data(x), j->grad = grad ? rl_const_data(grad) : NULL;
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_batch_norm) {
    norm_job j;
    if (!norm_is_float(rl_in(k, 2)) || !norm_is_float(rl_in(k, 3)) || !norm_is_float(rl_in(k, 4)))
        return RL_UNSUPPORTED;
    rl_status status = norm_read(k, rl_in(k, 0), NULL, rl_in(k, 1), &j);
    if (status != RL_OK) return status;
    j.bias = rl_in(k, 2), j.mean = rl_in(k, 3), j.var = rl_in(k, 4), j.train = k->arg[5].u.i != 0;
    j.momentum = rl_num(k, 6), j.eps = rl_num(k, 7);
    for (int i = 1; k->n_out == 3 && i < 3; i++) j.kept[i - 1] = rl_data(k->out[i], RL_WRITE);
    if (is_short(&j)) return norm_columns(k, &j);
    k->svc->parallel(k, j.channels, NORM_NS * (double)(j.samples * j.plane), norm_channels, &j);
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_batch_norm_back) {
    norm_job j;
    bool train = k->arg[7].u.i != 0;
    const rl_view *mean = rl_in(k, train ? 5 : 3), *var = rl_in(k, train ? 6 : 4);
    if (!mean || !var || !mean->numel || !var->numel || !norm_is_float(mean) || !norm_is_float(var))
        return RL_UNSUPPORTED;
    rl_status status = norm_read(k, rl_in(k, 1), rl_in(k, 0), rl_in(k, 2), &j);
    if (status != RL_OK) return status;
    j.train = train, j.eps = rl_num(k, 8), j.mean = mean, j.var = var;
    for (int i = 1; i < 3; i++) j.kept[i - 1] = rl_data(k->out[i], RL_WRITE);
    if (is_short(&j)) return back_columns(k, &j);
    k->svc->parallel(k, j.channels, 2 * NORM_NS * (double)(j.samples * j.plane), back_channels, &j);
    return RL_OK;
}
