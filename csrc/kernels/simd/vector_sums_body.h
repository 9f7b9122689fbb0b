/* Sums and the largest of the lanes of vectors, compiled once for each isa (kernels/simd/isa.h). */
#if SIMD_BITS == 256
#define HALF(v) (v)
#else
#define HALF(v)                                                                                              \
    _mm256_add_ps(_mm512_castps512_ps256(v),                                                                 \
                  _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(v), 1)))
#endif
/* four vectors to their four sums */
V_INLINE __m128 V_NAME(sums)(VF a, VF b, VF c, VF d) {
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(HALF(a), HALF(b)), _mm256_hadd_ps(HALF(c), HALF(d)));
    return _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
}
/* the sum of one */
V_INLINE float V_NAME(row_total)(VF v) {
    float four[4];
    _mm_storeu_ps(four, V_NAME(sums)(v, v_zero(), v_zero(), v_zero()));
    return four[0];
}
#undef HALF

#if SIMD_BITS == 256
#define HALF(v) (v)
#else
#define HALF(v) _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1))
#endif
/* the largest, unless a NaN is among them */
V_INLINE float V_NAME(lanes_most)(VF v) {
    __m256 half = HALF(v);
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
#undef HALF
