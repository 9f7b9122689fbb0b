/* The vocabulary of kernels/simd/isa.h for AVX2: eight floats, or four doubles. */
#define ISA_NAME(f)     f##_avx2
#define ISA_NAME_F64(f) f##_avx2_f64
#define ISA_TARGET      __attribute__((target("avx2,fma,f16c")))
#define ISA_BYTES       32
#define ISA_REGISTERS   16
#define ISA_F32         __m256
#define ISA_F32_MASK    __m256
#define ISA_I32         __m256i
#define ISA_F64         __m256d
#define ISA_F64_MASK    __m256d
#define ISA_I64         __m256i

#ifndef RL_KERNELS_SIMD_ISA_AVX2_H
#define RL_KERNELS_SIMD_ISA_AVX2_H
#include "common.h"
#include <immintrin.h>

#define ISA static inline __attribute__((always_inline, target("avx2,fma,f16c")))

/* ---- floats and doubles: N is the suffix, V the vector, E the element, P the instructions' suffix ---- */
#define ISA_BOTH(N, V, E, P, I)                                                                              \
    ISA V v_load##N(const E *p) {                                                                            \
        return _mm256_loadu_##P(p);                                                                          \
    }                                                                                                        \
    ISA void v_store##N(E *p, V x) {                                                                         \
        _mm256_storeu_##P(p, x);                                                                             \
    }                                                                                                        \
    ISA V v_set##N(E x) {                                                                                    \
        return _mm256_set1_##P(x);                                                                           \
    }                                                                                                        \
    ISA V v_zero##N(void) {                                                                                  \
        return _mm256_setzero_##P();                                                                         \
    }                                                                                                        \
    ISA V v_add##N(V a, V b) {                                                                               \
        return _mm256_add_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_sub##N(V a, V b) {                                                                               \
        return _mm256_sub_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_mul##N(V a, V b) {                                                                               \
        return _mm256_mul_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_div##N(V a, V b) {                                                                               \
        return _mm256_div_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_fma##N(V a, V b, V c) {                                                                          \
        return _mm256_fmadd_##P(a, b, c);                                                                    \
    }                                                                                                        \
    ISA V v_fms##N(V a, V b, V c) {                                                                          \
        return _mm256_fmsub_##P(a, b, c);                                                                    \
    }                                                                                                        \
    ISA V v_fnma##N(V a, V b, V c) {                                                                         \
        return _mm256_fnmadd_##P(a, b, c);                                                                   \
    }                                                                                                        \
    ISA V v_sqrt##N(V x) {                                                                                   \
        return _mm256_sqrt_##P(x);                                                                           \
    }                                                                                                        \
    ISA V v_max##N(V a, V b) {                                                                               \
        return _mm256_max_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_min##N(V a, V b) {                                                                               \
        return _mm256_min_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_floor##N(V x) {                                                                                  \
        return _mm256_floor_##P(x);                                                                          \
    }                                                                                                        \
    ISA V v_ceil##N(V x) {                                                                                   \
        return _mm256_ceil_##P(x);                                                                           \
    }                                                                                                        \
    ISA V v_trunc##N(V x) {                                                                                  \
        return _mm256_round_##P(x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);                                  \
    }                                                                                                        \
    ISA V v_round##N(V x) {                                                                                  \
        return _mm256_round_##P(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);                           \
    }                                                                                                        \
    ISA V v_sign_of##N(V x) {                                                                                \
        return _mm256_and_##P(_mm256_set1_##P((E) - 0.0), x);                                                \
    }                                                                                                        \
    ISA V v_abs##N(V x) {                                                                                    \
        return _mm256_andnot_##P(_mm256_set1_##P((E) - 0.0), x);                                             \
    }                                                                                                        \
    ISA V v_xor##N(V a, V b) {                                                                               \
        return _mm256_xor_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_or##N(V a, V b) {                                                                                \
        return _mm256_or_##P(a, b);                                                                          \
    }                                                                                                        \
    ISA V v_lt##N(V a, V b) {                                                                                \
        return _mm256_cmp_##P(a, b, _CMP_LT_OQ);                                                             \
    }                                                                                                        \
    ISA V v_le##N(V a, V b) {                                                                                \
        return _mm256_cmp_##P(a, b, _CMP_LE_OQ);                                                             \
    }                                                                                                        \
    ISA V v_eq##N(V a, V b) {                                                                                \
        return _mm256_cmp_##P(a, b, _CMP_EQ_OQ);                                                             \
    }                                                                                                        \
    ISA V v_ne##N(V a, V b) {                                                                                \
        return _mm256_cmp_##P(a, b, _CMP_NEQ_UQ);                                                            \
    }                                                                                                        \
    ISA V v_unordered##N(V a, V b) {                                                                         \
        return _mm256_cmp_##P(a, b, _CMP_UNORD_Q);                                                           \
    }                                                                                                        \
    ISA V v_select##N(V m, V yes, V no) {                                                                    \
        return _mm256_blendv_##P(no, yes, m);                                                                \
    }                                                                                                        \
    ISA V v_mask_or##N(V m, V n) {                                                                           \
        return _mm256_or_##P(m, n);                                                                          \
    }                                                                                                        \
    ISA V v_mask_and##N(V m, V n) {                                                                          \
        return _mm256_and_##P(m, n);                                                                         \
    }                                                                                                        \
    ISA V v_not##N(V m) {                                                                                    \
        return _mm256_xor_##P(m, _mm256_castsi256_##P(_mm256_set1_epi32(-1)));                               \
    }                                                                                                        \
    ISA int v_mask_bits##N(V m) {                                                                            \
        return _mm256_movemask_##P(m);                                                                       \
    }                                                                                                        \
    ISA V v_load_tail##N(const E *p, V m) {                                                                  \
        return _mm256_maskload_##P((const I *)p, _mm256_cast##P##_si256(m));                                 \
    }                                                                                                        \
    ISA void v_store_tail##N(E *p, V m, V x) {                                                               \
        _mm256_maskstore_##P((I *)p, _mm256_cast##P##_si256(m), x);                                          \
    }
