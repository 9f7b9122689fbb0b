/* One vocabulary for two vector widths. A file that holds a kernel's text (*_body.h) is included
 * twice, each time after this header:
 *
 *   #define SIMD_BITS 256          #define SIMD_BITS 512
 *   #include "isa.h"               #include "isa.h"
 *   #include "math_body.h"         #include "math_body.h"
 *
 * and gives functions named V_NAME(f): f_avx2 and f_avx512. The compiler flags stay those of the whole
 * extension: V_TARGET enables the instructions for one function, the call's svc->isa picks it. */
#include "common.h"

#ifdef RL_SIMD_X86
#undef V_WIDTH
#undef V_NAME
#undef V_TARGET
#undef VF
#undef VI
#undef VM
#undef v_load
#undef v_store
#undef v_set
#undef v_zero
#undef v_fma
#undef v_fnma
#undef v_add
#undef v_sub
#undef v_mul
#undef v_div
#undef v_sqrt
#undef v_max
#undef v_min
#undef v_to_int
#undef v_to_float
#undef v_bits
#undef v_from_bits
#undef vi_set
#undef vi_add
#undef vi_sub
#undef vi_and
#undef vi_or
#undef vi_xor
#undef vi_half
#undef vi_exponent
#undef v_tail
#undef v_load_tail
#undef v_store_tail
#undef v_is_less
#undef v_unordered
#undef v_pick
#undef v_either

#if SIMD_BITS == 256
#define V_WIDTH               8
#define V_NAME(f)             f##_avx2
#define V_TARGET              __attribute__((target("avx2,fma")))
#define VF                    __m256
#define VI                    __m256i
#define VM                    __m256
#define v_load(p)             _mm256_loadu_ps(p)
#define v_store(p, x)         _mm256_storeu_ps(p, x)
#define v_set(f)              _mm256_set1_ps(f)
#define v_zero()              _mm256_setzero_ps()
#define v_fma(a, b, c)        _mm256_fmadd_ps(a, b, c)
#define v_fnma(a, b, c)       _mm256_fnmadd_ps(a, b, c)
#define v_add(a, b)           _mm256_add_ps(a, b)
#define v_sub(a, b)           _mm256_sub_ps(a, b)
#define v_mul(a, b)           _mm256_mul_ps(a, b)
#define v_div(a, b)           _mm256_div_ps(a, b)
#define v_sqrt(a)             _mm256_sqrt_ps(a)
#define v_max(a, b)           _mm256_max_ps(a, b)
#define v_min(a, b)           _mm256_min_ps(a, b)
#define v_to_int(a)           _mm256_cvtps_epi32(a)
#define v_to_float(i)         _mm256_cvtepi32_ps(i)
#define v_bits(a)             _mm256_castps_si256(a)
#define v_from_bits(i)        _mm256_castsi256_ps(i)
#define vi_set(i)             _mm256_set1_epi32(i)
#define vi_add(a, b)          _mm256_add_epi32(a, b)
#define vi_sub(a, b)          _mm256_sub_epi32(a, b)
#define vi_and(a, b)          _mm256_and_si256(a, b)
#define vi_or(a, b)           _mm256_or_si256(a, b)
#define vi_xor(a, b)          _mm256_xor_si256(a, b)
#define vi_half(a)            _mm256_srai_epi32(a, 1)
#define vi_exponent(a)        _mm256_slli_epi32(a, 23)
#define v_tail(n)             simd_tail_avx2(n)
#define v_load_tail(p, m)     _mm256_maskload_ps(p, _mm256_castps_si256(m))
#define v_store_tail(p, m, x) _mm256_maskstore_ps(p, _mm256_castps_si256(m), x)
#define v_is_less(a, b)       _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define v_unordered(a, b)     _mm256_cmp_ps(a, b, _CMP_UNORD_Q)
#define v_pick(m, yes, no)    _mm256_blendv_ps(no, yes, m)
#define v_either(m, n)        _mm256_or_ps(m, n)
#ifndef RL_SIMD_TAIL_AVX2
#define RL_SIMD_TAIL_AVX2
/* all ones in the first n lanes, 0 <= n <= 8 */
V_INLINE __m256 simd_tail_avx2(int64_t n) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}
#endif
#else
#define V_WIDTH               16
#define V_NAME(f)             f##_avx512
#define V_TARGET              __attribute__((target("avx512f,avx2,fma")))
#define VF                    __m512
#define VI                    __m512i
#define VM                    __mmask16
#define v_load(p)             _mm512_loadu_ps(p)
#define v_store(p, x)         _mm512_storeu_ps(p, x)
#define v_set(f)              _mm512_set1_ps(f)
#define v_zero()              _mm512_setzero_ps()
#define v_fma(a, b, c)        _mm512_fmadd_ps(a, b, c)
#define v_fnma(a, b, c)       _mm512_fnmadd_ps(a, b, c)
#define v_add(a, b)           _mm512_add_ps(a, b)
#define v_sub(a, b)           _mm512_sub_ps(a, b)
#define v_mul(a, b)           _mm512_mul_ps(a, b)
#define v_div(a, b)           _mm512_div_ps(a, b)
#define v_sqrt(a)             _mm512_maskz_sqrt_ps(0xffff, a)
#define v_max(a, b)           _mm512_maskz_max_ps(0xffff, a, b)
#define v_min(a, b)           _mm512_maskz_min_ps(0xffff, a, b)
#define v_to_int(a)           _mm512_maskz_cvtps_epi32(0xffff, a)
#define v_to_float(i)         _mm512_maskz_cvtepi32_ps(0xffff, i)
#define v_bits(a)             _mm512_castps_si512(a)
#define v_from_bits(i)        _mm512_castsi512_ps(i)
#define vi_set(i)             _mm512_set1_epi32(i)
#define vi_add(a, b)          _mm512_add_epi32(a, b)
#define vi_sub(a, b)          _mm512_sub_epi32(a, b)
#define vi_and(a, b)          _mm512_and_si512(a, b)
#define vi_or(a, b)           _mm512_or_si512(a, b)
#define vi_xor(a, b)          _mm512_xor_si512(a, b)
#define vi_half(a)            _mm512_maskz_srai_epi32(0xffff, a, 1)
#define vi_exponent(a)        _mm512_maskz_slli_epi32(0xffff, a, 23)
#define v_tail(n)             ((__mmask16)((1u << (n)) - 1))
#define v_load_tail(p, m)     _mm512_maskz_loadu_ps(m, p)
#define v_store_tail(p, m, x) _mm512_mask_storeu_ps(p, m, x)
#define v_is_less(a, b)       _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define v_unordered(a, b)     _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
#define v_pick(m, yes, no)    _mm512_mask_blend_ps(m, no, yes)
#define v_either(m, n)        ((__mmask16)((m) | (n)))
#endif
#endif
