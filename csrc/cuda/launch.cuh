/* The dialect of .cu files here: nvcc compiles them for a GPU, the C++ compiler for the simulated device in
 * sim/, which stands in for <cuda_runtime.h> and its kin.
 *
 *   CUDA_LAUNCH(kernel, grid, block, stream, args...)               threads do not wait for each other
 *   CUDA_LAUNCH_BLOCKS(kernel, grid, block, shared, stream, args...)   they do: barriers, warps' exchanges
 *   CUDA_SHARED(float, tile, [16][17]);                             memory of a block
 *   CUDA_DYNAMIC_SHARED(float, rows);                               the `shared` bytes of the launch
 *
 * A kernel with commas in its template arguments stands in brackets. */
#ifndef RL_CUDA_LAUNCH_H
#define RL_CUDA_LAUNCH_H
#include "kernel_abi/kernel.h"
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* A kernel as the dispatcher calls it: an operator's CUDA(name) finds it in the extension by this name. */
#define CUDA_KERNEL(name)                                                                                    \
    extern "C" __attribute__((visibility("default"))) rl_status name(rl_call *k);                            \
    extern "C" rl_status name(rl_call *k)

#ifdef __CUDACC__
#define CUDA_UNROLL _Pragma("unroll")   /* before a loop over what lies in registers */
#define CUDA_ROLLED _Pragma("unroll 1") /* before one that copies would only make larger */
#define CUDA_LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#define CUDA_LAUNCH_BLOCKS(kernel, grid, block, shared, stream, ...)                                         \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define CUDA_SHARED(type, name, dims) __shared__ type name dims
#define CUDA_DYNAMIC_SHARED(type, name)                                                                      \
    extern __shared__ __align__(16) unsigned char cuda_dynamic_shared[];                                     \
    type *const name = (type *)cuda_dynamic_shared
#else
#define CUDA_UNROLL
#define CUDA_ROLLED
#define CUDA_LAUNCH(kernel, grid, block, stream, ...)                                                        \
    cuda_sim_launch(#kernel, kernel, grid, block, 0, stream, CUDA_SIM_ALONE, __VA_ARGS__)
#define CUDA_LAUNCH_BLOCKS(kernel, grid, block, shared, stream, ...)                                         \
    cuda_sim_launch(#kernel, kernel, grid, block, shared, stream, CUDA_SIM_TOGETHER, __VA_ARGS__)
#define CUDA_SHARED(type, name, dims)                                                                        \
    static char name##_key;                                                                                  \
    typedef type name##_type dims;                                                                           \
    name##_type &name =                                                                                      \
        *(name##_type *)cuda_sim_shared(&name##_key, sizeof(name##_type), alignof(type), #name)
#define CUDA_DYNAMIC_SHARED(type, name) type *const name = (type *)cuda_sim_dynamic_shared()
#endif

/* What a kernel does that cannot go on with its numbers; `fault` comes from rl_cuda_fault. It goes on all the
 * same, with numbers that do no harm. */
enum { CUDA_FAULT_INDEX = 1, CUDA_FAULT_VALUE };
static __device__ inline void cuda_fault(unsigned *fault, unsigned code) {
    atomicExch(fault, code);
}
#endif