ISA_BOTH(_avx2, __m256, float, ps, float)
ISA_BOTH(_avx2_f64, __m256d, double, pd, double)
#undef ISA_BOTH

/* all ones in the first n lanes, 0 <= n <= 8, or 4 */
ISA __m256 v_tail_avx2(int64_t n) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}
ISA __m256d v_tail_avx2_f64(int64_t n) {
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)));
}

/* one byte, 0 or 1, for each lane of a mask */
ISA void v_store_bool_avx2(uint8_t *p, __m256 m) {
    __m256i i = _mm256_castps_si256(m);
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
    _mm_storel_epi64((__m128i *)p, _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1)));
}
ISA void v_store_bool_avx2_f64(uint8_t *p, __m256d m) {
    unsigned bits = (unsigned)_mm256_movemask_pd(m);
    for (int i = 0; i < 4; i++) p[i] = bits >> i & 1;
}

/* ---- doubles and their bits ---- */
ISA __m256i v_bits_avx2_f64(__m256d x) {
    return _mm256_castpd_si256(x);
}
ISA __m256d v_from_bits_avx2_f64(__m256i i) {
    return _mm256_castsi256_pd(i);
}
ISA __m256i vi_set_avx2_f64(int64_t i) {
    return _mm256_set1_epi64x(i);
}
ISA __m256i vi_add_avx2_f64(__m256i a, __m256i b) {
    return _mm256_add_epi64(a, b);
}
ISA __m256i vi_sub_avx2_f64(__m256i a, __m256i b) {
    return _mm256_sub_epi64(a, b);
}
ISA __m256i vi_left_avx2_f64(__m256i a, int by) {
    return _mm256_slli_epi64(a, by);
}
ISA __m256i vi_right_zeros_avx2_f64(__m256i a, int by) {
    return _mm256_srli_epi64(a, by);
}

