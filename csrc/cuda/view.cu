/* The way back from a view: its elements return to their places in the whole, all others are 0. Where they
 * overlap atomics add them up, as in PyTorch, or with deterministic algorithms Note [CUDA sums in order]. */
#include "cuda/index/ordered_sum.cuh"

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    add_elements(cuda_iter w, int dtype, const void *grad, C *whole) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        atomicAdd(&whole[at[1]], cuda_load<C>(dtype, grad, at[0]));
    }
}

__global__ void __launch_bounds__(CUDA_THREADS) name_elements(cuda_iter w, int64_t first, cuda_keys to) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        to.key[i] = (uint64_t)(first + at[1]);
        to.order[i] = at[0];
    }
}
template <class C> static rl_status add_in_order(rl_call *k, const cuda_iter &w, C *whole) {
    const rl_view *grad = rl_in(k, 0);
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    if (cuda_keys_room(k, room, w.numel) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(name_elements, cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w, rl_int(k, 4),
                room[0]);
    if (cuda_order_sort(k, room, w.numel, &sorted) != RL_OK) return RL_FAIL;
    const cuda_order_elements<C> f = {grad->dtype, rl_const_data(grad), whole};
    return cuda_order_join(k, f, sorted, w.numel, 1);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    store_whole(int64_t n, int dtype, const C *sums, void *whole) {
    CUDA_EACH_OF(i, n) cuda_store(dtype, whole, i, sums[i]);
}

/* sums: of halves in scratch, else where they belong */
template <class C> static rl_status run(rl_call *k, const cuda_iter &w, C *sums) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    void *whole = rl_data(out, RL_WRITE);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    cudaMemsetAsync(sums, 0, (size_t)out->numel * sizeof(C), stream);
    if (grad->numel && k->svc->deterministic) {
        if (add_in_order(k, w, sums) != RL_OK) return RL_FAIL;
    } else if (grad->numel) {
        CUDA_LAUNCH(add_elements<C>, cuda_iter_blocks(&w), CUDA_THREADS, stream, w, grad->dtype,
                    rl_const_data(grad), sums + rl_int(k, 4));
    }
    if (sums != whole)
        CUDA_LAUNCH(store_whole<C>, cuda_blocks_of(out->numel), CUDA_THREADS, stream, out->numel, out->dtype,
                    (const C *)sums, whole);
    return rl_cuda_end(k);
}

/* (grad, input_size, size, stride, storage_offset) */
CUDA_KERNEL(cuda_as_strided_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    rl_view part = *grad;
    const rl_view *views[2] = {grad, &part};
    cuda_iter w;
    part.strides = k->arg[3].u.ints;
    if (!cuda_iter_make(&w, views, 2)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    switch (out->dtype) {
    case RL_F32: return run(k, w, (float *)rl_data(out, RL_WRITE));
    case RL_F64: return run(k, w, (double *)rl_data(out, RL_WRITE));
    default: break;
    }
    float *sums = (float *)k->svc->scratch(k, RL_COUNT(out->numel), sizeof *sums);
    return sums ? run(k, w, sums) : RL_FAIL;
}
