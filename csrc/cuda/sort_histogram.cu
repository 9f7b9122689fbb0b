/* Histograms of equal bins. */
#include "moves.h"
#include "reduce.h"
#include "scatter.h"
#include <math.h>

enum { OWN_BINS = 2048, MOST_RANGES = 256 };
typedef struct {
    double least, most;
} value_range;
struct joined_ranges { /* NaN is both */
    __device__ value_range operator()(const value_range &a, const value_range &b) const {
        return {cuda_smallest()(a.least, b.least), cuda_largest()(a.most, b.most)};
    }
};

__global__ void __launch_bounds__(CUDA_THREADS)
    find_ranges(cuda_walk w, int dtype, const void *from, value_range *to) {
    value_range own = {INFINITY, -INFINITY};
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_walk_seek(w, i, at);
        const double x = cuda_load<double>(dtype, from, at[0]);
        own = joined_ranges()(own, {x, x});
    }
    own = cuda_block_join(own, joined_ranges());
    if (threadIdx.x == 0) to[blockIdx.x] = own;
}

/* From the least to the largest element: the one number that the host waits for, as PyTorch does. */
static rl_status range_find(rl_call *k, const cuda_walk &w, double *found) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const unsigned wanted = cuda_walk_blocks(&w),
                   blocks = wanted < MOST_RANGES ? wanted : (unsigned)MOST_RANGES;
    value_range ranges[MOST_RANGES];
    value_range *there = (value_range *)k->svc->scratch(k, RL_COUNT(MOST_RANGES), sizeof *there);
    if (!there || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH_BLOCKS((find_ranges), blocks, CUDA_THREADS, 0, cuda_stream_of(k), w, (int)x->dtype,
                       rl_const_data(x), there);
    if (rl_cuda_end(k) != RL_OK) return RL_FAIL;
    const rl_place to = {ranges, RL_CPU, 0}, from = {there, out->device, out->device_index};
    if (rl_cuda_move(&to, &from, blocks * sizeof *there, false) != RL_OK) return rl_cuda_fail(k);
    found[0] = INFINITY, found[1] = -INFINITY;
    for (unsigned i = 0; i < blocks; i++) {
        if (!(ranges[i].least >= found[0])) found[0] = ranges[i].least;
        if (!(ranges[i].most <= found[1])) found[1] = ranges[i].most;
        if (found[0] != found[0]) break;
    }
    return RL_OK;
}

/* the bins' borders, as the input's dtype has them */
static rl_status borders_find(rl_call *k, const cuda_walk &w, double *found) {
    found[0] = rl_num(k, 2), found[1] = rl_num(k, 3);
    if (found[0] > found[1]) return rl_fail(k, RL_RUNTIME, "torch.histc: max must be larger than min");
    if (found[0] == found[1] && w.numel && range_find(k, w, found) != RL_OK) return RL_FAIL;
    if (!isfinite(found[0]) || !isfinite(found[1]))
        return rl_fail(k, RL_RUNTIME, "torch.histc: range of [%g, %g] is not finite", found[0], found[1]);
    if (found[0] == found[1]) found[0] -= 1, found[1] += 1;
    for (int i = 0; i < 2; i++) found[i] = cuda_number_as(rl_in(k, 0)->dtype, found[i]);
    return RL_OK;
}

/* PyTorch's arithmetic, rounded to the dtype at every step; -1: outside */
template <class C> static __device__ int64_t bin_of(int dtype, C x, C least, C most, int64_t bins) {
    if (!(x >= least && x <= most)) return -1;
    const C width = cuda_rounded(dtype, most - least);
    const C part = cuda_rounded(dtype, cuda_rounded(dtype, x - least) * (C)bins);
    const int64_t bin = (int64_t)cuda_rounded(dtype, part / width);
    return bin < 0 ? 0 : bin >= bins ? bins - 1 : bin;
}

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) count_bins(cuda_walk w, int dtype, const void *from, C least,
                                                           C most, int64_t bins, unsigned long long *counts) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_walk_seek(w, i, at);
        const int64_t bin = bin_of<C>(dtype, cuda_load<C>(dtype, from, at[0]), least, most, bins);
        if (bin >= 0) atomicAdd(&counts[bin], 1ull);
    }
}
/* few bins: each block counts in its own, so that threads of others do not wait */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    count_own_bins(cuda_walk w, int dtype, const void *from, C least, C most, int64_t bins,
                   unsigned long long *counts) {
    CUDA_SHARED(unsigned, own, [OWN_BINS]);
    for (int64_t bin = threadIdx.x; bin < bins; bin += CUDA_THREADS) own[bin] = 0;
    __syncthreads();
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_walk_seek(w, i, at);
        const int64_t bin = bin_of<C>(dtype, cuda_load<C>(dtype, from, at[0]), least, most, bins);
        if (bin >= 0) atomicAdd(&own[bin], 1u);
    }
    __syncthreads();
    for (int64_t bin = threadIdx.x; bin < bins; bin += CUDA_THREADS)
        if (own[bin]) atomicAdd(&counts[bin], (unsigned long long)own[bin]);
}

template <class C>
static rl_status count(rl_call *k, const cuda_walk &w, const double *found, unsigned long long *counts) {
    const rl_view *x = rl_in(k, 0);
    const int64_t bins = k->out[0]->numel;
    const cudaStream_t s = cuda_stream_of(k);
    if (bins <= OWN_BINS)
        CUDA_LAUNCH_BLOCKS((count_own_bins<C>), cuda_walk_blocks(&w), CUDA_THREADS, 0, s, w, (int)x->dtype,
                           rl_const_data(x), (C)found[0], (C)found[1], bins, counts);
    else
        CUDA_LAUNCH((count_bins<C>), cuda_walk_blocks(&w), CUDA_THREADS, s, w, (int)x->dtype,
                    rl_const_data(x), (C)found[0], (C)found[1], bins, counts);
    return rl_cuda_end(k);
}

/* (input, int bins, min, max) */
CUDA_KERNEL(cuda_histc) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t bins = out->numel;
    cuda_dims dims = cuda_dims_none();
    cuda_walk w;
    double found[2];
    if (!cuda_same_place(x, out) || !cuda_walk_make_along(&w, &x, 1)) return RL_UNSUPPORTED;
    if (borders_find(k, w, found) != RL_OK) return RL_FAIL;
    unsigned long long *counts = (unsigned long long *)cuda_zeros(k, bins, RL_I64);
    if (!counts || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    const bool is_wide = x->dtype == RL_F64;
    if (w.numel &&
        (is_wide ? count<double>(k, w, found, counts) : count<float>(k, w, found, counts)) != RL_OK)
        return RL_FAIL;
    cuda_dims_add(&dims, bins, out->strides[0], 1);
    return cuda_move_dims(k, &dims, rl_data(out, RL_WRITE), out->dtype, counts, RL_I64);
}
