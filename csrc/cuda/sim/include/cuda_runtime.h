/* The simulated device's stand-in for NVIDIA's <cuda_runtime.h>: the part that csrc/cuda uses, by the same
 * names. Types and calls of the host are in cuda_host.h, what kernels write in cuda_kernel.h. */
#ifndef RL_SIM_CUDA_RUNTIME_H
#define RL_SIM_CUDA_RUNTIME_H
#include "cuda_host.h"
#include "cuda_vectors.h"
#include "cuda_kernel.h"
#endif
