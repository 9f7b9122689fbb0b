/* Rows of layer_norm and rms_norm. */

/* to = ((x - center) * scale + shift) * weight + bias */
V_INLINE void V_NAME(row_apply)(const float *x, const float *weight, const float *bias, float *to, int64_t n,
                                float center, float scale, float shift) {
    const VF c = v_set(center), s = v_set(scale), b = v_set(shift);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF y = v_fma(v_sub(v_load(x + i), c), s, b);
        if (weight && bias)
            y = v_fma(y, v_load(weight + i), v_load(bias + i));
        else if (weight)
            y = v_mul(y, v_load(weight + i));
        v_store(to + i, y);
    }
    if (i < n) {
        const VM m = v_tail(n - i);
        VF y = v_fma(v_sub(v_load_tail(x + i, m), c), s, b);
        if (weight && bias)
            y = v_fma(y, v_load_tail(weight + i, m), v_load_tail(bias + i, m));
        else if (weight)
            y = v_mul(y, v_load_tail(weight + i, m));
        v_store_tail(to + i, m, y);
    }
}

V_TARGET static void V_NAME(norm_rows)(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_norm_rows *j = ctx;
    const int64_t n = j->n;
    const double part = 1 / (double)n;
    char *room = j->strips ? rl_room(&j->rooms, thread) : NULL;
    float *read = room ? (float *)(room + j->read_at) : NULL;
    float *made = room ? (float *)(room + j->made_at) : NULL;
    for (int64_t i = begin, at = begin % j->period; i < end; i++, at = at + 1 == j->period ? 0 : at + 1) {
        const float *x = room ? read : j->x + i * n, *w = j->weight ? j->weight + at * n : NULL;
        float *to = room ? made : j->to + i * n;
        norm_moments m = {0, 0};
        if (room) simd_strip_read(&j->in, read, i * n, n);
        if (j->around_zero)
            m.squares = V_NAME(squares)(x, n);
        else
            m = V_NAME(moments)(x, n);
        double scale = 1 / __builtin_sqrt(m.squares * part + j->eps);
        float center = (float)m.mean, shift = (float)(((double)center - m.mean) * scale);
        if (j->mean) j->mean[i] = center;
        if (j->scale) j->scale[i] = (float)scale;
        if (j->bias)
            V_NAME(row_apply)(x, w, j->bias + at * n, to, n, center, (float)scale, shift);
        else
            V_NAME(row_apply)(x, w, NULL, to, n, center, (float)scale, shift);
        if (room) simd_strip_write(&j->made, to, i * n, n);
    }
}
