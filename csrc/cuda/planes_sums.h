/* Sums that atomics make: in scratch, in the compute type, then stored as the result. */
#ifndef RL_CUDA_PLANES_SUMS_H
#define RL_CUDA_PLANES_SUMS_H
#include "planes.h"

/* scratch of zeros; NULL: RL_FAIL */
static inline void *cuda_zeroed(rl_call *k, int64_t n, size_t itemsize) {
    void *p = k->svc->scratch(k, RL_COUNT(n), itemsize);
    if (!p || rl_cuda_begin(k, k->out[0]) != RL_OK) return nullptr;
    if (cudaMemsetAsync(p, 0, (size_t)n * itemsize, (cudaStream_t)k->stream) == cudaSuccess) return p;
    rl_cuda_end(k);
    return nullptr;
}

/* where the plane of a place begins when planes lie one behind the other */
__device__ inline int64_t cuda_planes_dense_first(const cuda_planes &p, const cuda_place &here) {
    return (here.at[CUDA_BATCH] * p.size[CUDA_CHANNEL] + here.at[CUDA_CHANNEL]) * p.size[2] * p.size[3] *
           p.size[4];
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_store_sums(cuda_planes out, int dtype, const C *sums, void *to) {
    CUDA_EACH(i, out) {
        const cuda_place here = cuda_planes_seek(out, i);
        const int64_t number = cuda_planes_number(out, here.at[2], here.at[3], here.at[4]);
        cuda_store(dtype, to, cuda_planes_at(out, here), sums[cuda_planes_dense_first(out, here) + number]);
    }
}
#endif
