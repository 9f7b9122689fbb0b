/* The simulated device's stand-in for NVIDIA's <cuda_runtime.h>: the part that csrc/cuda uses, by the same
 * names. */
#ifndef RL_SIM_CUDA_RUNTIME_H
#define RL_SIM_CUDA_RUNTIME_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <type_traits>

/* ==== calls that a host makes ==== */
#define CUDART_VERSION 13000

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorPeerAccessAlreadyEnabled = 704,
    cudaErrorPeerAccessNotEnabled = 705,
    cudaErrorAssert = 710,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorUnknown = 999,
} cudaError_t;

typedef struct cuda_sim_stream *cudaStream_t;
typedef struct cuda_sim_event *cudaEvent_t;
typedef struct cuda_sim_pool *cudaMemPool_t;

typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
} cudaMemcpyKind;

typedef enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
} cudaMemoryType;

typedef enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
} cudaDeviceAttr;

typedef enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 } cudaFuncAttribute;

typedef struct cudaUUID_t {
    char bytes[16];
} cudaUUID_t;
typedef struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
    int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, major, minor, multiProcessorCount;
    int maxThreadsPerMultiProcessor, integrated, isMultiGpuBoard, l2CacheSize, pciBusID, pciDeviceID,
        pciDomainID;
} cudaDeviceProp;

typedef struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
} cudaPointerAttributes;

#define cudaStreamDefault      0u
#define cudaStreamNonBlocking  1u
#define cudaEventDefault       0u
#define cudaEventBlockingSync  1u
#define cudaEventDisableTiming 2u
#define cudaHostAllocDefault   0u
#define cudaHostAllocPortable  1u
#define cudaHostAllocMapped    2u
#define cudaStreamLegacy       ((cudaStream_t)1)

extern "C" {
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p);

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* ---- what the simulator alone has ---- */
/* A block that an allocator cut out of its memory, and its end: both in the order of the stream. */
void cuda_sim_block_begin(void *p, size_t bytes, cudaStream_t stream);
void cuda_sim_block_end(void *p, cudaStream_t stream);
}

/* ==== small vectors: what one thread loads at once ==== */
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

/* ==== what a kernel may write: the words of the language, the places of a thread, barriers, exchanges,
 * atomics ==== */
#define __global__
#define __device__
#define __host__
/* gcc does not hook the store of a struct that a call returns: those that return __half and the like */
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) alignas(n)

extern "C" {
/* they stay the same within one thread: a compiler may ask once */
uint3 cuda_sim_thread(void) __attribute__((const));
uint3 cuda_sim_block(void) __attribute__((const));
dim3 cuda_sim_block_dim(void) __attribute__((const));
dim3 cuda_sim_grid_dim(void) __attribute__((const));
void *cuda_sim_shared(const void *key, size_t bytes, size_t align, const char *name);
void *cuda_sim_dynamic_shared(void);

enum { CUDA_SIM_BARRIER_PLAIN, CUDA_SIM_BARRIER_OR, CUDA_SIM_BARRIER_AND, CUDA_SIM_BARRIER_COUNT };
int cuda_sim_barrier(int kind, int value, int line);
/* All lanes of `mask` meet; each gives `value` and gets what lane `from` gave. */
uint64_t cuda_sim_shuffle(unsigned mask, uint64_t value, int from, int line);
unsigned cuda_sim_ballot(unsigned mask, int value, int line);
void cuda_sim_warp(unsigned mask, int line);
/* All 32 lanes meet, and act(values, ctx) runs once with what each gave. */
void cuda_sim_collect(void *value, void (*act)(void *const *values, void *ctx), void *ctx, int line);
/* One thread runs at a time, so these two are one step together. */
uint64_t cuda_sim_atomic_read(const void *p, size_t bytes);
void cuda_sim_atomic_write(void *p, size_t bytes, uint64_t bits);
void cuda_sim_trap(void);

typedef enum { CUDA_SIM_ALONE, CUDA_SIM_TOGETHER } cuda_sim_kind;
void cuda_sim_enqueue(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared,
                      cudaStream_t stream, cuda_sim_kind kind, void (*run)(void *), const void *arguments,
                      size_t bytes);
cudaError_t cuda_sim_shared_limit(const void *kernel, int bytes);
}

