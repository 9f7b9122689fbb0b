/* The passes of norms over runs that share their statistics. */
V_TARGET static norm_moments V_NAME(run_moments)(const float *x, int64_t n) {
    return V_NAME(moments)(x, n);
}

V_TARGET static void V_NAME(run_apply)(const float *x, float *to, int64_t n, float center, float scale,
                                       float shift) {
    VF c = v_set(center), s = v_set(scale), b = v_set(shift);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_fma(v_sub(v_load(x + i), c), s, b));
    if (i < n) {
        VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_fma(v_sub(v_load_tail(x + i, m), c), s, b));
    }
}

V_TARGET static void V_NAME(run_dots)(const float *grad, const float *x, int64_t n, float center,
                                      double to[2]) {
    V_NAME(dots)(grad, x, NULL, n, center, to);
}

V_TARGET static void V_NAME(run_back)(const float *grad, const float *x, float *to, int64_t n, float center,
                                      float scale, float slope, float shift) {
    VF c = v_set(center), s = v_set(scale), k = v_set(slope), b = v_set(shift);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF away = v_fma(v_sub(v_load(x + i), c), k, b);
        v_store(to + i, v_fms(v_load(grad + i), s, away));
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF away = v_fma(v_sub(v_load_tail(x + i, m), c), k, b);
        v_store_tail(to + i, m, v_fms(v_load_tail(grad + i, m), s, away));
    }
}

static const rl_norm_runs V_NAME(runs) = {V_NAME(run_moments), V_NAME(run_apply), V_NAME(run_dots),
                                          V_NAME(run_back)};
