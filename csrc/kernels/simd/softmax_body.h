/* Rows of softmax, log_softmax and their gradients. Lanes beyond a row hold what does not count. */
V_INLINE float V_NAME(row_largest)(VF v) {
    float lane[V_WIDTH], most;
    v_store(lane, v);
    most = lane[0];
    for (int i = 1; i < V_WIDTH; i++)
        if (lane[i] > most || lane[i] != lane[i]) most = lane[i];
    return most;
}

V_INLINE float V_NAME(row_most)(const float *x, int64_t n) {
    VF most = v_set(-__builtin_inff());
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) most = V_NAME(math_max)(most, v_load(x + i));
    if (i < n) {
        VM m = v_tail(n - i);
        most = v_pick(m, V_NAME(math_max)(most, v_load_tail(x + i, m)), most);
    }
    return V_NAME(row_largest)(most);
}

/* the sum of e^(x - most); what is added is kept in `to` unless that is NULL */
V_INLINE float V_NAME(row_exp)(const float *x, float *to, int64_t n, float most) {
    VF sum = v_zero(), shift = v_set(most);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        VF e = V_NAME(math_exp)(v_sub(v_load(x + i), shift));
        if (to) v_store(to + i, e);
        sum = v_add(sum, e);
    }
    if (i < n) {
        VM m = v_tail(n - i);
        VF e = v_pick(m, V_NAME(math_exp)(v_sub(v_load_tail(x + i, m), shift)), v_zero());
        if (to) v_store_tail(to + i, m, e);
        sum = v_add(sum, e);
    }
    return V_NAME(row_total)(sum);
}

V_TARGET static void V_NAME(softmax_row)(const float *x, const float *unused, float *to, int64_t n) {
    (void)unused;
    float sum = V_NAME(row_exp)(x, to, n, V_NAME(row_most)(x, n));
    VF s = v_set(sum);
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_div(v_load(to + i), s));
    if (i < n) {
        VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_div(v_load_tail(to + i, m), s));
    }
}

V_TARGET static void V_NAME(log_softmax_row)(const float *x, const float *unused, float *to, int64_t n) {
    (void)unused;
    float most = V_NAME(row_most)(x, n);
    VF shift = v_set(most), log_sum = v_set(__builtin_logf(V_NAME(row_exp)(x, NULL, n, most)));
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) v_store(to + i, v_sub(v_sub(v_load(x + i), shift), log_sum));
    if (i < n) {
        VM m = v_tail(n - i);
        v_store_tail(to + i, m, v_sub(v_sub(v_load_tail(x + i, m), shift), log_sum));
    }
}

V_TARGET static void V_NAME(softmax_back_row)(const float *grad, const float *y, float *to, int64_t n) {
    VF sum = v_zero();
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) sum = v_fma(v_load(grad + i), v_load(y + i), sum);
    VM m = v_tail(n - i);
    if (i < n) sum = v_fma(v_load_tail(grad + i, m), v_load_tail(y + i, m), sum);
    sum = v_set(V_NAME(row_total)(sum));
    for (i = 0; i + V_WIDTH <= n; i += V_WIDTH)
        v_store(to + i, v_mul(v_sub(v_load(grad + i), sum), v_load(y + i)));
    if (i < n) v_store_tail(to + i, m, v_mul(v_sub(v_load_tail(grad + i, m), sum), v_load_tail(y + i, m)));
}

V_TARGET static void V_NAME(log_softmax_back_row)(const float *grad, const float *y, float *to, int64_t n) {
    VF sum = v_zero();
    int64_t i = 0;
    for (; i + V_WIDTH <= n; i += V_WIDTH) sum = v_add(sum, v_load(grad + i));
    VM m = v_tail(n - i);
    if (i < n) sum = v_add(sum, v_load_tail(grad + i, m));
    sum = v_set(V_NAME(row_total)(sum));
    for (i = 0; i + V_WIDTH <= n; i += V_WIDTH)
        v_store(to + i, v_fnma(V_NAME(math_exp)(v_load(y + i)), sum, v_load(grad + i)));
    if (i < n)
        v_store_tail(to + i, m,
                     v_fnma(V_NAME(math_exp)(v_load_tail(y + i, m)), sum, v_load_tail(grad + i, m)));
}
