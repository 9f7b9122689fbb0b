/* Every second lane of 2 * V_WIDTH numbers; AVX2 leaves them in an order that POOL_SORT repairs, as it does
 * the other way round. POOL_LOW and POOL_HIGH weave such vectors together. POOL_AT: the numbers that V_WIDTH
 * int32 name; */
#undef POOL_EVEN
#undef POOL_ODD
#undef POOL_SORT
#undef POOL_LOW
#undef POOL_HIGH
#undef POOL_WEAVE
#undef POOL_LANES
#undef POOL_AT
#if SIMD_BITS == 256 && defined SIMD_DOUBLE
#define POOL_EVEN(a, b) _mm256_unpacklo_pd(a, b)
#define POOL_ODD(a, b)  _mm256_unpackhi_pd(a, b)
#define POOL_SORT(x)    _mm256_permute4x64_pd(x, 0xd8)
#define POOL_LOW(e, o)  _mm256_unpacklo_pd(e, o)
#define POOL_HIGH(e, o) _mm256_unpackhi_pd(e, o)
#define POOL_AT(p, at)  _mm256_i32gather_pd(p, _mm_loadu_si128((const __m128i *)(at)), 8)
#elif SIMD_BITS == 256
#define POOL_EVEN(a, b) _mm256_shuffle_ps(a, b, 0x88)
#define POOL_ODD(a, b)  _mm256_shuffle_ps(a, b, 0xdd)
#define POOL_SORT(x)    _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8))
#define POOL_LOW(e, o)  _mm256_unpacklo_ps(e, o)
#define POOL_HIGH(e, o) _mm256_unpackhi_ps(e, o)
#define POOL_AT(p, at)  _mm256_i32gather_ps(p, _mm256_loadu_si256((const __m256i *)(at)), 4)
#elif defined SIMD_DOUBLE
#define POOL_LANES(first)                                                                                    \
    _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14))
#define POOL_EVEN(a, b) _mm512_permutex2var_pd(a, POOL_LANES(0), b)
#define POOL_ODD(a, b)  _mm512_permutex2var_pd(a, POOL_LANES(1), b)
#define POOL_SORT(x)    (x)
#define POOL_WEAVE(at)  _mm512_add_epi64(_mm512_set1_epi64(at), _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11))
#define POOL_LOW(e, o)  _mm512_permutex2var_pd(e, POOL_WEAVE(0), o)
#define POOL_HIGH(e, o) _mm512_permutex2var_pd(e, POOL_WEAVE(4), o)
#define POOL_AT(p, at)                                                                                       \
    _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, _mm256_loadu_si256((const __m256i *)(at)), p, 8)
#else
#define POOL_LANES(first)                                                                                    \
    _mm512_add_epi32(_mm512_set1_epi32(first),                                                               \
                     _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
#define POOL_EVEN(a, b) _mm512_permutex2var_ps(a, POOL_LANES(0), b)
#define POOL_ODD(a, b)  _mm512_permutex2var_ps(a, POOL_LANES(1), b)
#define POOL_SORT(x)    (x)
#define POOL_WEAVE(at)                                                                                       \
    _mm512_add_epi32(_mm512_set1_epi32(at),                                                                  \
                     _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
#define POOL_LOW(e, o)  _mm512_permutex2var_ps(e, POOL_WEAVE(0), o)
#define POOL_HIGH(e, o) _mm512_permutex2var_ps(e, POOL_WEAVE(8), o)
#define POOL_AT(p, at)  _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(at), p, 4)
#endif

/* V_WIDTH numbers `step` apart; two steps as POOL_EVEN leaves them */
V_INLINE VF V_NAME(pool_pick)(const V_ELEMENT *p, int64_t step) {
    if (step == 1) return v_load(p);
    if (step == 2) return POOL_EVEN(v_load(p), v_load(p + V_WIDTH));
    int32_t at[V_WIDTH];
    for (int i = 0; i < V_WIDTH; i++) at[i] = i * (int32_t)step;
    return POOL_AT(p, at);
}

/* the larger one; a NaN wins */
V_INLINE VF V_NAME(pool_max)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b));
}
/* what pooling makes of two elements: the larger one, or their sum */
V_INLINE VF V_NAME(pool_join)(bool max, VF a, VF b) {
    return max ? V_NAME(pool_max)(a, b) : v_add(a, b);
}
V_INLINE VF V_NAME(pool_neutral)(bool max) {
    return v_set(max ? -(V_ELEMENT)__builtin_inff() : 0);
}
V_INLINE V_ELEMENT V_NAME(pool_join_all)(bool max, VF x) {
    V_ELEMENT lanes[V_WIDTH], all;
    v_store(lanes, x);
    all = lanes[0];
    for (int i = 1; i < V_WIDTH; i++)
        all = !max ? all + lanes[i] : lanes[i] > all || lanes[i] != lanes[i] ? lanes[i] : all;
    return all;
}
