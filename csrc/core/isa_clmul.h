/* Carry-less products of 64 bits: PCLMULQDQ of x86-64. Where there are none RL_CLMUL is not defined. */
#ifndef RL_CORE_ISA_CLMUL_H
#define RL_CORE_ISA_CLMUL_H
#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#define RL_CLMUL       __attribute__((target("pclmul,sse4.1")))
#define CLMUL_WORD(rt) static inline RL_CLMUL rt

/* a polynomial of 128 bits, two halves */
typedef __m128i rl_clmul;

static inline bool rl_clmul_here(void) {
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}
CLMUL_WORD(rl_clmul) rl_clmul_load(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}
CLMUL_WORD(void) rl_clmul_store(uint8_t *p, rl_clmul x) {
    _mm_storeu_si128((__m128i *)p, x);
}
CLMUL_WORD(rl_clmul) rl_clmul_set(int64_t high, int64_t low) {
    return _mm_set_epi64x(high, low);
}
CLMUL_WORD(rl_clmul) rl_clmul_xor(rl_clmul a, rl_clmul b) {
    return _mm_xor_si128(a, b);
}
/* the product of the low halves, and that of the high ones, added */
CLMUL_WORD(rl_clmul) rl_clmul_both(rl_clmul a, rl_clmul b) {
    return _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x00), _mm_clmulepi64_si128(a, b, 0x11));
}
#undef CLMUL_WORD
#endif
#endif
