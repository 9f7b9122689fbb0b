/* The instruction sets that kernels are compiled for: a line each. */
#ifndef RL_KERNEL_ABI_ISA_LIST_H
#define RL_KERNEL_ABI_ISA_LIST_H

/* Note [Instruction sets]
 * A line says the name of an instruction set, PyTorch's name for it, and whether this CPU has it. A later one
 * is better. kernels/simd/isa_<name>.h has its vectors, in the words that kernels/simd/isa.h lists.
 *
 *   a line ─┬─► RL_ISA_avx2                     its number: of the best one that kernels may use, in svc->isa
 *           ├─► kernels/simd/foreach_isa.h      compiles a kernel's text for it: f_avx2, f_avx2_f64
 *           ├─► ISA_TABLE(f)                    these functions by number: {[RL_ISA_avx2] = f_avx2, ...}
 *           └─► core/services.c                 asks the CPU; RUSHLIGHT_ISA=avx2 allows none that is better
 *
 * The scalar one serves CPUs that have no other here; on x86-64 it is compiled where RUSHLIGHT_SCALAR_ISA=1.
 */
#if !defined(__x86_64__) || defined(RL_SCALAR_ISA)
#define RL_ISA_1(X, ...) X(scalar, "DEFAULT", true, __VA_ARGS__)
#endif
#if defined(__x86_64__)
#define RL_CPU(what)     __builtin_cpu_supports(what)
#define RL_ISA_2(X, ...) X(avx2, "AVX2", RL_CPU("avx2") && RL_CPU("fma") && RL_CPU("f16c"), __VA_ARGS__)
#define RL_ISA_3(X, ...)                                                                                     \
    X(avx512, "AVX512", RL_CPU("avx512f") && RL_CPU("avx512bw") && RL_CPU("avx512dq") && RL_CPU("avx512vl"), \
      __VA_ARGS__)
#endif

/* ---- what stands for a line that is not there, up to six ---- */
#ifndef RL_ISA_1
#define RL_ISA_1(...)
#endif
#ifndef RL_ISA_2
#define RL_ISA_2(...)
#endif
#ifndef RL_ISA_3
#define RL_ISA_3(...)
#endif
#ifndef RL_ISA_4
#define RL_ISA_4(...)
#endif
#ifndef RL_ISA_5
#define RL_ISA_5(...)
#endif
#ifndef RL_ISA_6
#define RL_ISA_6(...)
#endif
/* X(name, PyTorch's name, whether the CPU has it, ...) for each */
#define RL_EACH_ISA(...)                                                                                     \
    RL_ISA_1(__VA_ARGS__)                                                                                    \
    RL_ISA_2(__VA_ARGS__)                                                                                    \
    RL_ISA_3(__VA_ARGS__) RL_ISA_4(__VA_ARGS__) RL_ISA_5(__VA_ARGS__) RL_ISA_6(__VA_ARGS__)

#define RL_ISA_NUMBER(name, ...) RL_ISA_##name,
enum { RL_ISA_NONE, RL_EACH_ISA(RL_ISA_NUMBER, ) RL_ISA_END };
#undef RL_ISA_NUMBER
#endif
