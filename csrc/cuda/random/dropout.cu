/* Dropout: elements that are kept are scaled, the others become 0. Note [Device draws] */
#include "cuda/device.h"
#include "philox.cuh"
#include "kernels/shared/random_range.h"

typedef struct {
    float chance; /* of being kept */
    double scale;
    int dtype, mask_dtype; /* the mask has factors, or as RL_BOOL truths; NULL: none is asked for */
    void *out, *mask;
    const void *in;
} dropout_numbers;

template <class C>
static __device__ void keep_or_drop(const cuda_iter &w, const dropout_numbers &p, int64_t i, bool is_kept) {
    const C factor = is_kept ? (C)p.scale : 0;
    int64_t at[3];
    cuda_iter_seek(w, i, at);
    cuda_store<C>(p.dtype, p.out, at[0], cuda_load<C>(p.dtype, p.in, at[1]) * factor);
    if (p.mask) cuda_store<C>(p.mask_dtype, p.mask, at[2], p.mask_dtype == RL_BOOL ? (C)is_kept : factor);
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) drop_some(cuda_draws d, cuda_iter w, dropout_numbers p) {
    cuda_draw<CUDA_FLOATS>(d, w.numel, [&](const uint32_t *words, int64_t i, int64_t step) {
        CUDA_UNROLL
        for (int j = 0; j < CUDA_FLOATS; j++, i += step)
            if (i < w.numel) keep_or_drop<C>(w, p, i, cuda_unit(words[j]) < p.chance);
    });
}

/* without a draw */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) drop_all_or_none(cuda_iter w, dropout_numbers p) {
    CUDA_EACH(i, w) keep_or_drop<C>(w, p, i, p.chance > 0);
}

/* PyTorch's kernel takes four neighbours at once where memory allows: so do the draws then */
static bool takes_neighbours(const cuda_iter &w, const dropout_numbers &p, int64_t item) {
    const uintptr_t all = (uintptr_t)p.out | (uintptr_t)p.in;
    return w.is_flat && w.numel % 4 == 0 && all % (uintptr_t)(4 * item) == 0;
}

template <class C> static rl_status launch_dropout(rl_call *k, const cuda_iter &w, const dropout_numbers &p) {
    cuda_draws d;
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (p.chance == 0 || p.chance == 1) {
        CUDA_LAUNCH((drop_all_or_none<C>), cuda_iter_blocks(&w), CUDA_THREADS, stream, w, p);
        return rl_cuda_end(k);
    }
    const bool apart = !takes_neighbours(w, p, rl_itemsize(p.dtype));
    if (cuda_draws_take(k, &d, w.numel, CUDA_FLOATS, apart) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((drop_some<C>), cuda_draws_blocks(&d), CUDA_THREADS, stream, d, w, p);
    return rl_cuda_end(k);
}

static rl_status drop(rl_call *k, double chance, double scale) {
    const rl_view *x = rl_in(k, 0), *views[3] = {k->out[0], x, k->n_out == 2 ? k->out[1] : x};
    cuda_iter w;
    if (x->device == RL_CPU || !cuda_iter_make_along(&w, views, 3)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    const dropout_numbers p = {(float)chance,
                               scale,
                               x->dtype,
                               views[2]->dtype,
                               rl_data(views[0], RL_WRITE),
                               k->n_out == 2 ? rl_data(views[2], RL_WRITE) : nullptr,
                               rl_const_data(x)};
    if (x->dtype == RL_F64) return launch_dropout<double>(k, w, p);
    if (rl_is_float(x->dtype)) return launch_dropout<float>(k, w, p);
    CUDA_LAUNCH((drop_all_or_none<int64_t>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                p);
    return rl_cuda_end(k); /* the shape rule lets integers come only where nothing is dropped */
}

/* what kept elements are multiplied with, in their dtype; so is the gradient */
static double scale_of(const rl_call *k, double left) {
    const int dtype = rl_in(k, 0)->dtype;
    if (left == 0) return 0;
    return rl_rounded(dtype, dtype == RL_F64 ? 1 / left : 1 / (double)(float)left);
}

CUDA_KERNEL(cuda_dropout) { /* (input, p, train) */
    const double left = 1 - rl_num(k, 1);
    return rl_int(k, 2) && left != 1 ? drop(k, left, scale_of(k, left)) : drop(k, 1, 1);
}

CUDA_KERNEL(cuda_native_dropout) { /* (input, p, train or None) */
    const double left = 1 - rl_num(k, 1);
    const bool trains = k->arg[2].tag == RL_NONE || rl_int(k, 2);
    return trains ? drop(k, left, scale_of(k, left)) : drop(k, 1, 1);
}
