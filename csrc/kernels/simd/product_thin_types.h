/* product_thin_impl.inc for each dtype of the matrix; the includer sets SIMD_BITS. */
#define THIN_TYPE                  float
#define THIN(f)                    V_NAME(f##_f32)
#define THIN_READ(p)               v_load(p)
#define THIN_READ_TAIL(p, n, mask) v_load_tail(p, mask)
#include "product_thin_impl.inc"

/* of halves the last few go through a vector's worth of memory */
#define THIN_TYPE    rl_bfloat
#define THIN(f)      V_NAME(f##_bf16)
#define THIN_READ(p) v_load_bfloat(p)
#include "product_thin_impl.inc"
#define THIN_TYPE    rl_half
#define THIN(f)      V_NAME(f##_f16)
#define THIN_READ(p) v_load_half(p)
#include "product_thin_impl.inc"

#define SIMD_DOUBLE
#include "isa.h"
#define THIN_TYPE                  double
#define THIN(f)                    V_NAME(f##_f64)
#define THIN_READ(p)               v_load(p)
#define THIN_READ_TAIL(p, n, mask) v_load_tail(p, mask)
#include "product_thin_impl.inc"
#undef SIMD_DOUBLE
#include "isa.h"
