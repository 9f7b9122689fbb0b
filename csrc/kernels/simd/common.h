/* Small helpers of the simd_ files. */
#ifndef RL_SIMD_COMMON
#define RL_SIMD_COMMON
#include "kernel_abi/isa_list.h"
#include "kernels/shared/plain.h"
#ifdef __clang__
#define V_UNROLL _Pragma("unroll")
#else
#define V_UNROLL _Pragma("GCC unroll 32")
#endif

/* ---- what kernels/simd/foreach_isa.h has compiled, by number: Note [Instruction sets] ---- */
#define ISA_ENTRY(name, torch, has, f)     [RL_ISA_##name] = f##_##name,
#define ISA_ENTRY_F64(name, torch, has, f) [RL_ISA_##name] = f##_##name##_f64,
#define ISA_TABLE(f)                       {RL_EACH_ISA(ISA_ENTRY, f)}
#define ISA_TABLE_F64(f)                   {RL_EACH_ISA(ISA_ENTRY_F64, f)}
#define ISA_IS_THERE(...)                  1
#define ISA_HEADER(name, ...)              ISA_TEXT(isa_##name.h)
#define ISA_TEXT(x)                        #x
/* What is plain C and compiled once: for the least of them, as vectors that the compiler makes. */
#if defined(__x86_64__) && !defined(RL_SCALAR_ISA)
#define ISA_BASELINE __attribute__((target("avx2,fma,f16c")))
#else
#define ISA_BASELINE
#endif

/* what svc->parallel runs */
typedef void (*simd_body)(void *, int64_t begin, int64_t end, int thread);
/* four floats anywhere in memory */
typedef float simd_four __attribute__((vector_size(16), aligned(4), may_alias));

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
