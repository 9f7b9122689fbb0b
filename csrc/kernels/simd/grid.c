/* Sampling at the points of a grid in vectors. */
#include "common.h"
#include "kernels/shared/grid.h"
#include <string.h>

/* ---- sampling at the places of a grid in vectors: Note [Grid points] in kernels/shared/grid.h ---- */
enum { GRID_BLOCK = 64, GRID_CHANNELS = 32 };

/* Contiguous float32: pictures (N, C, volume), a grid (N, places, dims), results (N, C, places). */
typedef struct {
    rl_grid g;
    const float *picture, *grid, *grad;
    float *to;
    int64_t channels, places, volume, blocks; /* blocks of places, or of channels */
} grid_job;

/* What a block of places needs, place by place in lanes; weights that are 0 stand for what lies outside. */
typedef struct {
    int n, count; /* elements of a place; places */
    int32_t at[GRID_MAX][GRID_BLOCK];
    float weight[GRID_MAX][GRID_BLOCK];
} grid_block;
typedef struct {
    grid_block block;
    float slope[3][GRID_MAX][GRID_BLOCK], sum[3][GRID_BLOCK];
} grid_slopes;

/* Sampling at the places of a grid, of contiguous float32: blocks of places, found once for all channels. */
#define GRID_TARGET     V_TARGET
#define GRID_REAL       double
#define GRID_NAME(f)    V_NAME(f)
#define GRID_ROUNDED(x) ((void)g, (double)(float)(x))
#define GRID_FUSED      true
#define ISA_IMPL        "grid_impl.inc"
#include "kernels/simd/foreach_isa.h"

static bool grid_begin(const rl_call *k, grid_job *job, const rl_view *picture, int grid, int arg) {
    const rl_view *places = rl_in(k, grid);
    if (!k->svc->isa || !rl_is_plain(places) || !rl_is_plain(k->out[0]) || !k->out[0]->numel ||
        !picture->numel || !places->numel || picture->dtype != RL_F32)
        return false;
    job->g = rl_grid_read(k, picture, arg);
    job->grid = rl_const_data(places);
    job->to = rl_data(k->out[0], RL_WRITE);
    job->channels = picture->shape[1];
    job->places = places->numel / places->shape[0] / job->g.dims;
    job->volume = 1;
    for (int d = 0; d < job->g.dims; d++) {
        job->g.step[d] = job->volume;
        job->volume *= job->g.size[d];
    }
    job->blocks = simd_ceil_div(job->places, GRID_BLOCK);
    return job->volume < INT32_MAX;
}

static const double PLACE_NS = 60, TAP_NS = 0.5; /* to find a place; to fetch an element */

static void grid_run(rl_call *k, const grid_job *job, simd_body body) {
    const double taps = job->g.mode == GRID_NEAREST ? 1 : job->g.mode == GRID_BICUBIC ? 16 : 1 << job->g.dims;
    const double ns = PLACE_NS + TAP_NS * taps * (double)job->channels;
    const int64_t n = rl_tensor_arg(k, 0)->shape[0];
    k->svc->parallel(k, n * job->blocks, ns * (double)(n * job->places) / (double)(n * job->blocks), body,
                     (void *)job);
}

RL_CHOOSER
RL_KERNEL(simd_grid_sampler) {
    const rl_view *x = rl_in(k, 0);
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, x, 1, 2)) return RL_UNSUPPORTED;
    job.picture = rl_plain_input(k, x);
    if (!job.picture) return RL_FAIL;
    static const simd_body samples[] = ISA_TABLE(grid_samples);
    grid_run(k, &job, samples[k->svc->isa]);
    return RL_OK;
}

RL_KERNEL(simd_grid_sampler_input) { /* (grad_output, grid, input_size, ...) */
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, k->out[0], 1, 3)) return RL_UNSUPPORTED;
    job.grad = rl_plain_input(k, rl_in(k, 0));
    if (!job.grad) return RL_FAIL;
    job.blocks = simd_ceil_div(job.channels, GRID_CHANNELS);
    static const simd_body spread[] = ISA_TABLE(grid_spread);
    grid_run(k, &job, spread[k->svc->isa]);
    return RL_OK;
}

RL_KERNEL(simd_grid_sampler_grid) { /* (grad_output, input, grid, ...) */
    const rl_view *x = rl_in(k, 1);
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, x, 2, 3)) return RL_UNSUPPORTED;
    job.picture = rl_plain_input(k, x);
    job.grad = rl_plain_input(k, rl_in(k, 0));
    if (!job.picture || !job.grad) return RL_FAIL;
    static const simd_body places[] = ISA_TABLE(grid_places);
    grid_run(k, &job, places[k->svc->isa]);
    return RL_OK;
}
