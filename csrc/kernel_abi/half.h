/* Half precision numbers and floats. */
#ifndef RL_KERNEL_ABI_HALF_H
#define RL_KERNEL_ABI_HALF_H
#include "dtype.h"

static inline float rl_bits_float(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } x = {u};
    return x.f;
}
static inline uint32_t rl_float_bits(float f) {
    union {
        float f;
        uint32_t u;
    } x = {f};
    return x.u;
}
static inline float rl_from_bfloat(rl_bfloat b) {
    return rl_bits_float((uint32_t)b.bits << 16);
}
static inline rl_bfloat rl_to_bfloat(float f) { /* round to nearest even; NaN stays NaN */
    uint32_t u = rl_float_bits(f);
    rl_bfloat b;
    b.bits = (uint16_t)(f != f ? 0x7fc0 : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
    return b;
}
static inline float rl_from_half(rl_half h) {
    uint32_t sign = (uint32_t)(h.bits & 0x8000) << 16, exp = (h.bits >> 10) & 31, man = h.bits & 0x3ff;
    if (exp == 31) return rl_bits_float(sign | 0x7f800000 | man << 13);
    if (exp == 0) return (sign ? -1.0f : 1.0f) * (float)man * rl_bits_float(0x33800000); /* man * 2^-24 */
    return rl_bits_float(sign | (exp + 112) << 23 | man << 13);
}
static inline rl_half rl_to_half(float f) {
    uint32_t u = rl_float_bits(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    rl_half h;
    if (a > 0x7f800000) {
        h.bits = (uint16_t)(sign | 0x7e00);
    } else if (a >= 0x477ff000) { /* rounds to infinity */
        h.bits = (uint16_t)(sign | 0x7c00);
    } else if (a < 0x38800000) { /* subnormal: let the float adder round */
        h.bits = (uint16_t)(sign | (rl_float_bits(rl_bits_float(a) + 0.5f) - 0x3f000000));
    } else {
        h.bits = (uint16_t)(sign | (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13);
    }
    return h;
}

/* x as a floating dtype holds it; of other dtypes x */
static inline double rl_rounded(int dtype, double x) {
    switch (dtype) {
    case RL_F16: return rl_from_half(rl_to_half((float)x));
    case RL_BF16: return rl_from_bfloat(rl_to_bfloat((float)x));
    case RL_F32: return (float)x;
    default: return x;
    }
}
/* the largest finite number of a floating dtype; 0 of others */
static inline double rl_largest(int dtype) {
    switch (dtype) {
    case RL_F16: return 65504;
    case RL_BF16: return 0x1.fep127;
    case RL_F32: return 0x1.fffffep127;
    case RL_F64: return 0x1.fffffffffffffp1023;
    default: return 0;
    }
}
#endif
