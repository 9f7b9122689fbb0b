/* The special functions of kernels/shared, for kernels of a GPU. */
#ifndef RL_CUDA_SPECIAL_H
#define RL_CUDA_SPECIAL_H
#include "elementwise.cuh"

#define SPECIAL_ON_DEVICE
#define SPECIAL_FN static __device__ inline
#ifdef __CUDACC__
#define SPECIAL_TABLE static __device__
#else
#define SPECIAL_TABLE                                                                                        \
    static __attribute__((section("cuda_tables"))) /* sim/check.cpp lets kernels read there */
#endif

/* an element as the functions take it; one operand and two */
#define SPECIAL_CASE_1(name, f) CUDA_CASE_OF(name, (C)f(z), const double z = (double)x[0][j])
#define SPECIAL_CASE_2(name, f)                                                                              \
    CUDA_CASE_OF(name, (C)f(z, w), const double z = (double)x[0][j], w = (double)x[1][j])

#define SPECIAL_FAMILY(family, operands)                                                                     \
    template <class C> struct family : cuda_job<C> {                                                         \
        enum { INPUTS = operands, VECTOR = 1, HAS_INTS = 0 };                                                \
        template <int V> __device__ void operator()(const C (&x)[operands][V], C (&y)[V]) const {            \
            switch (this->op) { family##_OPERATORS }                                                         \
        }                                                                                                    \
    };
#define SPECIAL_KERNEL(name, family, op)                                                                     \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return cuda_elementwise<family>(k, op);                                                              \
    }
#endif
