/* The vocabulary of kernels/simd/isa.h for AVX-512: sixteen floats, or eight doubles. */
#define ISA_NAME(f)     f##_avx512
#define ISA_NAME_F64(f) f##_avx512_f64
#define ISA_TARGET      __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define ISA_BYTES       64
#define ISA_REGISTERS   32
#define ISA_F32         __m512
#define ISA_F32_MASK    __mmask16
#define ISA_I32         __m512i
#define ISA_F64         __m512d
#define ISA_F64_MASK    __mmask8
#define ISA_I64         __m512i

#ifndef RL_KERNELS_SIMD_ISA_AVX512_H
#define RL_KERNELS_SIMD_ISA_AVX512_H
#include "common.h"
#include <immintrin.h>

#define ISA                                                                                                  \
    static inline __attribute__((always_inline, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))

/* ---- floats and doubles: N is the suffix, V the vector, M the mask, E the element, P the instructions'
 * suffix; ALL: every lane. GCC 12 warns of what the forms without a mask leave undefined. ---- */
#define ISA_BOTH(N, V, M, E, P, ALL)                                                                         \
    ISA V v_load##N(const E *p) {                                                                            \
        return _mm512_loadu_##P(p);                                                                          \
    }                                                                                                        \
    ISA void v_store##N(E *p, V x) {                                                                         \
        _mm512_storeu_##P(p, x);                                                                             \
    }                                                                                                        \
    ISA V v_set##N(E x) {                                                                                    \
        return _mm512_set1_##P(x);                                                                           \
    }                                                                                                        \
    ISA V v_zero##N(void) {                                                                                  \
        return _mm512_setzero_##P();                                                                         \
    }                                                                                                        \
    ISA V v_add##N(V a, V b) {                                                                               \
        return _mm512_add_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_sub##N(V a, V b) {                                                                               \
        return _mm512_sub_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_mul##N(V a, V b) {                                                                               \
        return _mm512_mul_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_div##N(V a, V b) {                                                                               \
        return _mm512_div_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_fma##N(V a, V b, V c) {                                                                          \
        return _mm512_fmadd_##P(a, b, c);                                                                    \
    }                                                                                                        \
    ISA V v_fms##N(V a, V b, V c) {                                                                          \
        return _mm512_fmsub_##P(a, b, c);                                                                    \
    }                                                                                                        \
    ISA V v_fnma##N(V a, V b, V c) {                                                                         \
        return _mm512_fnmadd_##P(a, b, c);                                                                   \
    }                                                                                                        \
    ISA V v_sqrt##N(V x) {                                                                                   \
        return _mm512_maskz_sqrt_##P(ALL, x);                                                                \
    }                                                                                                        \
    ISA V v_max##N(V a, V b) {                                                                               \
        return _mm512_maskz_max_##P(ALL, a, b);                                                              \
    }                                                                                                        \
    ISA V v_min##N(V a, V b) {                                                                               \
        return _mm512_maskz_min_##P(ALL, a, b);                                                              \
    }                                                                                                        \
    ISA V v_floor##N(V x) {                                                                                  \
        return _mm512_maskz_roundscale_##P(ALL, x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);               \
    }                                                                                                        \
    ISA V v_ceil##N(V x) {                                                                                   \
        return _mm512_maskz_roundscale_##P(ALL, x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);               \
    }                                                                                                        \
    ISA V v_trunc##N(V x) {                                                                                  \
        return _mm512_maskz_roundscale_##P(ALL, x, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);                  \
    }                                                                                                        \
    ISA V v_round##N(V x) {                                                                                  \
        return _mm512_maskz_roundscale_##P(ALL, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);           \
    }                                                                                                        \
    ISA V v_sign_of##N(V x) {                                                                                \
        return _mm512_and_##P(_mm512_set1_##P((E) - 0.0), x);                                                \
    }                                                                                                        \
    ISA V v_abs##N(V x) {                                                                                    \
        return _mm512_andnot_##P(_mm512_set1_##P((E) - 0.0), x);                                             \
    }                                                                                                        \
    ISA V v_xor##N(V a, V b) {                                                                               \
        return _mm512_xor_##P(a, b);                                                                         \
    }                                                                                                        \
    ISA V v_or##N(V a, V b) {                                                                                \
        return _mm512_or_##P(a, b);                                                                          \
    }                                                                                                        \
    ISA M v_lt##N(V a, V b) {                                                                                \
        return _mm512_cmp_##P##_mask(a, b, _CMP_LT_OQ);                                                      \
    }                                                                                                        \
    ISA M v_le##N(V a, V b) {                                                                                \
        return _mm512_cmp_##P##_mask(a, b, _CMP_LE_OQ);                                                      \
    }                                                                                                        \
    ISA M v_eq##N(V a, V b) {                                                                                \
        return _mm512_cmp_##P##_mask(a, b, _CMP_EQ_OQ);                                                      \
    }                                                                                                        \
    ISA M v_ne##N(V a, V b) {                                                                                \
        return _mm512_cmp_##P##_mask(a, b, _CMP_NEQ_UQ);                                                     \
    }                                                                                                        \
    ISA M v_unordered##N(V a, V b) {                                                                         \
        return _mm512_cmp_##P##_mask(a, b, _CMP_UNORD_Q);                                                    \
    }                                                                                                        \
    ISA V v_select##N(M m, V yes, V no) {                                                                    \
        return _mm512_mask_blend_##P(m, no, yes);                                                            \
    }                                                                                                        \
    ISA M v_mask_or##N(M m, M n) {                                                                           \
        return (M)(m | n);                                                                                   \
    }                                                                                                        \
    ISA M v_mask_and##N(M m, M n) {                                                                          \
        return (M)(m & n);                                                                                   \
    }                                                                                                        \
    ISA M v_not##N(M m) {                                                                                    \
        return (M)~m;                                                                                        \
    }                                                                                                        \
    ISA int v_mask_bits##N(M m) {                                                                            \
        return m;                                                                                            \
    }                                                                                                        \
    ISA M v_tail##N(int64_t n) {                                                                             \
        return (M)((1u << n) - 1);                                                                           \
    }                                                                                                        \
    ISA V v_load_tail##N(const E *p, M m) {                                                                  \
        return _mm512_maskz_loadu_##P(m, p);                                                                 \
    }                                                                                                        \
    ISA void v_store_tail##N(E *p, M m, V x) {                                                               \
        _mm512_mask_storeu_##P(p, m, x);                                                                     \
    }
