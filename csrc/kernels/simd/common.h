/* Small helpers of the simd_ files, and the machine they are built for. */
#ifndef RL_SIMD_COMMON
#define RL_SIMD_COMMON
#include "kernels/shared/plain.h"
#if defined(__x86_64__)
#include <immintrin.h>
#define RL_SIMD_X86 1
#endif
#ifdef __clang__
#define V_UNROLL _Pragma("unroll")
#else
#define V_UNROLL _Pragma("GCC unroll 32")
#endif
#define V_INLINE static inline __attribute__((always_inline)) V_TARGET

static inline int64_t simd_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t simd_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static inline int64_t simd_ceil_div(int64_t n, int64_t d) {
    return (n + d - 1) / d;
}
#endif
