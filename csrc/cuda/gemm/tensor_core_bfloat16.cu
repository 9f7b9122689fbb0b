/* Products of bfloat16 on tensor cores. */
#include "tensor_core.cuh"

bool cuda_product_bfloat(const product &p, bool large, cudaStream_t stream) {
    if (p.dtype != RL_BF16) return false;
    product_launch_tensor<product_of_bfloat>(p, large, stream);
    return true;
}