ISA_BOTH(_avx512, __m512, __mmask16, float, ps, 0xffff)
ISA_BOTH(_avx512_f64, __m512d, __mmask8, double, pd, 0xff)
#undef ISA_BOTH

/* one byte, 0 or 1, for each lane of a mask */
ISA void v_store_bool_avx512(uint8_t *p, __mmask16 m) {
    _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}
ISA void v_store_bool_avx512_f64(uint8_t *p, __mmask8 m) {
    _mm_storel_epi64((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}

/* ---- doubles and their bits ---- */
ISA __m512i v_bits_avx512_f64(__m512d x) {
    return _mm512_castpd_si512(x);
}
ISA __m512d v_from_bits_avx512_f64(__m512i i) {
    return _mm512_castsi512_pd(i);
}
ISA __m512i vi_set_avx512_f64(int64_t i) {
    return _mm512_set1_epi64(i);
}
ISA __m512i vi_add_avx512_f64(__m512i a, __m512i b) {
    return _mm512_add_epi64(a, b);
}
ISA __m512i vi_sub_avx512_f64(__m512i a, __m512i b) {
    return _mm512_sub_epi64(a, b);
}
ISA __m512i vi_left_avx512_f64(__m512i a, int by) {
    return _mm512_maskz_slli_epi64(0xff, a, (unsigned)by);
}
ISA __m512i vi_right_zeros_avx512_f64(__m512i a, int by) {
    return _mm512_maskz_srli_epi64(0xff, a, (unsigned)by);
}

/* ---- floats and their bits ---- */
ISA __m512 v_to_float_avx512(__m512i i) {
    return _mm512_maskz_cvtepi32_ps(0xffff, i);
}
ISA __m512i v_bits_avx512(__m512 x) {
    return _mm512_castps_si512(x);
}
ISA __m512 v_from_bits_avx512(__m512i i) {
    return _mm512_castsi512_ps(i);
}
ISA __m512i vi_set_avx512(int i) {
    return _mm512_set1_epi32(i);
}
ISA __m512i vi_add_avx512(__m512i a, __m512i b) {
    return _mm512_add_epi32(a, b);
}
ISA __m512i vi_sub_avx512(__m512i a, __m512i b) {
    return _mm512_sub_epi32(a, b);
}
ISA __m512i vi_and_avx512(__m512i a, __m512i b) {
    return _mm512_and_si512(a, b);
}
ISA __m512i vi_left_avx512(__m512i a, int by) {
    return _mm512_maskz_slli_epi32(0xffff, a, (unsigned)by);
}
ISA __m512i vi_right_avx512(__m512i a, int by) { /* the sign moves in */
    return _mm512_maskz_srai_epi32(0xffff, a, (unsigned)by);
}
ISA __mmask16 vi_eq_avx512(__m512i a, __m512i b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
ISA __mmask16 vi_lt_avx512(__m512i a, __m512i b) {
    return _mm512_cmplt_epi32_mask(a, b);
}

/* 1 / x, with 14 bits or more */
ISA __m512 v_rcp_avx512(__m512 x) {
    return _mm512_maskz_rcp14_ps(0xffff, x);
}

/* x * 2^n for whole n, |n| <= 252, rounded once */
ISA __m512 v_scale_avx512(__m512 x, __m512 n) {
    return _mm512_maskz_scalef_ps(0xffff, x, n);
}

/* ---- sixteen at once: halves as floats ---- */
ISA __m512 v_load_half_avx512(const rl_half *p) {
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256((const __m256i *)p));
}
ISA void v_store_half_avx512(rl_half *p, __m512 x) {
    _mm256_storeu_si256((__m256i *)p,
                        _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
ISA __m512 v_load_bfloat_avx512(const rl_bfloat *p) {
    __m512i words = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256((const __m256i *)p));
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, words, 16));
}
/* AVX512-BF16 has an instruction for this, which takes subnormal numbers for zero */
ISA void v_store_bfloat_avx512(rl_bfloat *p, __m512 x) {
    __m512i i = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, i, 16), _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(0x7fff)), odd);
    up = _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), up, _mm512_set1_epi32(0x7fc00000));
    up = _mm512_maskz_srli_epi32(0xffff, up, 16);
    _mm256_storeu_si256((__m256i *)p, _mm512_maskz_cvtepi32_epi16(0xffff, up));
}

