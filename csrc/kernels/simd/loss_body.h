/* Rows of squared differences and their gradients. */
V_TARGET static double V_NAME(mse_total)(const float *a, const float *b, int64_t n) {
    double total = 0;
    for (int64_t at = 0, end; at < n; at = end) { /* short sums in float, their sum in double */
        VF sum[2] = {v_zero(), v_zero()}, d;
        int64_t i = at;
        end = simd_min(n, at + 4096);
        for (; i + 2 * V_WIDTH <= end; i += 2 * V_WIDTH) {
            d = v_sub(v_load(a + i), v_load(b + i)), sum[0] = v_fma(d, d, sum[0]);
            d = v_sub(v_load(a + i + V_WIDTH), v_load(b + i + V_WIDTH)), sum[1] = v_fma(d, d, sum[1]);
        }
        for (; i < end; i += V_WIDTH) {
            VM m = v_tail(simd_min(V_WIDTH, end - i));
            d = v_sub(v_load_tail(a + i, m), v_load_tail(b + i, m)), sum[0] = v_fma(d, d, sum[0]);
        }
        total += (double)V_NAME(row_total)(v_add(sum[0], sum[1]));
    }
    return total;
}

V_TARGET static void V_NAME(mse_back)(const float *a, const float *b, float *to, int64_t n, float factor) {
    VF f = v_set(factor);
    for (int64_t i = 0; i < n; i += V_WIDTH) {
        VM m = v_tail(simd_min(V_WIDTH, n - i));
        v_store_tail(to + i, m, v_mul(v_sub(v_load_tail(a + i, m), v_load_tail(b + i, m)), f));
    }
}
