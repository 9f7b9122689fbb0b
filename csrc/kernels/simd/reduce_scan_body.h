/* Running sums and products, in doubles, with the elements of a vector scanned in its register:
 *
 *   a b c d  ─►  a ab bc cd  ─►  a ab abc abcd      log2(lanes) steps, then what came before joins all lanes
 */
#ifdef SIMD_DOUBLE
/* lanes move up by some; `none` moves in */
#if SIMD_BITS == 256
V_INLINE VD V_NAME(moved_up)(VD x, int by, VD none) {
    return by == 1 ? _mm256_blend_pd(_mm256_permute4x64_pd(x, 0x90), none, 1)
                   : _mm256_permute2f128_pd(none, x, 0x20);
}
V_INLINE VD V_NAME(last_lane)(VD x) {
    return _mm256_permute4x64_pd(x, 0xff);
}
#else
V_INLINE VD V_NAME(moved_up)(VD x, int by, VD none) {
    __m512i a = _mm512_castpd_si512(x), b = _mm512_castpd_si512(none);
    return _mm512_castsi512_pd(by == 1   ? _mm512_maskz_alignr_epi64(0xff, a, b, 7)
                               : by == 2 ? _mm512_maskz_alignr_epi64(0xff, a, b, 6)
                                         : _mm512_maskz_alignr_epi64(0xff, a, b, 4));
}
V_INLINE VD V_NAME(last_lane)(VD x) {
    return _mm512_maskz_permutexvar_pd(0xff, _mm512_set1_epi64(7), x);
}
#endif
V_INLINE void V_NAME(store_wide)(double *p, VD x) {
    v_store(p, x);
}
#else
V_INLINE void V_NAME(store_wide)(float *p, VD x) {
#if SIMD_BITS == 256
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
#else
    _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(0xff, x));
#endif
}
#endif

#define V_SCAN(name, neutral, join)                                                                          \
    V_WIDE_STEP(name, V_NAME(join_##join)(acc, x))                                                           \
    V_WIDE_ROW(name, neutral, join)                                                                          \
    V_TARGET static fold_cell V_NAME(name##_total)(const void *from, int64_t n) {                            \
        return (fold_cell){.d = V_NAME(name##_row)(from, n)};                                                \
    }                                                                                                        \
    V_TARGET static fold_cell V_NAME(name##_line)(const void *from, void *to, int64_t n, fold_cell before) { \
        const V_ELEMENT *x = from;                                                                           \
        V_ELEMENT *y = to;                                                                                   \
        VD carry = D_NAME(v_set)(before.d), none = D_NAME(v_set)(neutral);                                   \
        int64_t i = 0;                                                                                       \
        for (; i + D_WIDTH <= n; i += D_WIDTH) {                                                             \
            VD v = V_NAME(load_wide)(x + i);                                                                 \
            V_UNROLL for (int by = 1; by < D_WIDTH; by *= 2) v =                                             \
                D_NAME(join_##join)(v, D_NAME(moved_up)(v, by, none));                                       \
            V_NAME(store_wide)(y + i, D_NAME(join_##join)(carry, v));                                        \
            carry = D_NAME(join_##join)(carry, D_NAME(last_lane)(v));                                        \
        }                                                                                                    \
        before.d = D_NAME(lane_0)(carry);                                                                    \
        for (; i < n; i++) y[i] = (V_ELEMENT)(before.d = fold_##join(before.d, x[i]));                       \
        return before;                                                                                       \
    }                                                                                                        \
    V_TARGET static void V_NAME(name##_across)(const char *from, char *to, int64_t rows,                     \
                                               const int64_t step[2], const int64_t beside[2], int width) {  \
        fold_cell carry[SCAN_TILE];                                                                          \
        int dense = beside[0] == sizeof(V_ELEMENT) && beside[1] == sizeof(V_ELEMENT) ? width : 0;            \
        for (int j = 0; j < width; j++) carry[j].d = neutral;                                                \
        for (int64_t r = 0; r < rows && dense; r++) {                                                        \
            const V_ELEMENT *x = (const V_ELEMENT *)(from + r * step[1]);                                    \
            V_ELEMENT *y = (V_ELEMENT *)(to + r * step[0]);                                                  \
            int j = 0;                                                                                       \
            for (; j + D_WIDTH <= width; j += D_WIDTH) {                                                     \
                VD v = D_NAME(join_##join)(D_NAME(v_load)(&carry[j].d), V_NAME(load_wide)(x + j));           \
                D_NAME(v_store)(&carry[j].d, v);                                                             \
                V_NAME(store_wide)(y + j, v);                                                                \
            }                                                                                                \
            for (; j < width; j++) y[j] = (V_ELEMENT)(carry[j].d = fold_##join(carry[j].d, x[j]));           \
        }                                                                                                    \
        for (int j = dense; j < width; j++) {                                                                \
            double all = neutral;                                                                            \
            for (int64_t r = 0; r < rows; r++) {                                                             \
                all = fold_##join(all, *(const V_ELEMENT *)(from + j * beside[1] + r * step[1]));            \
                *(V_ELEMENT *)(to + j * beside[0] + r * step[0]) = (V_ELEMENT)all;                           \
            }                                                                                                \
        }                                                                                                    \
    }
V_SCAN(cumsum, 0, add)
V_SCAN(cumprod, 1, times)
#undef V_SCAN
