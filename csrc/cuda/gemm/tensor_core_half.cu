/* Products of float16 on tensor cores. */
#include "tensor_core.cuh"

bool cuda_product_half(const product &p, bool large, cudaStream_t stream) {
    if (p.dtype != RL_F16) return false;
    product_launch_tensor<product_of_half>(p, large, stream);
    return true;
}
