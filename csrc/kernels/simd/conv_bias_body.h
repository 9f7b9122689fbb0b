/* Sums of the channels of images, planes that are dense or channels that are: added in vectors, and what a
 * plane or some places give in double. */
V_TARGET static void V_NAME(bias_channels)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bias_job *j = ctx;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        double total = 0;
        for (int64_t n = 0; n < j->images; n++) {
            const float *p = j->from + n * j->image + c * j->channel;
            VF sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
            float four[4];
            int64_t i = 0;
            for (; i + 4 * V_WIDTH <= j->plane; i += 4 * V_WIDTH) {
                V_UNROLL
                for (int v = 0; v < 4; v++) sum[v] = v_add(sum[v], v_load(p + i + v * V_WIDTH));
            }
            for (; i + V_WIDTH <= j->plane; i += V_WIDTH) sum[0] = v_add(sum[0], v_load(p + i));
            if (i < j->plane) sum[1] = v_add(sum[1], v_load_tail(p + i, v_tail(j->plane - i)));
            _mm_storeu_ps(four, V_NAME(sums)(sum[0], sum[1], sum[2], sum[3]));
            total += (double)((four[0] + four[1]) + (four[2] + four[3]));
        }
        j->to[c] = (float)total;
    }
}

/* item: a vector of channels that lie side by side */
V_TARGET static void V_NAME(bias_lanes)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bias_job *j = ctx;
    (void)thread;
    for (int64_t c = begin * V_WIDTH; c < simd_min(j->channels, end * V_WIDTH); c += V_WIDTH) {
        const int64_t lanes = simd_min(V_WIDTH, j->channels - c);
        const VM tail = v_tail(lanes);
        double total[V_WIDTH] = {0};
        float part[V_WIDTH];
        for (int64_t n = 0; n < j->images; n++)
            for (int64_t at = 0; at < j->plane; at += BIAS_PLACES) {
                const float *p = j->from + n * j->image + at * j->place + c;
                const int64_t count = simd_min(BIAS_PLACES, j->plane - at);
                VF sum = v_zero();
                for (int64_t i = 0; i < count; i++) sum = v_add(sum, v_load_tail(p + i * j->place, tail));
                v_store(part, sum);
                for (int i = 0; i < V_WIDTH; i++) total[i] += (double)part[i];
            }
        for (int64_t i = 0; i < lanes; i++) j->to[c + i] = (float)total[i];
    }
}
