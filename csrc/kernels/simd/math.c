/* Functions of one operand, on contiguous float32. */
#include "elementwise.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "vector_math_body.h"
#include "math_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "math_body.h"
#endif

UNARY(neg, GRAIN_MOVE)
UNARY(abs, GRAIN_MOVE)
UNARY(square, GRAIN_MOVE)
UNARY(sqrt, GRAIN_MOVE)
UNARY(exp, GRAIN_MATH)
UNARY(tanh, GRAIN_MATH)
UNARY(sigmoid, GRAIN_MATH)
BINARY(sigmoid_backward)
BINARY(tanh_backward)
