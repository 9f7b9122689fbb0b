/* Products of float32 on tensor cores, which take 10 bits of each factor's fraction: where that is allowed.
 */
#include "tensor_core.cuh"

bool cuda_gemm_tf32(const gemm &p, bool large, cudaStream_t stream) {
    if (p.dtype != RL_F32 || !p.tf32) return false;
    gemm_launch_tensor<gemm_of_tf32>(p, large, stream);
    return true;
}
