/* One vocabulary for the vector widths. A file that holds a kernel's text (softmax_rows_impl.inc) is included
 * for each of them, after this header:
 *
 *   #define SIMD_BITS 256               #define SIMD_BITS 512
 *   #include "isa.h"                    #include "isa.h"
 *   #include "softmax_rows_impl.inc"      #include "softmax_rows_impl.inc"
 *
 * and gives functions named V_NAME(f): f_avx2 and f_avx512. With SIMD_DOUBLE defined, too, the words mean
 * doubles and the names are f_avx2_f64 and f_avx512_f64. The compiler flags stay those of the whole
 * extension: V_TARGET enables the instructions for one function, the call's svc->isa picks it.
 *
 *   VF, VM           a vector of V_WIDTH elements (V_ELEMENT), a mask
 *   VI, VD           beside floats: as many int32, their bits; half as many doubles
 *   v_fma(a, b, c)   a * b + c; v_fms: a * b - c; v_fnma: c - a * b
 *   v_max, v_min     answer with b where one is NaN
 *   v_select(m, a, b)  a where m is set, else b
 *   v_scale(x, n)    x * 2^n, rounded once; v_rcp(x): 1 / x to 14 bits
 *   v_tail(n)        a mask of the first n lanes, for v_load_tail and v_store_tail, which touch no others
 *   v_permute(x, i)   lane i[0] of x, lane i[1] ...; v_permute2(a, b, i): the lanes of b follow those of a;
 *                    v_gather(p, i): p[i[0]], p[i[1]] ...
 *   v_low, v_high    half of the floats, as doubles; v_join puts such halves together; vd_ words work on them
 *
 * Another instruction set needs a file like isa_avx2.h. */
#include "common.h"

#ifdef RL_SIMD_X86
#undef V_WIDTH
#undef V_NAME
#undef V_TARGET
#undef V_ELEMENT
#undef VF
#undef VI
#undef VM
#undef VD
#undef V_DOUBLE

#if SIMD_BITS == 256
#define V_TARGET    __attribute__((target("avx2,fma,f16c")))
#define VI          __m256i
#define VD          __m256d
#define V_DOUBLE(f) f##_avx2_f64
#ifdef SIMD_DOUBLE
#define V_WIDTH   4
#define V_ELEMENT double
#define V_NAME(f) f##_avx2_f64
#define VF        __m256d
#define VM        __m256d
#else
#define V_WIDTH   8
#define V_ELEMENT float
#define V_NAME(f) f##_avx2
#define VF        __m256
#define VM        __m256
#endif
#else
#define V_TARGET    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#define VI          __m512i
#define VD          __m512d
#define V_DOUBLE(f) f##_avx512_f64
#ifdef SIMD_DOUBLE
#define V_WIDTH   8
#define V_ELEMENT double
#define V_NAME(f) f##_avx512_f64
#define VF        __m512d
#define VM        __mmask8
#else
#define V_WIDTH   16
#define V_ELEMENT float
#define V_NAME(f) f##_avx512
#define VF        __m512
#define VM        __mmask16
#endif
#endif

