/* Products of float16 on tensor cores. */
#include "tensor_core.cuh"

bool cuda_gemm_half(const gemm &p, bool large, cudaStream_t stream) {
    if (p.dtype != RL_F16) return false;
    gemm_launch_tensor<gemm_of_half>(p, large, stream);
    return true;
}