/* ---- floats and their bits ---- */
ISA __m256 v_to_float_avx2(__m256i i) {
    return _mm256_cvtepi32_ps(i);
}
ISA __m256i v_bits_avx2(__m256 x) {
    return _mm256_castps_si256(x);
}
ISA __m256 v_from_bits_avx2(__m256i i) {
    return _mm256_castsi256_ps(i);
}
ISA __m256i vi_set_avx2(int i) {
    return _mm256_set1_epi32(i);
}
ISA __m256i vi_add_avx2(__m256i a, __m256i b) {
    return _mm256_add_epi32(a, b);
}
ISA __m256i vi_sub_avx2(__m256i a, __m256i b) {
    return _mm256_sub_epi32(a, b);
}
ISA __m256i vi_and_avx2(__m256i a, __m256i b) {
    return _mm256_and_si256(a, b);
}
ISA __m256i vi_left_avx2(__m256i a, int by) {
    return _mm256_slli_epi32(a, by);
}
ISA __m256i vi_right_avx2(__m256i a, int by) { /* the sign moves in */
    return _mm256_srai_epi32(a, by);
}
ISA __m256 vi_eq_avx2(__m256i a, __m256i b) {
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
}
ISA __m256 vi_lt_avx2(__m256i a, __m256i b) {
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a));
}

/* 1 / x, with 14 bits or more */
ISA __m256 v_rcp_avx2(__m256 x) {
    return _mm256_div_ps(_mm256_set1_ps(1.0f), x);
}

/* x * 2^n for whole n, |n| <= 252, rounded once: in two factors, of which the first loses nothing */
ISA __m256 v_scale_avx2(__m256 x, __m256 n) {
    __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1), one = _mm256_set1_epi32(127);
    __m256i rest = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), one), 23);
    half = _mm256_slli_epi32(_mm256_add_epi32(half, one), 23);
    return _mm256_mul_ps(_mm256_mul_ps(x, _mm256_castsi256_ps(half)), _mm256_castsi256_ps(rest));
}

/* ---- eight at once: halves as floats ---- */
ISA __m256 v_load_half_avx2(const rl_half *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
ISA void v_store_half_avx2(rl_half *p, __m256 x) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
ISA __m256 v_load_bfloat_avx2(const rl_bfloat *p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
/* AVX512-BF16 has an instruction for this, which takes subnormal numbers for zero */
ISA void v_store_bfloat_avx2(rl_bfloat *p, __m256 x) {
    __m256i i = _mm256_castps_si256(x),
            odd = _mm256_and_si256(_mm256_srli_epi32(i, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(_mm256_add_epi32(i, _mm256_set1_epi32(0x7fff)), odd);
    __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    up = _mm256_srli_epi32(_mm256_blendv_epi8(up, _mm256_set1_epi32(0x7fc00000), _mm256_castps_si256(nan)),
                           16);
    __m128i low = _mm256_castsi256_si128(up), high = _mm256_extracti128_si256(up, 1);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(low, high));
}

/* ---- doubles of floats ---- */
ISA __m256d v_low_avx2(__m256 x) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}
ISA __m256d v_high_avx2(__m256 x) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
ISA __m256 v_join_avx2(__m256d low, __m256d high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}
ISA __m256d v_load_wide_avx2(const float *p) { /* straight from memory, which spares a shuffle */
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}
ISA void v_store_narrow_avx2(float *p, __m256d x) {
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}

/* ---- elements of other lanes ---- */
ISA __m256 v_permute_avx2(__m256 x, const int32_t *index) {
    return _mm256_permutevar8x32_ps(x, _mm256_loadu_si256((const __m256i *)index));
}
ISA __m256 v_permute2_avx2(__m256 a, __m256 b, const int32_t *index) {
    __m256i i = _mm256_loadu_si256((const __m256i *)index);
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, i), _mm256_permutevar8x32_ps(b, i),
                            _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
}
ISA __m256 v_gather_avx2(const float *p, const int32_t *index) {
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, _mm256_loadu_si256((const __m256i *)index),
                                    _mm256_castsi256_ps(_mm256_set1_epi32(-1)), 4);
}
ISA __m256d v_gather_avx2_f64(const double *p, const int32_t *index) {
    return _mm256_i32gather_pd(p, _mm_loadu_si128((const __m128i *)index), 8);
}