#ifndef RL_KERNELS_SIMD_ISA_WORDS
#define RL_KERNELS_SIMD_ISA_WORDS
#include "isa_avx2.h"
#include "isa_avx512.h"
#define v_load(...)         V_NAME(v_load)(__VA_ARGS__)
#define v_store(...)        V_NAME(v_store)(__VA_ARGS__)
#define v_set(...)          V_NAME(v_set)(__VA_ARGS__)
#define v_zero(...)         V_NAME(v_zero)(__VA_ARGS__)
#define v_add(...)          V_NAME(v_add)(__VA_ARGS__)
#define v_sub(...)          V_NAME(v_sub)(__VA_ARGS__)
#define v_mul(...)          V_NAME(v_mul)(__VA_ARGS__)
#define v_div(...)          V_NAME(v_div)(__VA_ARGS__)
#define v_fma(...)          V_NAME(v_fma)(__VA_ARGS__)
#define v_fms(...)          V_NAME(v_fms)(__VA_ARGS__)
#define v_fnma(...)         V_NAME(v_fnma)(__VA_ARGS__)
#define v_sqrt(...)         V_NAME(v_sqrt)(__VA_ARGS__)
#define v_max(...)          V_NAME(v_max)(__VA_ARGS__)
#define v_min(...)          V_NAME(v_min)(__VA_ARGS__)
#define v_floor(...)        V_NAME(v_floor)(__VA_ARGS__)
#define v_ceil(...)         V_NAME(v_ceil)(__VA_ARGS__)
#define v_trunc(...)        V_NAME(v_trunc)(__VA_ARGS__)
#define v_round(...)        V_NAME(v_round)(__VA_ARGS__)
#define v_sign_of(...)      V_NAME(v_sign_of)(__VA_ARGS__)
#define v_abs(...)          V_NAME(v_abs)(__VA_ARGS__)
#define v_xor(...)          V_NAME(v_xor)(__VA_ARGS__)
#define v_or(...)           V_NAME(v_or)(__VA_ARGS__)
#define v_lt(...)           V_NAME(v_lt)(__VA_ARGS__)
#define v_le(...)           V_NAME(v_le)(__VA_ARGS__)
#define v_eq(...)           V_NAME(v_eq)(__VA_ARGS__)
#define v_ne(...)           V_NAME(v_ne)(__VA_ARGS__)
#define v_unordered(...)    V_NAME(v_unordered)(__VA_ARGS__)
#define v_select(...)       V_NAME(v_select)(__VA_ARGS__)
#define v_mask_or(...)      V_NAME(v_mask_or)(__VA_ARGS__)
#define v_mask_and(...)     V_NAME(v_mask_and)(__VA_ARGS__)
#define v_not(...)          V_NAME(v_not)(__VA_ARGS__)
#define v_mask_bits(...)    V_NAME(v_mask_bits)(__VA_ARGS__)
#define v_tail(...)         V_NAME(v_tail)(__VA_ARGS__)
#define v_load_tail(...)    V_NAME(v_load_tail)(__VA_ARGS__)
#define v_store_tail(...)   V_NAME(v_store_tail)(__VA_ARGS__)
#define v_store_bool(...)   V_NAME(v_store_bool)(__VA_ARGS__)
#define v_to_float(...)     V_NAME(v_to_float)(__VA_ARGS__)
#define v_bits(...)         V_NAME(v_bits)(__VA_ARGS__)
#define v_from_bits(...)    V_NAME(v_from_bits)(__VA_ARGS__)
#define v_scale(...)        V_NAME(v_scale)(__VA_ARGS__)
#define v_load_half(...)    V_NAME(v_load_half)(__VA_ARGS__)
#define v_store_half(...)   V_NAME(v_store_half)(__VA_ARGS__)
#define v_load_bfloat(...)  V_NAME(v_load_bfloat)(__VA_ARGS__)
#define v_store_bfloat(...) V_NAME(v_store_bfloat)(__VA_ARGS__)
#define v_low(...)          V_NAME(v_low)(__VA_ARGS__)
#define v_high(...)         V_NAME(v_high)(__VA_ARGS__)
#define v_join(...)         V_NAME(v_join)(__VA_ARGS__)
#define v_permute(...)      V_NAME(v_permute)(__VA_ARGS__)
#define v_permute2(...)     V_NAME(v_permute2)(__VA_ARGS__)
#define v_gather(...)       V_NAME(v_gather)(__VA_ARGS__)
#define v_rcp(...)          V_NAME(v_rcp)(__VA_ARGS__)
#define vd_set(...)         V_DOUBLE(v_set)(__VA_ARGS__)
#define vd_add(...)         V_DOUBLE(v_add)(__VA_ARGS__)
#define vd_sub(...)         V_DOUBLE(v_sub)(__VA_ARGS__)
#define vd_mul(...)         V_DOUBLE(v_mul)(__VA_ARGS__)
#define vd_div(...)         V_DOUBLE(v_div)(__VA_ARGS__)
#define vd_fma(...)         V_DOUBLE(v_fma)(__VA_ARGS__)
#define vd_fnma(...)        V_DOUBLE(v_fnma)(__VA_ARGS__)
#define vd_sqrt(...)        V_DOUBLE(v_sqrt)(__VA_ARGS__)
#define vd_max(...)         V_DOUBLE(v_max)(__VA_ARGS__)
#define vd_min(...)         V_DOUBLE(v_min)(__VA_ARGS__)
#define vd_lt(...)          V_DOUBLE(v_lt)(__VA_ARGS__)
#define vd_select(...)      V_DOUBLE(v_select)(__VA_ARGS__)
#define vi_set(...)         V_NAME(vi_set)(__VA_ARGS__)
#define vi_add(...)         V_NAME(vi_add)(__VA_ARGS__)
#define vi_sub(...)         V_NAME(vi_sub)(__VA_ARGS__)
#define vi_and(...)         V_NAME(vi_and)(__VA_ARGS__)
#define vi_left(...)        V_NAME(vi_left)(__VA_ARGS__)
#define vi_right(...)       V_NAME(vi_right)(__VA_ARGS__)
#define vi_eq(...)          V_NAME(vi_eq)(__VA_ARGS__)
#define vi_lt(...)          V_NAME(vi_lt)(__VA_ARGS__)
#endif
#endif
