/* bfloat16 of the simulated device: kept as its bits, computed with as float, rounded to nearest even. */
#ifndef RL_SIM_CUDA_BF16_H
#define RL_SIM_CUDA_BF16_H
#include "cuda_runtime.h"
#include "kernel_abi/kernel.h"

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float x) : bits(rl_to_bfloat(x).bits) {}
    operator float() const { return rl_from_bfloat(rl_bfloat{bits}); }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

static __forceinline__ __nv_bfloat16 __float2bfloat16(float x) {
    return __nv_bfloat16(x);
}
static __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) {
    return __nv_bfloat16(x);
}
static inline float __bfloat162float(__nv_bfloat16 x) {
    return x;
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
    return x.bits;
}
static __forceinline__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    __nv_bfloat16 x;
    x.bits = bits;
    return x;
}
#endif
