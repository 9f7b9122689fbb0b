/* One value of all elements of a walk over several operands: losses. */
#ifndef RL_CUDA_TOTAL_H
#define RL_CUDA_TOTAL_H
#include "device.h"
#include "reduce.h"
#include "walk.h"

/* Note [CUDA totals]
 * Each block adds up what its threads meet, a second launch adds up the blocks: their number depends on the
 * sizes alone, so equal calls give equal bits. A total is a struct that travels with the launch:
 *     value_type, OPERANDS         what is added up, operands of the walk
 *     value_type start()           adds nothing
 *     value_type value(at)         of the elements at these places
 *     value_type join(a, b)        commutative
 *     void store(v)                the answer */
enum { TOTAL_ELEMENTS = 8 * CUDA_THREADS, TOTAL_BLOCKS = 1024 }; /* of a block at least; blocks at most */

template <class F> struct cuda_total_join {
    F total;
    typedef typename F::value_type V;
    __device__ V operator()(const V &a, const V &b) const { return total.join(a, b); }
};

template <class F>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_total_elements(F total, cuda_walk w, typename F::value_type *parts) {
    typename F::value_type v = total.start();
    CUDA_EACH(i, w) {
        int64_t at[F::OPERANDS];
        cuda_walk_seek(w, i, at);
        v = total.join(v, total.value(at));
    }
    v = cuda_block_join(v, cuda_total_join<F>{total});
    if (threadIdx.x) return;
    if (gridDim.x == 1)
        total.store(v);
    else
        parts[blockIdx.x] = v;
}

template <class F>
__global__ void __launch_bounds__(CUDA_THREADS)
    cuda_total_parts(F total, int n, const typename F::value_type *parts) {
    typename F::value_type v = total.start();
    for (int i = threadIdx.x; i < n; i += CUDA_THREADS) v = total.join(v, parts[i]);
    v = cuda_block_join(v, cuda_total_join<F>{total});
    if (threadIdx.x == 0) total.store(v);
}

/* of no elements, too */
template <class F> static rl_status cuda_total(rl_call *k, const cuda_walk &w, const F &total) {
    typedef typename F::value_type V;
    const int64_t wanted = (w.numel + TOTAL_ELEMENTS - 1) / TOTAL_ELEMENTS;
    const int blocks = wanted > TOTAL_BLOCKS ? (int)TOTAL_BLOCKS : wanted ? (int)wanted : 1;
    V *parts = nullptr;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    if (blocks > 1 && !(parts = (V *)k->svc->scratch(k, rl_count{blocks}, sizeof(V)))) return RL_FAIL;
    CUDA_LAUNCH_BLOCKS((cuda_total_elements<F>), blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, total, w,
                       parts);
    if (blocks > 1)
        CUDA_LAUNCH_BLOCKS((cuda_total_parts<F>), 1, CUDA_THREADS, 0, (cudaStream_t)k->stream, total, blocks,
                           parts);
    return rl_cuda_end(k);
}
#endif
