/* The passes of batch normalisation over one plane; lanes beyond its end count nothing. */
V_INLINE float V_NAME(lanes_total)(VF v) {
    float four[4];
    _mm_storeu_ps(four, V_NAME(sums)(v, v_zero(), v_zero(), v_zero()));
    return four[0];
}

V_TARGET static double V_NAME(plane_sum)(const float *x, int64_t n) {
    VF sum[2] = {v_zero(), v_zero()};
    int64_t i = 0;
    for (; i + 2 * V_WIDTH <= n; i += 2 * V_WIDTH) {
        sum[0] = v_add(sum[0], v_load(x + i));
        sum[1] = v_add(sum[1], v_load(x + i + V_WIDTH));
    }
    for (; i < n; i += V_WIDTH) sum[0] = v_add(sum[0], v_load_tail(x + i, v_tail(simd_min(V_WIDTH, n - i))));
    return (double)V_NAME(lanes_total)(v_add(sum[0], sum[1]));
}

V_TARGET static double V_NAME(plane_squares)(const float *x, int64_t n, float center) {
    VF sum = v_zero(), c = v_set(center);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF d = v_sub(v_load(x + i), c);
        sum = v_fma(d, d, sum);
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF d = v_pick(m, v_sub(v_load_tail(x + i, m), c), v_zero());
        sum = v_fma(d, d, sum);
    }
    return (double)V_NAME(lanes_total)(sum);
}

/* to = (x - center) * scale + shift */
V_TARGET static void V_NAME(plane_apply)(const float *x, float *to, int64_t n, float center, float scale,
                                         float shift) {
    VF c = v_set(center), s = v_set(scale), b = v_set(shift);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_fma(v_sub(v_load(x + i), c), s, b));
    if (i < n) {
        VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_fma(v_sub(v_load_tail(x + i, m), c), s, b));
    }
}

/* adds the sums of grad and of grad * (x - center) */
V_TARGET static void V_NAME(plane_dots)(const float *grad, const float *x, int64_t n, float center,
                                        double to[2]) {
    VF p = v_zero(), q = v_zero(), c = v_set(center);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF g = v_load(grad + i);
        p = v_add(p, g);
        q = v_fma(g, v_sub(v_load(x + i), c), q);
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF g = v_load_tail(grad + i, m);
        p = v_add(p, g);
        q = v_fma(g, v_sub(v_load_tail(x + i, m), c), q);
    }
    to[0] += (double)V_NAME(lanes_total)(p);
    to[1] += (double)V_NAME(lanes_total)(q);
}

/* to = grad * scale - (x - center) * slope - shift */
V_TARGET static void V_NAME(plane_back)(const float *grad, const float *x, float *to, int64_t n, float center,
                                        float scale, float slope, float shift) {
    VF c = v_set(center), s = v_set(scale), k = v_set(slope), b = v_set(shift);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF away = v_fma(v_sub(v_load(x + i), c), k, b);
        v_store(to + i, v_sub(v_mul(v_load(grad + i), s), away));
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF away = v_fma(v_sub(v_load_tail(x + i, m), c), k, b);
        v_store_tail(to + i, m, v_sub(v_mul(v_load_tail(grad + i, m), s), away));
    }
}

static const plane_kit V_NAME(kit) = {V_NAME(plane_sum), V_NAME(plane_squares), V_NAME(plane_apply),
                                      V_NAME(plane_dots), V_NAME(plane_back)};
