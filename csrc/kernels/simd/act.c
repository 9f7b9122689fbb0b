/* Activations, on contiguous float32. */
#include "elementwise.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_math_body.h"
#include "act_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "act_body.h"

RL_KERNEL(simd_threshold_backward) {
    return binary_run(k, binary_threshold_backward_avx2, binary_threshold_backward_avx512,
                      (float)rl_num(k, 2));
}
#else
BINARY(threshold_backward)
#endif

UNARY(relu, NS_MOVE)
UNARY(silu, NS_MATH)
BINARY(silu_backward)
