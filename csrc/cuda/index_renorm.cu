/* Rows of a table scaled down to a norm. */
#include "index.h"
#include "reduce.h"
#include "scatter.h"
#include <math.h>

/* operand 0: the index */
__global__ void __launch_bounds__(CUDA_THREADS) name_rows(cuda_walk w, cuda_places places, int *is_named) {
    CUDA_EACH(i, w) {
        int64_t at[1], row;
        cuda_walk_seek(w, i, at);
        if (cuda_place(places, at[0], &row)) atomicExch(&is_named[row], 1);
    }
}

/* what the norm of order p adds up, or the largest and the least with an infinite one */
template <class C> struct norm_join {
    C p;
    __device__ C start() const { return isinf(p) && p < 0 ? (C)INFINITY : 0; }
    __device__ C of(C x) const {
        const C a = fabs(x);
        return isinf(p) || p == 1 ? a : p == 2 ? a * a : p == 0 ? (C)(a != 0) : pow(a, p);
    }
    __device__ C operator()(C a, C b) const {
        if (!isinf(p)) return a + b;
        return p > 0 ? cuda_largest()(a, b) : cuda_smallest()(a, b);
    }
    __device__ C end(C sum) const {
        return isinf(p) || p == 0 || p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
    }
};

/* a warp for each row; the norm is rounded to the dtype, as PyTorch's is */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    scale_rows(int64_t rows, int64_t width, const int *is_named, T *table, int64_t row_step, int64_t step,
               double most, norm_join<C> norm) {
    const int lane = threadIdx.x % CUDA_WARP, warps = CUDA_THREADS / CUDA_WARP;
    for (int64_t row = blockIdx.x * (int64_t)warps + threadIdx.x / CUDA_WARP; row < rows;
         row += (int64_t)gridDim.x * warps) {
        T *at = table + row * row_step;
        if (!is_named[row]) continue;
        C sum = norm.start();
        for (int64_t c = lane; c < width; c += CUDA_WARP)
            sum = norm(sum, norm.of(cuda_cast<C>(at[c * step])));
        const double found = (double)cuda_cast<C>(cuda_cast<T>(norm.end(cuda_warp_join(sum, norm))));
        const C scale = (C)(most / (found + 1e-7));
        if (!(found > most)) continue;
        for (int64_t c = lane; c < width; c += CUDA_WARP)
            at[c * step] = cuda_cast<T>(cuda_cast<C>(at[c * step]) * scale);
    }
}

/* (input, indices, max_norm, norm_type) */
CUDA_KERNEL(cuda_embedding_renorm) {
    const rl_view *index = rl_in(k, 1), *out = k->out[0];
    const int64_t rows = out->shape[0], width = out->shape[1];
    const cudaStream_t s = cuda_stream_of(k);
    cuda_places places;
    cuda_walk w;
    if (!cuda_all_here(k) || !cuda_walk_make(&w, &index, 1)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || index->numel == 0) return status;
    int *is_named = (int *)cuda_zeros(k, rows ? rows : 1, RL_I32);
    if (!is_named || rl_cuda_begin(k, out) != RL_OK || cuda_places_of(k, &places, index, out, 0) != RL_OK)
        return RL_FAIL;
    places.step = 1;
    CUDA_LAUNCH((name_rows), cuda_walk_blocks(&w), CUDA_THREADS, s, w, places, is_named);
    if (out->numel == 0) return rl_cuda_end(k);
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH_BLOCKS((scale_rows<T, C>), cuda_blocks_of(rows *CUDA_WARP), CUDA_THREADS, 0, s, rows,    \
                           width, (const int *)is_named, (T *)rl_data(out, RL_WRITE), out->strides[0],       \
                           out->strides[1], rl_num(k, 2), norm_join<C>{(C)rl_num(k, 3)});                    \
        break;
        CUDA_FLOAT_TYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
