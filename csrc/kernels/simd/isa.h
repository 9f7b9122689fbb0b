/* One vocabulary for all instruction sets. foreach_isa.h compiles a kernel's text (softmax_impl.inc) with
 * each of them; it gives functions named V_NAME(f), which is f_avx2 for floats and f_avx2_f64 for doubles,
 * where V_IS_DOUBLE is defined. The compiler's flags stay those of the whole extension: V_TARGET enables the
 * instructions for one function.
 *
 *   VF, VM             a vector of V_WIDTH elements (V_ELEMENT), V_BYTES long; a mask
 *   VI, VD             as many integers of that size, their bits; beside floats: half as many doubles
 *   V_REGISTERS        vectors that a CPU holds: what a tile of sums may have
 *   v_fma(a, b, c)     a * b + c; v_fms: a * b - c; v_fnma: c - a * b; rounded once
 *   v_max, v_min       answer with b where one is NaN
 *   v_select(m, a, b)  a where m is set, else b
 *   v_mask_bits(m)     an integer whose bit i is lane i of the mask
 *   v_tail(n)          a mask of the first n lanes, for v_load_tail and v_store_tail, which touch no others
 *   v_store_bool(p, m) a byte for each lane, 0 or 1
 *   v_lanes_sum(x)     of all lanes; v_lanes_max(x), unless a NaN is among them
 *   v_gather(p, i)     p[i[0]], p[i[1]] ...; i: int32
 *   v_even(a, b)       lanes 0, 2, 4 ... of a, then of b; v_odd: lanes 1, 3, 5 ...; in an order of their own
 *   v_in_order(x)      repairs that order, and is its own inverse
 *   v_interleave_low   (a, b): the first half of a[0], b[0], a[1], b[1] ..., v_interleave_high: the second;
 *                      a and b have gone through v_in_order
 *   vi_set, vi_add ... integers; vi_right: the sign moves in; vi_right_zeros (of doubles only): zeros do
 *
 * Of floats only:
 *   v_scale(x, n)      x * 2^n, rounded once; v_rcp(x): 1 / x to 14 bits or more
 *   v_low, v_high      half of the floats, as doubles; v_join puts such halves together; vd_ words are theirs
 *   v_load_wide(p)     half as many floats as doubles; v_store_narrow(p, x): doubles as floats
 *   v_permute(x, i)    lane i[0] of x, lane i[1] ...; v_permute2(a, b, i): the lanes of b follow those of a
 *   v_sums(a, b, c, d) the sums of the lanes of each, as a simd_four
 *
 * Of doubles only:
 *   v_swap(x, n)       lane i is lane i ^ n of x, n = 1, 2, 4 ...
 *   v_slide_up         (x, n, y): the lanes of x move up by n = 1, 2, 4 ..., and lanes of y move in
 *   v_first(x)         the first lane, as a number; v_broadcast_last(x): the last one, in all lanes
 *
 * isa_<name>.h defines the words by their names for floats and doubles, and in ISA_ macros what else is told
 * apart here. */
#include "common.h"
#undef ISA_NAME
#undef ISA_NAME_F64
#undef ISA_TARGET
#undef ISA_BYTES
#undef ISA_REGISTERS
#undef ISA_F32
#undef ISA_F32_MASK
#undef ISA_I32
#undef ISA_F64
#undef ISA_F64_MASK
#undef ISA_I64
#include ISA_LINE(ISA_HEADER)