/* ---- doubles of floats ---- */
ISA __m512d v_low_avx512(__m512 x) {
    return _mm512_maskz_cvtps_pd(0xff, _mm512_castps512_ps256(x));
}
ISA __m512d v_high_avx512(__m512 x) {
    return _mm512_maskz_cvtps_pd(
        0xff, _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(x), 1)));
}
ISA __m512 v_join_avx512(__m512d low, __m512d high) {
    __m512d both = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_maskz_cvtpd_ps(0xff, low)));
    return _mm512_castpd_ps(_mm512_insertf64x4(both, _mm256_castps_pd(_mm512_maskz_cvtpd_ps(0xff, high)), 1));
}
ISA __m512d v_load_wide_avx512(const float *p) { /* straight from memory, which spares a shuffle */
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(p));
}
ISA void v_store_narrow_avx512(float *p, __m512d x) {
    _mm256_storeu_ps(p, _mm512_maskz_cvtpd_ps(0xff, x));
}

/* ---- elements of other lanes ---- */
ISA __m512 v_permute_avx512(__m512 x, const int32_t *index) {
    return _mm512_maskz_permutexvar_ps(0xffff, _mm512_loadu_si512(index), x);
}
ISA __m512 v_permute2_avx512(__m512 a, __m512 b, const int32_t *index) {
    return _mm512_permutex2var_ps(a, _mm512_loadu_si512(index), b);
}
ISA __m512 v_gather_avx512(const float *p, const int32_t *index) {
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xffff, _mm512_loadu_si512(index), p, 4);
}
ISA __m512d v_gather_avx512_f64(const double *p, const int32_t *index) {
    return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, _mm256_loadu_si256((const __m256i *)index), p,
                                    8);
}

/* every second lane: 0, 2, 4 ..., `first` moved in by one; the lanes of two vectors in turns, from `first` on
 */
#define ISA_EVERY_2(first)                                                                                   \
    _mm512_add_epi32(_mm512_set1_epi32(first),                                                               \
                     _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30))
