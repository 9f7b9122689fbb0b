/* CUDA's small vectors: what one thread loads at once. */
#ifndef RL_SIM_CUDA_VECTORS_H
#define RL_SIM_CUDA_VECTORS_H
#include <stdint.h>

#define CUDA_SIM_VECTORS(T, name, align2, align4)                                                            \
    struct name##1 {                                                                                         \
        T x;                                                                                                 \
    };                                                                                                       \
    struct alignas(align2) name##2 {                                                                         \
        T x, y;                                                                                              \
    };                                                                                                       \
    struct name##3 {                                                                                         \
        T x, y, z;                                                                                           \
    };                                                                                                       \
    struct alignas(align4) name##4 {                                                                         \
        T x, y, z, w;                                                                                        \
    };                                                                                                       \
    static inline name##2 make_##name##2(T x, T y) {                                                         \
        return {x, y};                                                                                       \
    }                                                                                                        \
    static inline name##4 make_##name##4(T x, T y, T z, T w) {                                               \
        return {x, y, z, w};                                                                                 \
    }
CUDA_SIM_VECTORS(signed char, char, 2, 4)
CUDA_SIM_VECTORS(unsigned char, uchar, 2, 4)
CUDA_SIM_VECTORS(short, short, 4, 8)
CUDA_SIM_VECTORS(unsigned short, ushort, 4, 8)
CUDA_SIM_VECTORS(int, int, 8, 16)
CUDA_SIM_VECTORS(unsigned, uint, 8, 16)
CUDA_SIM_VECTORS(long long, longlong, 16, 16)
CUDA_SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
CUDA_SIM_VECTORS(float, float, 8, 16)
CUDA_SIM_VECTORS(double, double, 16, 16)
#undef CUDA_SIM_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
#endif
