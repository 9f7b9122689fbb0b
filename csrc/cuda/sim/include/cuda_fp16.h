/* float16 of the simulated device: kept as its bits, computed with as float, rounded to nearest even. */
#ifndef RL_SIM_CUDA_FP16_H
#define RL_SIM_CUDA_FP16_H
#include "cuda_runtime.h"
#include "kernel_abi/kernel.h"

struct __half {
    unsigned short bits;
    __half() = default;
    __half(float x) : bits(rl_to_half(x).bits) {}
    operator float() const { return rl_from_half(rl_half{bits}); }
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

static __forceinline__ __half __float2half(float x) {
    return __half(x);
}
static __forceinline__ __half __float2half_rn(float x) {
    return __half(x);
}
static inline float __half2float(__half x) {
    return x;
}
static inline float2 __half22float2(__half2 x) {
    return make_float2(x.x, x.y);
}
static inline unsigned short __half_as_ushort(__half x) {
    return x.bits;
}
static __forceinline__ __half __ushort_as_half(unsigned short bits) {
    __half x;
    x.bits = bits;
    return x;
}
#endif
