/* GEMV: a matrix times a few vectors, bound by reading the matrix once. */
#include "gemm.h"
#include "kernels/simd/common.h"
#include <string.h>
#define ISA_IMPL "kernels/simd/gemm/gemv_types.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

/* dots, then rows */
static const rl_gemv_body bodies[][RL_ISA_END] = {
    ISA_TABLE(dots_f32), ISA_TABLE_F64(dots_f64), ISA_TABLE(dots_bf16), ISA_TABLE(dots_f16),
    ISA_TABLE(rows_f32), ISA_TABLE_F64(rows_f64), ISA_TABLE(rows_bf16), ISA_TABLE(rows_f16),
};

rl_gemv_body rl_gemv_body_get(int body) {
    return (&bodies[0][0])[body];
}

RL_CHOOSER
int rl_gemv_body_of(const rl_call *k, int dtype, bool dots) {
    const int at = dtype == RL_F32 ? 0 : dtype == RL_F64 ? 1 : dtype == RL_BF16 ? 2 : 3;
    return (at + (dots ? 0 : 4)) * RL_ISA_END + k->svc->isa;
}