#define threadIdx (cuda_sim_thread())
#define blockIdx  (cuda_sim_block())
#define blockDim  (cuda_sim_block_dim())
#define gridDim   (cuda_sim_grid_dim())
enum { warpSize = 32 };

#define __syncthreads()        ((void)cuda_sim_barrier(CUDA_SIM_BARRIER_PLAIN, 0, __LINE__))
#define __syncthreads_or(x)    cuda_sim_barrier(CUDA_SIM_BARRIER_OR, (x) != 0, __LINE__)
#define __syncthreads_and(x)   cuda_sim_barrier(CUDA_SIM_BARRIER_AND, (x) != 0, __LINE__)
#define __syncthreads_count(x) cuda_sim_barrier(CUDA_SIM_BARRIER_COUNT, (x) != 0, __LINE__)
#define __syncwarp(...)        cuda_sim_warp(cuda_sim_mask(__VA_ARGS__), __LINE__)
#define __shfl_sync(mask, value, lane, ...)                                                                  \
    cuda_sim_exchange(mask, value, cuda_sim_from(0, lane, cuda_sim_width(__VA_ARGS__)), __LINE__)
#define __shfl_up_sync(mask, value, by, ...)                                                                 \
    cuda_sim_exchange(mask, value, cuda_sim_from(1, by, cuda_sim_width(__VA_ARGS__)), __LINE__)
#define __shfl_down_sync(mask, value, by, ...)                                                               \
    cuda_sim_exchange(mask, value, cuda_sim_from(2, by, cuda_sim_width(__VA_ARGS__)), __LINE__)
#define __shfl_xor_sync(mask, value, by, ...)                                                                \
    cuda_sim_exchange(mask, value, cuda_sim_from(3, by, cuda_sim_width(__VA_ARGS__)), __LINE__)
#define __ballot_sync(mask, x) cuda_sim_ballot(mask, (x) != 0, __LINE__)
#define __any_sync(mask, x)    (cuda_sim_ballot(mask, (x) != 0, __LINE__) != 0)
#define __all_sync(mask, x)    (cuda_sim_ballot(mask, (x) == 0, __LINE__) == 0)
#define __threadfence()        ((void)0) /* the simulator runs one thread at a time, in its order */
#define __trap()               cuda_sim_trap()

static inline unsigned cuda_sim_mask(unsigned mask = 0xffffffffu) {
    return mask;
}
static inline int cuda_sim_width(int width = 32) {
    return width;
}
static inline int cuda_sim_lane(void) {
    uint3 t = threadIdx;
    dim3 n = blockDim;
    return (int)((t.x + n.x * (t.y + n.y * t.z)) & 31);
}
/* the lane that shfl, its _up, _down and _xor read: its own where that lies outside its part of the warp */
static inline int cuda_sim_from(int kind, int by, int width) {
    int lane = cuda_sim_lane(), first = lane & ~(width - 1), at = lane - first;
    if (kind == 0) return first + (by & (width - 1));
    int to = kind == 1 ? at - by : kind == 2 ? at + by : at ^ by;
    return to < 0 || to >= width ? lane : first + to;
}
template <class T> static inline T cuda_sim_exchange(unsigned mask, T value, int from, int line) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a value of at most 8 bytes");
    union {
        uint64_t bits;
        T value;
    } x = {0};
    x.value = value;
    x.bits = cuda_sim_shuffle(mask, x.bits, from, line);
    return x.value;
}

