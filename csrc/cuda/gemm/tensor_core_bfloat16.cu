/* Products of bfloat16 on tensor cores. */
#include "tensor_core.cuh"

bool cuda_gemm_bfloat(const gemm &p, bool large, cudaStream_t stream) {
    if (p.dtype != RL_BF16) return false;
    gemm_launch_tensor<gemm_of_bfloat>(p, large, stream);
    return true;
}
