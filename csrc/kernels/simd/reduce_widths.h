/* Compiles the folds of a file, FOLD_BODY, for each width of vectors, of doubles and of floats. */
#define SIMD_BITS 256
#define SIMD_DOUBLE
#include "isa.h"
#include "reduce_impl.inc"
#include FOLD_BODY
#undef SIMD_DOUBLE
#include "isa.h"
#include "reduce_impl.inc"
#include FOLD_BODY
#undef SIMD_BITS
#define SIMD_BITS 512
#define SIMD_DOUBLE
#include "isa.h"
#include "reduce_impl.inc"
#include FOLD_BODY
#undef SIMD_DOUBLE
#include "isa.h"
#include "reduce_impl.inc"
#include FOLD_BODY