/* ---- atomics ---- */
template <class T> static inline T cuda_sim_from_bits(uint64_t bits) {
    T x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
template <class T, class Next> static inline T cuda_sim_update(T *p, Next next) {
    const T old = cuda_sim_from_bits<T>(cuda_sim_atomic_read(p, sizeof(T))), made = next(old);
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &made, sizeof made);
    cuda_sim_atomic_write(p, sizeof(T), bits);
    return old;
}
#define CUDA_SIM_ATOMIC(name, T, made)                                                                       \
    static inline T name(T *p, T value) {                                                                    \
        return cuda_sim_update(p, [=](T old) -> T { return (void)old, (made); });                            \
    }
#define CUDA_SIM_CAS(T)                                                                                      \
    static inline T atomicCAS(T *p, T expected, T value) {                                                   \
        return cuda_sim_update(p, [=](T old) -> T { return old == expected ? value : old; });                \
    }
#define CUDA_SIM_INT_ATOMICS(T)                                                                              \
    CUDA_SIM_ATOMIC(atomicAdd, T, (T)(old + value))                                                          \
    CUDA_SIM_ATOMIC(atomicExch, T, value)                                                                    \
    CUDA_SIM_ATOMIC(atomicMax, T, old > value ? old : value)                                                 \
    CUDA_SIM_ATOMIC(atomicMin, T, old < value ? old : value)                                                 \
    CUDA_SIM_ATOMIC(atomicOr, T, old | value)                                                                \
    CUDA_SIM_ATOMIC(atomicAnd, T, old &value)                                                                \
    CUDA_SIM_CAS(T)
CUDA_SIM_INT_ATOMICS(int)
CUDA_SIM_INT_ATOMICS(unsigned)
CUDA_SIM_INT_ATOMICS(unsigned long long)
CUDA_SIM_ATOMIC(atomicAdd, float, old + value)
CUDA_SIM_ATOMIC(atomicExch, float, value)
CUDA_SIM_ATOMIC(atomicAdd, double, old + value)
CUDA_SIM_CAS(unsigned short)
#undef CUDA_SIM_ATOMIC
#undef CUDA_SIM_CAS
#undef CUDA_SIM_INT_ATOMICS

/* ---- arithmetic that has names of its own ---- */
#define CUDA_SIM_AS(name, To, From)                                                                          \
    static inline To name(From x) {                                                                          \
        To y;                                                                                                \
        static_assert(sizeof x == sizeof y, "the same bits");                                                \
        __builtin_memcpy(&y, &x, sizeof y);                                                                  \
        return y;                                                                                            \
    }
CUDA_SIM_AS(__float_as_uint, unsigned, float)
CUDA_SIM_AS(__float_as_int, int, float)
CUDA_SIM_AS(__uint_as_float, float, unsigned)
CUDA_SIM_AS(__int_as_float, float, int)
CUDA_SIM_AS(__double_as_longlong, long long, double)
CUDA_SIM_AS(__longlong_as_double, double, long long)
#undef CUDA_SIM_AS
static inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
static inline double rsqrt(double x) {
    return 1.0 / sqrt(x);
}
static inline void sincospi(double x, double *sine, double *cosine) {
    sincos(x * M_PI, sine, cosine);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
static inline int __ffs(int x) {
    return __builtin_ffs(x);
}
static inline int __clz(int x) {
    return x ? __builtin_clz((unsigned)x) : 32;
}

/* ---- launches: the arguments are converted to the kernel's own types, and copied, at once ---- */
template <class... P> struct cuda_sim_call {
    static auto bind(void (*kernel)(P...), P... arguments) {
        return [=] { kernel(arguments...); };
    }
};

template <class... P, class... A>
static inline void cuda_sim_launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                                   size_t shared, cudaStream_t stream, cuda_sim_kind kind, A... arguments) {
    auto call = cuda_sim_call<P...>::bind(kernel, (P)arguments...);
    static_assert(std::is_trivially_copyable<decltype(call)>::value, "a kernel takes plain values");
    cuda_sim_enqueue(
        name, (const void *)kernel, grid, block, shared, stream, kind,
        [](void *p) { (*(decltype(call) *)p)(); }, &call, sizeof call);
}
template <class... P>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int value) {
    return cuda_sim_shared_limit((const void *)kernel, value);
}
#endif
