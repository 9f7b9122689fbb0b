/* Dtypes as kernels see them: the CUDA type of each, what it computes in, elements loaded and stored by a
 * switch that is the same in every thread of a launch. */
#ifndef RL_CUDA_TYPES_H
#define RL_CUDA_TYPES_H
#include "launch.cuh"
#include <type_traits>

/* a byte that may be any number, of which only 0 is false */
struct cuda_bool {
    uint8_t byte;
};

/* X(dtype, the type in device memory, the type to compute in) */
#define CUDA_DTYPES(X)                                                                                       \
    X(RL_U8, uint8_t, int64_t)                                                                               \
    X(RL_I8, int8_t, int64_t)                                                                                \
    X(RL_I16, int16_t, int64_t)                                                                              \
    X(RL_I32, int32_t, int64_t)                                                                              \
    X(RL_I64, int64_t, int64_t)                                                                              \
    X(RL_F16, __half, float)                                                                                 \
    X(RL_F32, float, float)                                                                                  \
    X(RL_F64, double, double)                                                                                \
    X(RL_BOOL, cuda_bool, int64_t)                                                                           \
    X(RL_BF16, __nv_bfloat16, float)
/* ... those of floats, and of integers */
#define CUDA_FLOAT_DTYPES(X)                                                                                 \
    X(RL_F16, __half, float)                                                                                 \
    X(RL_F32, float, float)                                                                                  \
    X(RL_F64, double, double)                                                                                \
    X(RL_BF16, __nv_bfloat16, float)
#define CUDA_INT_DTYPES(X)                                                                                   \
    X(RL_U8, uint8_t, int64_t)                                                                               \
    X(RL_I8, int8_t, int64_t)                                                                                \
    X(RL_I16, int16_t, int64_t)                                                                              \
    X(RL_I32, int32_t, int64_t)                                                                              \
    X(RL_I64, int64_t, int64_t)

/* ---- one value: first to a type that has arithmetic, then to the one that is asked for ---- */
template <class T> __device__ T cuda_widen(T x) {
    return x;
}
__device__ inline float cuda_widen(__half x) {
    return __half2float(x);
}
__device__ inline float cuda_widen(__nv_bfloat16 x) {
    return __bfloat162float(x);
}
__device__ inline uint8_t cuda_widen(cuda_bool x) {
    return x.byte != 0;
}

template <class To> struct cuda_narrow { /* to integers */
    template <class From> static __device__ __forceinline__ To from(From x) { return (To)(int64_t)x; }
};
template <> struct cuda_narrow<int32_t> { /* in one step: a GPU's own cast gives the nearest there is */
    template <class From> static __device__ __forceinline__ int32_t from(From x) { return (int32_t)x; }
};
template <> struct cuda_narrow<float> {
    template <class From> static __device__ __forceinline__ float from(From x) { return (float)x; }
};
template <> struct cuda_narrow<double> {
    template <class From> static __device__ __forceinline__ double from(From x) { return (double)x; }
};
template <> struct cuda_narrow<__half> {
    template <class From> static __device__ __forceinline__ __half from(From x) {
        return __float2half_rn((float)x);
    }
};
template <> struct cuda_narrow<__nv_bfloat16> {
    template <class From> static __device__ __forceinline__ __nv_bfloat16 from(From x) {
        return __float2bfloat16_rn((float)x);
    }
};
template <> struct cuda_narrow<cuda_bool> {
    template <class From> static __device__ __forceinline__ cuda_bool from(From x) {
        return {(uint8_t)(x != 0)};
    }
};

template <class To, class From> __device__ __forceinline__ To cuda_cast(From x) {
    return cuda_narrow<To>::from(cuda_widen(x));
}

/* ---- one element of any dtype ---- */
template <class C> __device__ __forceinline__ C cuda_load(int dtype, const void *p, int64_t i) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: return cuda_cast<C>(((const T *)p)[i]);
        CUDA_DTYPES(X)
#undef X
    default: return C();
    }
}
template <class C> __device__ void cuda_store(int dtype, void *p, int64_t i, C x) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: ((T *)p)[i] = cuda_cast<T>(x); break;
        CUDA_DTYPES(X)
#undef X
    default: break;
    }
}
/* x as an element of dtype would keep it: what halves round in between */
template <class C> __device__ C cuda_rounded(int dtype, C x) {
    if (dtype == RL_F16) return cuda_cast<C>(cuda_cast<__half>(x));
    if (dtype == RL_BF16) return cuda_cast<C>(cuda_cast<__nv_bfloat16>(x));
    return x;
}

/* ---- V neighbours at once: the one place where memory is read and written in vectors. What does not lie
 * at a multiple of their size goes element by element. ---- */
template <class T, int V> struct __align__(sizeof(T) * V < 16 ? sizeof(T) * V : 16) cuda_vector {
    T at[V];
};
template <class T, int V> __device__ bool cuda_is_aligned(const T *p) {
    return V == 1 || (uintptr_t)p % alignof(cuda_vector<T, V>) == 0;
}
template <class T, int V> __device__ __forceinline__ cuda_vector<T, V> cuda_get(const T *p) {
    cuda_vector<T, V> v;
    if (cuda_is_aligned<T, V>(p)) return *(const cuda_vector<T, V> *)p;
    CUDA_UNROLL
    for (int j = 0; j < V; j++) v.at[j] = p[j];
    return v;
}
template <class T, int V> __device__ void cuda_put(T *p, const cuda_vector<T, V> &v) {
    if (cuda_is_aligned<T, V>(p)) {
        *(cuda_vector<T, V> *)p = v;
        return;
    }
    CUDA_UNROLL
    for (int j = 0; j < V; j++) p[j] = v.at[j];
}

/* elements i to i + V - 1 of any dtype */
template <class C, int V> __device__ void cuda_load_vector(int dtype, const void *p, int64_t i, C (&x)[V]) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: {                                                                                              \
        const cuda_vector<T, V> v = cuda_get<T, V>((const T *)p + i);                                        \
        CUDA_UNROLL                                                                                          \
        for (int j = 0; j < V; j++) x[j] = cuda_cast<C>(v.at[j]);                                            \
    } break;
        CUDA_DTYPES(X)
#undef X
    default: break;
    }
}
/* ... of one that computes in C, or as bool, which is what comparisons answer */
template <class C, int V> __device__ void cuda_store_vector(int dtype, void *p, int64_t i, const C (&x)[V]) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag:                                                                                                \
        if constexpr (std::is_same<C, Compute>::value || tag == RL_BOOL) {                                   \
            cuda_vector<T, V> v;                                                                             \
            CUDA_UNROLL                                                                                      \
            for (int j = 0; j < V; j++) v.at[j] = cuda_cast<T>(x[j]);                                        \
            cuda_put<T, V>((T *)p + i, v);                                                                   \
        }                                                                                                    \
        break;
        CUDA_DTYPES(X)
#undef X
    default: break;
    }
}

/* Does a kernel that computes in C load this dtype as it is? */
template <class C> static inline bool cuda_computes_in(int dtype) {
    switch (dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: return std::is_same<C, Compute>::value;
        CUDA_DTYPES(X)
#undef X
    default: return false;
    }
}
#endif
