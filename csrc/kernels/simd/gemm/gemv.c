/* GEMV: a matrix times a few vectors, bound by reading the matrix once. */
#include "gemm.h"
#include "kernels/simd/common.h"
#include <string.h>
#ifdef RL_SIMD_X86
#define SIMD_BITS 256
#include "kernels/simd/isa.h"
#include "kernels/simd/vmath/sums_impl.inc"
#include "gemv_types.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "kernels/simd/isa.h"
#include "kernels/simd/vmath/sums_impl.inc"
#include "gemv_types.inc"

enum { GEMV_DTYPES = 4 };
static const rl_gemv_body bodies[] = {
    dots_f32_avx2,   dots_f64_avx2_f64,   dots_bf16_avx2,   dots_f16_avx2,
    rows_f32_avx2,   rows_f64_avx2_f64,   rows_bf16_avx2,   rows_f16_avx2,
    dots_f32_avx512, dots_f64_avx512_f64, dots_bf16_avx512, dots_f16_avx512,
    rows_f32_avx512, rows_f64_avx512_f64, rows_bf16_avx512, rows_f16_avx512,
};

rl_gemv_body rl_gemv_body_get(int body) {
    return bodies[body];
}

RL_CHOOSER
int rl_gemv_body_of(const rl_call *k, int dtype, bool dots) {
    const int at = dtype == RL_F32 ? 0 : dtype == RL_F64 ? 1 : dtype == RL_BF16 ? 2 : 3;
    return at + (dots ? 0 : GEMV_DTYPES) + (k->svc->isa & RL_ISA_AVX512 ? 2 * GEMV_DTYPES : 0);
}
#else
static void nothing(const rl_gemv *t, int64_t j0, int64_t j1) {
    (void)t, (void)j0, (void)j1;
}
rl_gemv_body rl_gemv_body_get(int body) {
    (void)body;
    return nothing;
}
int rl_gemv_body_of(const rl_call *k, int dtype, bool dots) {
    (void)k, (void)dtype, (void)dots;
    return 0;
}
#endif
