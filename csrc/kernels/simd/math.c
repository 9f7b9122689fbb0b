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

UNARY(neg, NS_MOVE)
UNARY(abs, NS_MOVE)
UNARY(square, NS_MOVE)
UNARY(sqrt, NS_MOVE)
UNARY(exp, NS_MATH)
UNARY(tanh, NS_MATH)
UNARY(sigmoid, NS_MATH)
BINARY(sigmoid_backward)
BINARY(tanh_backward)
