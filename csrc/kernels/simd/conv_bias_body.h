/* Sums of planes: four vectors of sums for each, planes are added in double. */
V_TARGET static void V_NAME(bias_channels)(void *ctx, int64_t begin, int64_t end, int thread) {
    const bias_job *j = ctx;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        double total = 0;
        for (int64_t n = 0; n < j->images; n++) {
            const float *p = j->from + (n * j->channels + c) * j->plane;
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
