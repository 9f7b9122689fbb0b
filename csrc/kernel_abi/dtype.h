/* Dtypes and sets of them. */
#ifndef RL_KERNEL_ABI_DTYPE_H
#define RL_KERNEL_ABI_DTYPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint16_t bits;
} rl_half;
typedef struct {
    uint16_t bits;
} rl_bfloat;
typedef struct {
    rl_half re, im;
} rl_complex32;
typedef struct {
    float re, im;
} rl_complex64;
typedef struct {
    double re, im;
} rl_complex128;

/* X(enum, C type, torch's name, torch's C++ name) in the order of torch's ScalarType. */
#define RL_COMPUTED_DTYPES(X)                                                                                \
    X(RL_U8, uint8_t, uint8, Byte)                                                                           \
    X(RL_I8, int8_t, int8, Char)                                                                             \
    X(RL_I16, int16_t, int16, Short)                                                                         \
    X(RL_I32, int32_t, int32, Int)                                                                           \
    X(RL_I64, int64_t, int64, Long)                                                                          \
    X(RL_F16, rl_half, float16, Half)                                                                        \
    X(RL_F32, float, float32, Float)                                                                         \
    X(RL_F64, double, float64, Double)                                                                       \
    X(RL_BOOL, uint8_t, bool, Bool)                                                                          \
    X(RL_BF16, rl_bfloat, bfloat16, BFloat16)
/* Note [Converted dtypes]
 * No kernel computes with these. Files bring them; they are kept, viewed, copied, shown, converted where that
 * means something, and saved again. An operator refuses them unless its TYPES say ANY (rl_types_resolve). */
#define RL_CONVERTED_DTYPES(X)                                                                               \
    X(RL_C32, rl_complex32, complex32, ComplexHalf)                                                          \
    X(RL_C64, rl_complex64, complex64, ComplexFloat)                                                         \
    X(RL_C128, rl_complex128, complex128, ComplexDouble)                                                     \
    X(RL_U16, uint16_t, uint16, UInt16)                                                                      \
    X(RL_U32, uint32_t, uint32, UInt32)                                                                      \
    X(RL_U64, uint64_t, uint64, UInt64)                                                                      \
    X(RL_F8E5M2, uint8_t, float8_e5m2, Float8_e5m2)                                                          \
    X(RL_F8E4M3, uint8_t, float8_e4m3fn, Float8_e4m3fn)                                                      \
    X(RL_F8E5M2Z, uint8_t, float8_e5m2fnuz, Float8_e5m2fnuz)                                                 \
    X(RL_F8E4M3Z, uint8_t, float8_e4m3fnuz, Float8_e4m3fnuz)                                                 \
    X(RL_F8E8M0, uint8_t, float8_e8m0fnu, Float8_e8m0fnu)                                                    \
    X(RL_F4X2, uint8_t, float4_e2m1fn_x2, Float4_e2m1fn_x2)                                                  \
    X(RL_QI8, int8_t, qint8, QInt8)                                                                          \
    X(RL_QU8, uint8_t, quint8, QUInt8)                                                                       \
    X(RL_QI32, int32_t, qint32, QInt32)                                                                      \
    X(RL_QU4X2, uint8_t, quint4x2, QUInt4x2)                                                                 \
    X(RL_QU2X4, uint8_t, quint2x4, QUInt2x4)                                                                 \
    X(RL_BITS1X8, uint8_t, bits1x8, Bits1x8)                                                                 \
    X(RL_BITS2X4, uint8_t, bits2x4, Bits2x4)                                                                 \
    X(RL_BITS4X2, uint8_t, bits4x2, Bits4x2)                                                                 \
    X(RL_BITS8, uint8_t, bits8, Bits8)                                                                       \
    X(RL_BITS16, uint16_t, bits16, Bits16)
#define RL_DTYPES(X) RL_COMPUTED_DTYPES(X) RL_CONVERTED_DTYPES(X)
typedef enum {
#define X(e, c, n, t) e,
    RL_DTYPES(X)
#undef X
        RL_NDTYPES,
#define X(e, c, n, t) +1
    RL_N_COMPUTED = 0 RL_COMPUTED_DTYPES(X)
#undef X
} rl_dtype;

/* sets of dtypes, with room for twice as many */
#define RL_BIT(dtype)      ((uint64_t)1 << (dtype))
#define RL_SET_HALVES      (RL_BIT(RL_F16) | RL_BIT(RL_BF16))
#define RL_SET_FLOATS      (RL_SET_HALVES | RL_SET_WIDE_FLOATS)
#define RL_SET_INTS        (RL_BIT(RL_U8) | RL_BIT(RL_I8) | RL_BIT(RL_I16) | RL_BIT(RL_I32) | RL_BIT(RL_I64))
#define RL_SET_WIDE_FLOATS (RL_BIT(RL_F32) | RL_BIT(RL_F64))
#define RL_SET_BOOL        RL_BIT(RL_BOOL)
#define RL_SET_PICTURES    (RL_SET_FLOATS | RL_BIT(RL_U8))
#define RL_SET_FILTERED    (RL_SET_WIDE_FLOATS | RL_BIT(RL_U8))
#define RL_SET_INDICES     (RL_BIT(RL_I32) | RL_BIT(RL_I64))
#define RL_SET_FLOATS_OR_BOOL (RL_SET_FLOATS | RL_SET_BOOL)
#define RL_SET_NUMBERS        (RL_SET_FLOATS | RL_SET_INTS)
#define RL_SET_INTEGRAL       (RL_SET_INTS | RL_SET_BOOL)
#define RL_SET_ALL            (RL_SET_NUMBERS | RL_SET_BOOL)
#define RL_SET_NO_HALVES      (RL_SET_ALL & ~RL_SET_HALVES)
#define RL_SET_ANY            (RL_BIT(RL_NDTYPES) - 1)
#define RL_SET_CONVERTED      (RL_SET_ANY & ~RL_SET_ALL)
#define RL_SET_COMPLEX        (RL_BIT(RL_C32) | RL_BIT(RL_C64) | RL_BIT(RL_C128))
#define RL_SET_FLOAT8                                                                                        \
    (RL_BIT(RL_F8E5M2) | RL_BIT(RL_F8E4M3) | RL_BIT(RL_F8E5M2Z) | RL_BIT(RL_F8E4M3Z) | RL_BIT(RL_F8E8M0))
/* the converted ones whose values are numbers that others can hold */
#define RL_SET_CONVERTIBLE (RL_SET_COMPLEX | RL_SET_FLOAT8 | RL_BIT(RL_U16) | RL_BIT(RL_U32) | RL_BIT(RL_U64))
static inline bool rl_is_float(int dtype) { /* one of the four that kernels compute with */
    return (RL_SET_FLOATS >> dtype) & 1;
}
static inline bool rl_is_half(int dtype) { /* computed in float32 */
    return (RL_SET_HALVES >> dtype) & 1;
}
static inline bool rl_is_converted(int dtype) {
    return RL_SET_CONVERTED >> dtype & 1;
}
#endif
