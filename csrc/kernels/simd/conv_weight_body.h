/* Gradients of `outs` output channels by four taps: Note [Correlation] in kernels/simd/conv_weight.c. */
#if SIMD_BITS == 256
#define WEIGHT_OUTS 3
#else
#define WEIGHT_OUTS 6
#endif

V_INLINE void V_NAME(weight_tile)(const weight_run *r, const float *grad, const int64_t tap[4], float *to,
                                  int64_t to_row, int taps, const int outs) {
    VF sum[WEIGHT_OUTS][4];
    const int64_t plane = r->grad_plane, whole = r->length / V_WIDTH * V_WIDTH;
    VM tail = v_tail(r->length - whole);
    V_UNROLL
    for (int o = 0; o < outs; o++) sum[o][0] = sum[o][1] = sum[o][2] = sum[o][3] = v_zero();
    for (int64_t i = 0; i < r->images; i++) {
        const float *x[4], *g = grad + i * r->grad_image;
        V_UNROLL
        for (int t = 0; t < 4; t++) x[t] = r->in + i * r->in_image + tap[t];
        for (int64_t at = 0; at < whole; at += V_WIDTH) {
            VF u[4];
            V_UNROLL
            for (int t = 0; t < 4; t++) u[t] = v_load(x[t] + at);
            V_UNROLL
            for (int o = 0; o < outs; o++) {
                VF v = v_load(g + o * plane + at);
                V_UNROLL
                for (int t = 0; t < 4; t++) sum[o][t] = v_fma(u[t], v, sum[o][t]);
            }
        }
        if (whole == r->length) continue;
        VF u[4];
        V_UNROLL
        for (int t = 0; t < 4; t++) u[t] = v_load_tail(x[t] + whole, tail);
        V_UNROLL
        for (int o = 0; o < outs; o++) {
            VF v = v_load_tail(g + o * plane + whole, tail);
            V_UNROLL
            for (int t = 0; t < 4; t++) sum[o][t] = v_fma(u[t], v, sum[o][t]);
        }
    }
    V_UNROLL
    for (int o = 0; o < outs; o++, to += to_row) {
        __m128 four = V_NAME(sums)(sum[o][0], sum[o][1], sum[o][2], sum[o][3]);
        if (taps == 4) {
            _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), four));
        } else {
            float part[4];
            _mm_storeu_ps(part, four);
            for (int t = 0; t < taps; t++) to[t] += part[t];
        }
    }
}

#define WEIGHT(n)                                                                                            \
    V_TARGET static void V_NAME(weight_##n)(const weight_run *r, const float *grad, const int64_t tap[4],    \
                                            float *to, int64_t to_row, int taps) {                           \
        V_NAME(weight_tile)(r, grad, tap, to, to_row, taps, n);                                              \
    }
WEIGHT(1)
WEIGHT(2)
WEIGHT(3)
#if SIMD_BITS == 512
WEIGHT(4)
WEIGHT(5)
WEIGHT(6)
#endif
#undef WEIGHT

/* adds to `to` the gradients of `outs` output channels by `depth` taps */
static void V_NAME(weight_run)(const weight_run *r, const int64_t *taps, int64_t depth, int64_t outs,
                               float *to) {
    static void (*const part[WEIGHT_OUTS])(const weight_run *, const float *, const int64_t[4], float *,
                                           int64_t, int) = {
        V_NAME(weight_1), V_NAME(weight_2), V_NAME(weight_3),
#if SIMD_BITS == 512
        V_NAME(weight_4), V_NAME(weight_5), V_NAME(weight_6),
#endif
    };
    int64_t blocks = simd_ceil_div(outs, WEIGHT_OUTS), done = 0, count;
    for (int64_t b = 0; b < blocks; b++, done += count) {
        count = simd_ceil_div(outs - done, blocks - b);
        for (int64_t t = 0; t < depth; t += 4) {
            int64_t tap[4];
            for (int i = 0; i < 4; i++) tap[i] = taps[simd_min(t + i, depth - 1)];
            part[count - 1](r, r->grad + done * r->grad_plane, tap, to + done * depth + t, depth,
                            (int)simd_min(4, depth - t));
        }
    }
}
#undef WEIGHT_OUTS
