/* add: input + alpha * other. Halves compute in float, integers in int64 that wraps, booleans are or'ed.
 * A 0-dim operand may lie on the CPU: its value travels with the launch. */
#include "device.h"
#include "walk.h"

template <class C> __device__ C multiply_add(C a, C alpha, C b) {
    return a + alpha * b;
}
template <> __device__ int64_t multiply_add(int64_t a, int64_t alpha, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)alpha * (uint64_t)b);
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    add_elements(cuda_walk w, T *out, cuda_operand<C> a, cuda_operand<C> b, C alpha) {
    CUDA_EACH(i, w) {
        int64_t at[3];
        cuda_walk_seek(w, i, at);
        out[at[0]] = cuda_cast<T>(multiply_add<C>(cuda_read(a, at[1]), alpha, cuda_read(b, at[2])));
    }
}

static double alpha_of(const rl_call *k, double) {
    return rl_num(k, 2);
}
static float alpha_of(const rl_call *k, float) {
    return (float)rl_num(k, 2);
}
static int64_t alpha_of(const rl_call *k, int64_t) {
    return rl_int(k, 2);
}

template <class T, class C>
static void launch(const rl_call *k, const cuda_walk &w, const rl_view *const *views) {
    CUDA_LAUNCH((add_elements<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(views[0], RL_WRITE), cuda_operand_of<C>(views[1]), cuda_operand_of<C>(views[2]),
                alpha_of(k, (C)0));
}

CUDA_KERNEL(cuda_add) {
    const rl_view *views[3] = {k->out[0], rl_in(k, 0), rl_in(k, 1)};
    cuda_walk w;
    for (int i = 1; i < 3; i++)
        if (!cuda_can_read(views[0], views[i])) return RL_UNSUPPORTED;
    if (!cuda_walk_make_along(&w, views, 3)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (views[0]->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: launch<T, Compute>(k, w, views); break;
        CUDA_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
