/* Folds of reductions: a row to one number, rows to a row. Sums are double all the way. */
#if SIMD_BITS == 256
#define VD         __m256d
#define vd_load(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#else
#define VD         __m512d
#define vd_load(p) _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p))
#endif

/* sum of x - center, or of its square */
V_INLINE double V_NAME(row_fold)(const float *x, int64_t n, double center, bool square) {
    enum { STEP = V_WIDTH / 2 };
    VD sum[4] = {{0}}, c = (VD){0} + center;
    double total = 0;
    int64_t i = 0;
    for (; i + 4 * STEP <= n; i += 4 * STEP) V_UNROLL for (int t = 0; t < 4; t++) {
            VD v = vd_load(x + i + t * STEP) - c;
            if (square) v *= v;
            sum[t] += v;
        }
    for (; i < n; i++) {
        double v = (double)x[i] - center;
        total += square ? v * v : v;
    }
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    for (int t = 0; t < STEP; t++) total += sum[0][t];
    return total;
}

V_TARGET static void V_NAME(row_sum)(const float *x, int64_t n, const double *center, double *to) {
    (void)center;
    *to += V_NAME(row_fold)(x, n, 0, false);
}
V_TARGET static void V_NAME(row_squares)(const float *x, int64_t n, const double *center, double *to) {
    *to += V_NAME(row_fold)(x, n, *center, true);
}

V_TARGET static void V_NAME(columns_sum)(const float *x, int64_t step, int64_t rows, int64_t width,
                                         const double *center, double *restrict to) {
    (void)center;
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        const float *a = x, *b = a + step, *c = b + step, *d = c + step;
        for (int64_t i = 0; i < width; i++)
            to[i] += ((double)a[i] + (double)b[i]) + ((double)c[i] + (double)d[i]);
    }
    for (; rows > 0; rows--, x += step)
        for (int64_t i = 0; i < width; i++) to[i] += (double)x[i];
}

V_TARGET static void V_NAME(columns_squares)(const float *x, int64_t step, int64_t rows, int64_t width,
                                             const double *restrict center, double *restrict to) {
    for (; rows > 0; rows--, x += step)
        for (int64_t i = 0; i < width; i++) {
            double d = (double)x[i] - center[i];
            to[i] += d * d;
        }
}
#undef VD
#undef vd_load

/* a NaN wins and stays: best is math_max or math_min */
#define V_EXTREME(name, best, beats, start)                                                                  \
    V_TARGET static void V_NAME(row_##name)(const float *x, int64_t n, const double *center, double *to) {   \
        VF most[2] = {v_set(start), v_set(start)};                                                           \
        float lane[V_WIDTH];                                                                                 \
        int64_t i = 0;                                                                                       \
        (void)center;                                                                                        \
        for (; i + 2 * V_WIDTH <= n; i += 2 * V_WIDTH) {                                                     \
            most[0] = V_NAME(best)(most[0], v_load(x + i));                                                  \
            most[1] = V_NAME(best)(most[1], v_load(x + i + V_WIDTH));                                        \
        }                                                                                                    \
        for (; i < n; i += V_WIDTH) {                                                                        \
            VM m = v_tail(simd_min(V_WIDTH, n - i));                                                         \
            most[0] = V_NAME(best)(most[0], v_pick(m, v_load_tail(x + i, m), v_set(start)));                 \
        }                                                                                                    \
        v_store(lane, V_NAME(best)(most[0], most[1]));                                                       \
        for (int at = 0; at < V_WIDTH; at++)                                                                 \
            if (lane[at] != lane[at] || (to[0] == to[0] && lane[at] beats to[0])) to[0] = (double)lane[at];  \
    }                                                                                                        \
    V_TARGET static void V_NAME(columns_##name)(const float *x, int64_t step, int64_t rows, int64_t width,   \
                                                const double *center, double *to) {                          \
        float run[WIDTH];                                                                                    \
        (void)center;                                                                                        \
        for (int64_t i = 0; i < width; i++) run[i] = (float)to[i];                                           \
        for (int64_t r = 0; r < rows; r++, x += step) {                                                      \
            int64_t i = 0;                                                                                   \
            for (; i + V_WIDTH <= width; i += V_WIDTH)                                                       \
                v_store(run + i, V_NAME(best)(v_load(run + i), v_load(x + i)));                              \
            if (i == width) continue;                                                                        \
            VM m = v_tail(width - i);                                                                        \
            v_store_tail(run + i, m, V_NAME(best)(v_load_tail(run + i, m), v_load_tail(x + i, m)));          \
        }                                                                                                    \
        for (int64_t i = 0; i < width; i++) to[i] = (double)run[i];                                          \
    }
V_EXTREME(max, math_max, >, -__builtin_inff())
V_EXTREME(min, math_min, <, __builtin_inff())
#undef V_EXTREME
