/* One width of sampling at the places of a grid. */
#include "kernels/shared/grid_body.h"

/* places [from, from + GRID_BLOCK) of picture n; with their slopes if there is room for them */
V_TARGET static void V_NAME(block_find)(const grid_job *job, int64_t n, int64_t from, grid_block *b,
                                        grid_slopes *slopes) {
    rl_grid_place place;
    b->n = 0;
    b->count = (int)simd_min(GRID_BLOCK, job->places - from);
    for (int p = 0; p < GRID_BLOCK; p++) {
        double at[3];
        for (int d = 0; p < b->count && d < job->g.dims; d++)
            at[d] = (double)job->grid[(n * job->places + from + p) * job->g.dims + d];
        if (p < b->count) V_NAME(grid_find)(&job->g, at, NULL, slopes != NULL, &place);
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

/* the elements of a vector of places, times weights; what has weight 0 is not looked at */
V_INLINE VF V_NAME(grid_sum)(const grid_block *b, const float (*weight)[GRID_BLOCK], const float *plane,
                             int at) {
    VF sum = v_zero();
    for (int k = 0; k < b->n; k++) {
        const VF w = v_load(weight[k] + at), x = v_gather(plane, b->at[k] + at);
        sum = v_fma(w, v_pick(v_differs(w, v_zero()), x, v_zero()), sum);
    }
    return sum;
}

V_TARGET static void V_NAME(grid_samples)(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    grid_block b;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->blocks, from = i % job->blocks * GRID_BLOCK;
        V_NAME(block_find)(job, n, from, &b, NULL);
        for (int64_t c = 0; c < job->channels; c++) {
            const float *plane = job->picture + (n * job->channels + c) * job->volume;
            float *to = job->to + (n * job->channels + c) * job->places + from;
            for (int at = 0; at < b.count; at += V_WIDTH) {
                const VF sum = V_NAME(grid_sum)(&b, b.weight, plane, at);
                if (at + V_WIDTH <= b.count)
                    v_store(to + at, sum);
                else
                    v_store_tail(to + at, v_tail(b.count - at), sum);
            }
        }
    }
}

V_TARGET static void V_NAME(grid_places)(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    grid_slopes s;
    const grid_block *b = &s.block;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->blocks, from = i % job->blocks * GRID_BLOCK;
        V_NAME(block_find)(job, n, from, &s.block, &s);
        memset(s.sum, 0, sizeof s.sum);
        for (int64_t c = 0; c < job->channels; c++) {
            const float *plane = job->picture + (n * job->channels + c) * job->volume;
            const float *grad = job->grad + (n * job->channels + c) * job->places + from;
            for (int at = 0; at < b->count; at += V_WIDTH) {
                const VF g = v_load_tail(grad + at, v_tail(simd_min(V_WIDTH, b->count - at)));
                for (int d = 0; d < job->g.dims; d++)
                    v_store(s.sum[d] + at,
                            v_fma(g, V_NAME(grid_sum)(b, s.slope[d], plane, at), v_load(s.sum[d] + at)));
            }
        }
        float *to = job->to + (n * job->places + from) * job->g.dims;
        for (int p = 0; p < b->count; p++)
            for (int d = 0; d < job->g.dims; d++) *to++ = s.sum[d][p];
    }
}

/* a group of channels of one picture: every gradient goes where its sample came from */
V_TARGET static void V_NAME(grid_spread)(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    grid_block b;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->blocks, first = i % job->blocks * GRID_CHANNELS;
        const int64_t last = simd_min(job->channels, first + GRID_CHANNELS);
        float *to = job->to + (n * job->channels + first) * job->volume;
        memset(to, 0, (size_t)((last - first) * job->volume) * sizeof *to);
        for (int64_t from = 0; from < job->places; from += GRID_BLOCK) {
            V_NAME(block_find)(job, n, from, &b, NULL);
            for (int64_t c = first; c < last; c++) {
                const float *grad = job->grad + (n * job->channels + c) * job->places + from;
                float *plane = to + (c - first) * job->volume;
                for (int k = 0; k < b.n; k++) {
                    const int32_t *at = b.at[k];
                    const float *weight = b.weight[k];
                    for (int p = 0; p < b.count; p++) /* neither 0 nor no number */
                        plane[at[p]] += fabsf(weight[p]) > 0 ? weight[p] * grad[p] : 0;
                }
            }
        }
    }
}