/* within each half of a register: a0 a2 b0 b2 | a4 a6 b4 b6 */
ISA __m256 v_even_avx2(__m256 a, __m256 b) {
    return _mm256_shuffle_ps(a, b, 0x88);
}
ISA __m256 v_odd_avx2(__m256 a, __m256 b) {
    return _mm256_shuffle_ps(a, b, 0xdd);
}
ISA __m256 v_in_order_avx2(__m256 x) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}
ISA __m256 v_interleave_low_avx2(__m256 a, __m256 b) {
    return _mm256_unpacklo_ps(a, b);
}
ISA __m256 v_interleave_high_avx2(__m256 a, __m256 b) {
    return _mm256_unpackhi_ps(a, b);
}
ISA __m256d v_even_avx2_f64(__m256d a, __m256d b) {
    return _mm256_unpacklo_pd(a, b);
}
ISA __m256d v_odd_avx2_f64(__m256d a, __m256d b) {
    return _mm256_unpackhi_pd(a, b);
}
ISA __m256d v_in_order_avx2_f64(__m256d x) {
    return _mm256_permute4x64_pd(x, 0xd8);
}
ISA __m256d v_interleave_low_avx2_f64(__m256d a, __m256d b) {
    return _mm256_unpacklo_pd(a, b);
}
ISA __m256d v_interleave_high_avx2_f64(__m256d a, __m256d b) {
    return _mm256_unpackhi_pd(a, b);
}

/* ---- all lanes ---- */
ISA simd_four v_sums_avx2(__m256 a, __m256 b, __m256 c, __m256 d) {
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return (simd_four)_mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
}
ISA float v_lanes_sum_avx2(__m256 x) {
    const __m256 zero = _mm256_setzero_ps();
    return v_sums_avx2(x, zero, zero, zero)[0];
}
ISA float v_lanes_max_avx2(__m256 x) { /* unless a NaN is among them */
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
ISA double v_lanes_sum_avx2_f64(__m256d x) {
    double lane[4], sum = 0;
    _mm256_storeu_pd(lane, x);
    for (int i = 0; i < 4; i++) sum += lane[i];
    return sum;
}
ISA double v_lanes_max_avx2_f64(__m256d x) { /* unless a NaN is among them */
    double lane[4], most;
    _mm256_storeu_pd(lane, x);
    most = lane[0];
    for (int i = 1; i < 4; i++) most = lane[i] > most ? lane[i] : most;
    return most;
}
ISA __m256d v_swap_avx2_f64(__m256d x, int distance) {
    return distance == 2 ? _mm256_permute2f128_pd(x, x, 1) : _mm256_permute_pd(x, 5);
}
ISA __m256d v_slide_up_avx2_f64(__m256d x, int by, __m256d in) {
    return by == 1 ? _mm256_blend_pd(_mm256_permute4x64_pd(x, 0x90), in, 1)
                   : _mm256_permute2f128_pd(in, x, 0x20);
}
ISA double v_first_avx2_f64(__m256d x) {
    return _mm256_cvtsd_f64(x);
}
ISA __m256d v_broadcast_last_avx2_f64(__m256d x) {
    return _mm256_permute4x64_pd(x, 0xff);
}
#undef ISA
#endif
