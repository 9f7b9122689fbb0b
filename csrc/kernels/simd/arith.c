/* Arithmetic on two contiguous float32 tensors of one shape, or on a tensor and one number. */
#include "elementwise.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_math_body.h"
#include "arith_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "arith_body.h"

static double binary_alpha(const rl_call *k) {
    return k->arg[2].tag == RL_NONE ? 1.0 : rl_num(k, 2);
}

RL_KERNEL(simd_add) {
    double alpha = binary_alpha(k);
    if (alpha == 1.0) return binary_run(k, binary_add_avx2, binary_add_avx512, 1.0f);
    return binary_run(k, binary_axpy_avx2, binary_axpy_avx512, (float)alpha);
}
RL_KERNEL(simd_sub) {
    double alpha = binary_alpha(k);
    if (alpha == 1.0) return binary_run(k, binary_sub_avx2, binary_sub_avx512, 1.0f);
    return binary_run(k, binary_axpy_avx2, binary_axpy_avx512, (float)-alpha);
}
RL_KERNEL(simd_div) {
    if (k->arg[2].tag != RL_NONE) return RL_UNSUPPORTED;
    return binary_run(k, binary_div_avx2, binary_div_avx512, 1.0f);
}
#else
BINARY(add)
BINARY(sub)
BINARY(div)
#endif
BINARY(mul)
BINARY(maximum)
BINARY(minimum)
