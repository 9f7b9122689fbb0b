/* One number of all elements: the sum of what a family (Note [Elementwise kernels]) makes of them. First each
 * block's, whose count the sizes alone decide, then that of all blocks: the same bits in every run. */
#ifndef RL_CUDA_TOTAL_H
#define RL_CUDA_TOTAL_H
#include "elementwise.h"
#include "reduce.h"

enum { CUDA_MOST_SUMS = 1024 };

template <class F, class C, int N>
__global__ void __launch_bounds__(CUDA_THREADS) cuda_sums(cuda_walk w, C *sums, cuda_inputs<C, N> in, F f) {
    enum { V = F::VECTOR, TILE = CUDA_THREADS * V };
    C sum = 0;
    for (int64_t first = blockIdx.x * (int64_t)TILE; first < w.numel; first += gridDim.x * (int64_t)TILE) {
        if (V > 1 && w.is_flat && first + TILE <= w.numel) {
            C y[V] = {};
            cuda_compute_strip(w, in, f, first + threadIdx.x * V, y);
            CUDA_UNROLL
            for (int j = 0; j < V; j++) sum += y[j];
            continue;
        }
        CUDA_EACH_APART(i, first, w.numel, TILE) {
            C y[1] = {};
            cuda_compute_one(w, in, f, i, y);
            sum += y[0];
        }
    }
    sum = cuda_block_join(sum, cuda_sum());
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/* the sum over the divisor, or with a negative one: is the sum 0? */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_total_of(cuda_result out, const C *sums, int n, C divisor) {
    C sum = 0;
    for (int i = threadIdx.x; i < n; i += CUDA_THREADS) sum += sums[i];
    sum = cuda_block_join(sum, cuda_sum());
    if (threadIdx.x == 0) cuda_store(out.dtype, out.at, 0, divisor < 0 ? (C)(sum == 0) : sum / divisor);
}

/* views: the result of one element, then what is read; all: a view of the dims that they stretch to */
template <class F, class C>
static rl_status cuda_total(rl_call *k, const rl_view *const *views, const rl_view *all, int op,
                            const cuda_numbers &numbers, C divisor) {
    const rl_view *walked[1 + F::INPUTS] = {all}, *out = views[0];
    cuda_walk w;
    for (int i = 1; i <= F::INPUTS; i++) walked[i] = views[i];
    if (!cuda_can_compute<C>(views, F::INPUTS) || !cuda_walk_make_along(&w, walked, 1 + F::INPUTS))
        return RL_UNSUPPORTED;
    const unsigned wanted = cuda_blocks_of((w.numel + F::VECTOR - 1) / F::VECTOR),
                   blocks = wanted < CUDA_MOST_SUMS ? wanted : (unsigned)CUDA_MOST_SUMS;
    C *sums = (C *)k->svc->scratch(k, RL_COUNT(CUDA_MOST_SUMS), sizeof *sums);
    if (!sums || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (blocks)
        CUDA_LAUNCH_BLOCKS((cuda_sums<F, C, F::INPUTS>), blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, w,
                           sums, (cuda_inputs_of<C, F::INPUTS>(views)),
                           (cuda_job_of<F, C>(views, numbers, op)));
    CUDA_LAUNCH_BLOCKS((cuda_total_of<C>), 1, CUDA_THREADS, 0, (cudaStream_t)k->stream,
                       cuda_result{rl_data(out, RL_WRITE), out->dtype}, sums, (int)blocks, divisor);
    return rl_cuda_end(k);
}
#endif
