/* rrelu: a random slope for each element below 0. Note [Device draws] */
#include "device.h"
#include "philox.h"

template <class C>
static __device__ void lean_at(const cuda_walk &w, int dtype, void *out, const void *in, int64_t i, C slope) {
    int64_t at[2];
    cuda_walk_seek(w, i, at);
    const C x = cuda_load<C>(dtype, in, at[1]);
    cuda_store<C>(dtype, out, at[0], x <= 0 ? x * slope : x);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    lean(cuda_draws d, cuda_walk w, int dtype, void *out, const void *in, C low, C range) {
    enum { EACH = 16 / sizeof(C) };
    cuda_draw<EACH>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        C u[EACH];
        cuda_units(words, u);
        CUDA_ROLLED
        for (int j = 0; j < EACH && i < w.numel; j++, i += step) {
            lean_at(w, dtype, out, in, i, fma(u[0], range, low));
            cuda_turn(u);
        }
    });
}

template <class C>
static rl_status launch_lean(rl_call *k, const cuda_walk &w, const rl_view *x, C low, C high) {
    cuda_draws d;
    if (cuda_draws_take(k, &d, w.numel, 16 / sizeof(C), true) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((lean<C>), cuda_draws_blocks(&d), CUDA_THREADS, (cudaStream_t)k->stream, d, w, x->dtype,
                rl_data(k->out[0], RL_WRITE), rl_const_data(x), low, high - low);
    return rl_cuda_end(k);
}

/* the same slope for all, where nothing is trained */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    lean_evenly(cuda_walk w, int dtype, void *out, const void *in, C slope) {
    CUDA_EACH(i, w) lean_at(w, dtype, out, in, i, slope);
}

template <class C>
static rl_status launch_rrelu(rl_call *k, const cuda_walk &w, const rl_view *x, double low, double high) {
    if (rl_int(k, 3)) return launch_lean<C>(k, w, x, (C)low, (C)high);
    CUDA_LAUNCH((lean_evenly<C>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w, x->dtype,
                rl_data(k->out[0], RL_WRITE), rl_const_data(x), (C)((low + high) / 2));
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rrelu) { /* (input, lower, upper, training) */
    const rl_view *x = rl_in(k, 0), *views[2] = {k->out[0], x};
    const double low = rl_num(k, 1), high = rl_num(k, 2);
    cuda_walk w;
    if (x->device == RL_CPU || !cuda_walk_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    return x->dtype == RL_F64 ? launch_rrelu<double>(k, w, x, low, high)
                              : launch_rrelu<float>(k, w, x, low, high);
}