#define ISA_TURNS(first)                                                                                     \
    _mm512_add_epi32(_mm512_set1_epi32(first),                                                               \
                     _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
#define ISA_EVERY_2_F64(first)                                                                               \
    _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14))
#define ISA_TURNS_F64(first)                                                                                 \
    _mm512_add_epi64(_mm512_set1_epi64(first), _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11))
ISA __m512 v_even_avx512(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, ISA_EVERY_2(0), b);
}
ISA __m512 v_odd_avx512(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, ISA_EVERY_2(1), b);
}
ISA __m512 v_in_order_avx512(__m512 x) {
    return x;
}
ISA __m512 v_interleave_low_avx512(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, ISA_TURNS(0), b);
}
ISA __m512 v_interleave_high_avx512(__m512 a, __m512 b) {
    return _mm512_permutex2var_ps(a, ISA_TURNS(8), b);
}
ISA __m512d v_even_avx512_f64(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, ISA_EVERY_2_F64(0), b);
}
ISA __m512d v_odd_avx512_f64(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, ISA_EVERY_2_F64(1), b);
}
ISA __m512d v_in_order_avx512_f64(__m512d x) {
    return x;
}
ISA __m512d v_interleave_low_avx512_f64(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, ISA_TURNS_F64(0), b);
}
ISA __m512d v_interleave_high_avx512_f64(__m512d a, __m512d b) {
    return _mm512_permutex2var_pd(a, ISA_TURNS_F64(4), b);
}
#undef ISA_EVERY_2
#undef ISA_TURNS
#undef ISA_EVERY_2_F64
#undef ISA_TURNS_F64

/* ---- all lanes ---- */
ISA __m256 halves_sum_avx512(__m512 x) {
    return _mm256_add_ps(_mm512_castps512_ps256(x),
                         _mm256_castpd_ps(_mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(x), 1)));
}
ISA simd_four v_sums_avx512(__m512 a, __m512 b, __m512 c, __m512 d) {
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(halves_sum_avx512(a), halves_sum_avx512(b)),
                              _mm256_hadd_ps(halves_sum_avx512(c), halves_sum_avx512(d)));
    return (simd_four)_mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
}
ISA float v_lanes_sum_avx512(__m512 x) {
    const __m512 zero = _mm512_setzero_ps();
    return v_sums_avx512(x, zero, zero, zero)[0];
}
ISA float v_lanes_max_avx512(__m512 x) { /* unless a NaN is among them */
    __m256 half = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
ISA double v_lanes_sum_avx512_f64(__m512d x) {
    double lane[8], sum = 0;
    _mm512_storeu_pd(lane, x);
    for (int i = 0; i < 8; i++) sum += lane[i];
    return sum;
}
ISA double v_lanes_max_avx512_f64(__m512d x) { /* unless a NaN is among them */
    double lane[8], most;
    _mm512_storeu_pd(lane, x);
    most = lane[0];
    for (int i = 1; i < 8; i++) most = lane[i] > most ? lane[i] : most;
    return most;
}
ISA __m512d v_swap_avx512_f64(__m512d x, int distance) {
    return distance == 4   ? _mm512_maskz_shuffle_f64x2(0xff, x, x, 0x4e)
           : distance == 2 ? _mm512_maskz_shuffle_f64x2(0xff, x, x, 0xb1)
                           : _mm512_maskz_permute_pd(0xff, x, 0x55);
}
ISA __m512d v_slide_up_avx512_f64(__m512d x, int by, __m512d in) {
    __m512i a = _mm512_castpd_si512(x), b = _mm512_castpd_si512(in);
    return _mm512_castsi512_pd(by == 1   ? _mm512_maskz_alignr_epi64(0xff, a, b, 7)
                               : by == 2 ? _mm512_maskz_alignr_epi64(0xff, a, b, 6)
                                         : _mm512_maskz_alignr_epi64(0xff, a, b, 4));
}
ISA double v_first_avx512_f64(__m512d x) {
    return _mm512_cvtsd_f64(x);
}
ISA __m512d v_broadcast_last_avx512_f64(__m512d x) {
    return _mm512_maskz_permutexvar_pd(0xff, _mm512_set1_epi64(7), x);
}
#undef ISA
#endif
