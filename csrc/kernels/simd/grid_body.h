/* One width of sampling at the places of a grid. */

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
        block_find(job, n, from, &b, NULL);
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
        block_find(job, n, from, &s.block, &s);
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
