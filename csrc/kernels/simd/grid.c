/* Sampling at the places of a grid, of contiguous float32: blocks of places, found once for all channels. */
#include "grid.h"
#include <string.h>

#ifdef RL_SIMD_X86
/* places [from, from + GRID_BLOCK) of picture n; with their slopes if there is room for them */
static void block_find(const grid_job *job, int64_t n, int64_t from, grid_block *b, grid_slopes *slopes) {
    rl_grid_place place;
    b->n = 0;
    b->count = (int)simd_min(GRID_BLOCK, job->places - from);
    for (int p = 0; p < GRID_BLOCK; p++) {
        double at[3];
        for (int d = 0; p < b->count && d < job->g.dims; d++)
            at[d] = (double)job->grid[(n * job->places + from + p) * job->g.dims + d];
        if (p < b->count) rl_grid_find(&job->g, at, NULL, slopes != NULL, &place);
        b->n = place.n;
        for (int k = 0; k < place.n; k++) {
            const bool real = p < b->count;
            b->at[k][p] = real && place.at[k] >= 0 ? (int32_t)place.at[k] : 0;
            b->weight[k][p] = real ? (float)place.weight[k] : 0;
            for (int d = 0; slopes && d < job->g.dims; d++)
                slopes->slope[d][k][p] = real ? (float)place.slope[d][k] : 0;
        }
    }
}

#define SIMD_BITS 256
#include "isa.h"
#include "grid_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "grid_body.h"

/* a group of channels of one picture: every gradient goes where its sample came from */
static void grid_spread(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    grid_block b;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->blocks, first = i % job->blocks * GRID_CHANNELS;
        const int64_t last = simd_min(job->channels, first + GRID_CHANNELS);
        float *to = job->to + (n * job->channels + first) * job->volume;
        memset(to, 0, (size_t)((last - first) * job->volume) * sizeof *to);
        for (int64_t from = 0; from < job->places; from += GRID_BLOCK) {
            block_find(job, n, from, &b, NULL);
            for (int64_t c = first; c < last; c++) {
                const float *grad = job->grad + (n * job->channels + c) * job->places + from;
                float *plane = to + (c - first) * job->volume;
                for (int p = 0; p < b.count; p++)
                    for (int k = 0; k < b.n; k++) {
                        const float w = b.weight[k][p];
                        if (w != 0 && w == w) plane[b.at[k][p]] += w * grad[p];
                    }
            }
        }
    }
}

static bool grid_begin(const rl_call *k, grid_job *job, const rl_view *picture, int grid, int arg) {
    const rl_view *places = rl_in(k, grid);
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(places) || !rl_is_plain(k->out[0]) ||
        !k->out[0]->numel || !picture->numel || !places->numel || picture->dtype != RL_F32)
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

static void grid_run(rl_call *k, const grid_job *job, void (*body)(void *, int64_t, int64_t, int)) {
    const double taps = job->g.mode == GRID_NEAREST ? 1 : job->g.mode == GRID_BICUBIC ? 16 : 1 << job->g.dims;
    const double ns = PLACE_NS + TAP_NS * taps * (double)job->channels;
    const int64_t n = k->arg[0].u.t->shape[0];
    k->svc->parallel(k, n * job->blocks, ns * (double)(n * job->places) / (double)(n * job->blocks), body,
                     (void *)job);
}

RL_KERNEL(simd_grid_sampler) {
    const rl_view *x = rl_in(k, 0);
    const bool wide = k->svc->isa & RL_ISA_AVX512;
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, x, 1, 2)) return RL_UNSUPPORTED;
    job.picture = rl_plain_input(k, x);
    if (!job.picture) return RL_FAIL;
    grid_run(k, &job, wide ? grid_samples_avx512 : grid_samples_avx2);
    return RL_OK;
}

RL_KERNEL(simd_grid_sampler_input) { /* (grad_output, grid, input_size, ...) */
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, k->out[0], 1, 3)) return RL_UNSUPPORTED;
    job.grad = rl_plain_input(k, rl_in(k, 0));
    if (!job.grad) return RL_FAIL;
    job.blocks = simd_ceil_div(job.channels, GRID_CHANNELS);
    grid_run(k, &job, grid_spread);
    return RL_OK;
}

RL_KERNEL(simd_grid_sampler_grid) { /* (grad_output, input, grid, ...) */
    const rl_view *x = rl_in(k, 1);
    const bool wide = k->svc->isa & RL_ISA_AVX512;
    grid_job job = {.channels = 0};
    if (!grid_begin(k, &job, x, 2, 3)) return RL_UNSUPPORTED;
    job.picture = rl_plain_input(k, x);
    job.grad = rl_plain_input(k, rl_in(k, 0));
    if (!job.picture || !job.grad) return RL_FAIL;
    grid_run(k, &job, wide ? grid_places_avx512 : grid_places_avx2);
    return RL_OK;
}
#else
#define ABSENT(name)                                                                                         \
    RL_KERNEL(name) {                                                                                        \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
ABSENT(simd_grid_sampler)
ABSENT(simd_grid_sampler_input)
ABSENT(simd_grid_sampler_grid)
#endif