#ifndef RL_KERNELS_SIMD_ISA_WORDS
#define RL_KERNELS_SIMD_ISA_WORDS
#define V_INLINE               static inline __attribute__((always_inline)) V_TARGET
#define V_TARGET               ISA_TARGET
#define V_BYTES                ISA_BYTES
#define V_REGISTERS            ISA_REGISTERS
#define V_DOUBLE(f)            ISA_NAME_F64(f)
#define VD                     ISA_F64
#define v_load(...)            V_NAME(v_load)(__VA_ARGS__)
#define v_store(...)           V_NAME(v_store)(__VA_ARGS__)
#define v_set(...)             V_NAME(v_set)(__VA_ARGS__)
#define v_zero(...)            V_NAME(v_zero)(__VA_ARGS__)
#define v_add(...)             V_NAME(v_add)(__VA_ARGS__)
#define v_sub(...)             V_NAME(v_sub)(__VA_ARGS__)
#define v_mul(...)             V_NAME(v_mul)(__VA_ARGS__)
#define v_div(...)             V_NAME(v_div)(__VA_ARGS__)
#define v_fma(...)             V_NAME(v_fma)(__VA_ARGS__)
#define v_fms(...)             V_NAME(v_fms)(__VA_ARGS__)
#define v_fnma(...)            V_NAME(v_fnma)(__VA_ARGS__)
#define v_sqrt(...)            V_NAME(v_sqrt)(__VA_ARGS__)
#define v_max(...)             V_NAME(v_max)(__VA_ARGS__)
#define v_min(...)             V_NAME(v_min)(__VA_ARGS__)
#define v_floor(...)           V_NAME(v_floor)(__VA_ARGS__)
#define v_ceil(...)            V_NAME(v_ceil)(__VA_ARGS__)
#define v_trunc(...)           V_NAME(v_trunc)(__VA_ARGS__)
#define v_round(...)           V_NAME(v_round)(__VA_ARGS__)
#define v_sign_of(...)         V_NAME(v_sign_of)(__VA_ARGS__)
#define v_abs(...)             V_NAME(v_abs)(__VA_ARGS__)
#define v_xor(...)             V_NAME(v_xor)(__VA_ARGS__)
#define v_or(...)              V_NAME(v_or)(__VA_ARGS__)
#define v_lt(...)              V_NAME(v_lt)(__VA_ARGS__)
#define v_le(...)              V_NAME(v_le)(__VA_ARGS__)
#define v_eq(...)              V_NAME(v_eq)(__VA_ARGS__)
#define v_ne(...)              V_NAME(v_ne)(__VA_ARGS__)
#define v_unordered(...)       V_NAME(v_unordered)(__VA_ARGS__)
#define v_select(...)          V_NAME(v_select)(__VA_ARGS__)
#define v_mask_or(...)         V_NAME(v_mask_or)(__VA_ARGS__)
#define v_mask_and(...)        V_NAME(v_mask_and)(__VA_ARGS__)
#define v_not(...)             V_NAME(v_not)(__VA_ARGS__)
#define v_mask_bits(...)       V_NAME(v_mask_bits)(__VA_ARGS__)
#define v_tail(...)            V_NAME(v_tail)(__VA_ARGS__)
#define v_load_tail(...)       V_NAME(v_load_tail)(__VA_ARGS__)
#define v_store_tail(...)      V_NAME(v_store_tail)(__VA_ARGS__)
#define v_store_bool(...)      V_NAME(v_store_bool)(__VA_ARGS__)
#define v_bits(...)            V_NAME(v_bits)(__VA_ARGS__)
#define v_from_bits(...)       V_NAME(v_from_bits)(__VA_ARGS__)
#define v_lanes_sum(...)       V_NAME(v_lanes_sum)(__VA_ARGS__)
#define v_lanes_max(...)       V_NAME(v_lanes_max)(__VA_ARGS__)
#define v_gather(...)          V_NAME(v_gather)(__VA_ARGS__)
#define v_even(...)            V_NAME(v_even)(__VA_ARGS__)
#define v_odd(...)             V_NAME(v_odd)(__VA_ARGS__)
#define v_in_order(...)        V_NAME(v_in_order)(__VA_ARGS__)
#define v_interleave_low(...)  V_NAME(v_interleave_low)(__VA_ARGS__)
#define v_interleave_high(...) V_NAME(v_interleave_high)(__VA_ARGS__)
#define v_to_float(...)        V_NAME(v_to_float)(__VA_ARGS__)
#define v_scale(...)           V_NAME(v_scale)(__VA_ARGS__)
#define v_rcp(...)             V_NAME(v_rcp)(__VA_ARGS__)
#define v_load_half(...)       V_NAME(v_load_half)(__VA_ARGS__)
#define v_store_half(...)      V_NAME(v_store_half)(__VA_ARGS__)
#define v_load_bfloat(...)     V_NAME(v_load_bfloat)(__VA_ARGS__)
#define v_store_bfloat(...)    V_NAME(v_store_bfloat)(__VA_ARGS__)
#define v_low(...)             V_NAME(v_low)(__VA_ARGS__)
#define v_high(...)            V_NAME(v_high)(__VA_ARGS__)
#define v_join(...)            V_NAME(v_join)(__VA_ARGS__)
#define v_load_wide(...)       V_NAME(v_load_wide)(__VA_ARGS__)
#define v_store_narrow(...)    V_NAME(v_store_narrow)(__VA_ARGS__)
#define v_permute(...)         V_NAME(v_permute)(__VA_ARGS__)
#define v_permute2(...)        V_NAME(v_permute2)(__VA_ARGS__)
#define v_sums(...)            V_NAME(v_sums)(__VA_ARGS__)
#define v_swap(...)            V_NAME(v_swap)(__VA_ARGS__)
#define v_slide_up(...)        V_NAME(v_slide_up)(__VA_ARGS__)
#define v_first(...)           V_NAME(v_first)(__VA_ARGS__)
#define v_broadcast_last(...)  V_NAME(v_broadcast_last)(__VA_ARGS__)
#define vd_set(...)            V_DOUBLE(v_set)(__VA_ARGS__)
#define vd_add(...)            V_DOUBLE(v_add)(__VA_ARGS__)
#define vd_sub(...)            V_DOUBLE(v_sub)(__VA_ARGS__)
#define vd_mul(...)            V_DOUBLE(v_mul)(__VA_ARGS__)
#define vd_div(...)            V_DOUBLE(v_div)(__VA_ARGS__)
#define vd_fma(...)            V_DOUBLE(v_fma)(__VA_ARGS__)
#define vd_fnma(...)           V_DOUBLE(v_fnma)(__VA_ARGS__)
#define vd_sqrt(...)           V_DOUBLE(v_sqrt)(__VA_ARGS__)
#define vd_max(...)            V_DOUBLE(v_max)(__VA_ARGS__)
#define vd_min(...)            V_DOUBLE(v_min)(__VA_ARGS__)
#define vd_lt(...)             V_DOUBLE(v_lt)(__VA_ARGS__)
#define vd_select(...)         V_DOUBLE(v_select)(__VA_ARGS__)
#define vi_set(...)            V_NAME(vi_set)(__VA_ARGS__)
#define vi_add(...)            V_NAME(vi_add)(__VA_ARGS__)
#define vi_sub(...)            V_NAME(vi_sub)(__VA_ARGS__)
#define vi_and(...)            V_NAME(vi_and)(__VA_ARGS__)
#define vi_left(...)           V_NAME(vi_left)(__VA_ARGS__)
#define vi_right(...)          V_NAME(vi_right)(__VA_ARGS__)
#define vi_right_zeros(...)    V_NAME(vi_right_zeros)(__VA_ARGS__)
#define vi_eq(...)             V_NAME(vi_eq)(__VA_ARGS__)
#define vi_lt(...)             V_NAME(vi_lt)(__VA_ARGS__)
#endif

#ifdef ISA_DOUBLES
#define V_IS_DOUBLE
#define V_NAME(f) ISA_NAME_F64(f)
#define V_ELEMENT double
#define V_WIDTH   (ISA_BYTES / 8)
#define VF        ISA_F64
#define VM        ISA_F64_MASK
#define VI        ISA_I64
#include ISA_IMPL
#undef V_IS_DOUBLE
#undef V_NAME
#undef V_ELEMENT
#undef V_WIDTH
#undef VF
#undef VM
#undef VI
#endif
#ifndef ISA_NO_FLOATS
#define V_NAME(f) ISA_NAME(f)
#define V_ELEMENT float
#define V_WIDTH   (ISA_BYTES / 4)
#define VF        ISA_F32
#define VM        ISA_F32_MASK
#define VI        ISA_I32
#include ISA_IMPL
#undef V_NAME
#undef V_ELEMENT
#undef V_WIDTH
#undef VF
#undef VM
#undef VI
#endif
