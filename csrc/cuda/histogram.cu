/* Counts: of equal rows and runs, of integers, and of values in the bins of a histogram. */
#include "block_reduce.cuh"
#include "copy.cuh"
#include "cuda/index/scatter.cuh"
#include "sort.cuh"
#include <math.h>

/* ==== rows in order; numbers, bins and runs counted ==== */
/* ---- rows of a matrix, merged as lines are: Note [CUDA sorting] ---- */
typedef struct {
    int64_t m, row, step;
    int dtype;
    bool is_float;
    const void *at;
} matrix_rows;

/* Does row a come before row b, or is it as large, if `equal`? */
static __device__ bool comes_before(const matrix_rows &r, int64_t a, int64_t b, bool equal) {
    for (int64_t c = 0; c < r.m; c++) {
        const uint64_t x = cuda_key_load(r.dtype, r.is_float, r.at, a * r.row + c * r.step);
        const uint64_t y = cuda_key_load(r.dtype, r.is_float, r.at, b * r.row + c * r.step);
        if (x != y) return x < y;
    }
    return equal;
}
static __device__ int64_t rows_before(const matrix_rows &r, const int64_t *order, int64_t n, int64_t row,
                                      bool equal) {
    int64_t low = 0;
    while (low < n) {
        const int64_t middle = low + (n - low) / 2;
        if (comes_before(r, order[middle], row, equal))
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}
__global__ void __launch_bounds__(CUDA_THREADS)
    merge_rows(matrix_rows r, int64_t n, int64_t run, const int64_t *from, int64_t *to) {
    CUDA_EACH_OF(i, n) {
        const int64_t own = i & -run; /* run is a power of 2 */
        const bool is_right = (i & run) != 0;
        const int64_t left = is_right ? own - run : own, other = is_right ? left : own + run;
        const int64_t room = n - other, count = room < 0 ? 0 : room < run ? room : run;
        to[left + (i - own) + rows_before(r, from + other, count, from[i], is_right)] = from[i];
    }
}
__global__ void __launch_bounds__(CUDA_THREADS) number_rows(int64_t n, int64_t *to) {
    CUDA_EACH_OF(i, n) to[i] = i;
}

CUDA_KERNEL(cuda_sort_rows) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->shape[0];
    const matrix_rows r = {x->shape[1], x->strides[0],         x->strides[1],
                           x->dtype,    rl_is_float(x->dtype), rl_const_data(x)};
    const cudaStream_t s = cuda_stream_of(k);
    cuda_dims dims = cuda_dims_none();
    int64_t *order[2], from = 0;
    if (!cuda_same_place(x, out)) return RL_UNSUPPORTED;
    if (n == 0) return RL_OK;
    for (int i = 0; i < 2; i++) {
        order[i] = (int64_t *)k->svc->scratch(k, RL_COUNT(n), sizeof(int64_t));
        if (!order[i]) return RL_FAIL;
    }
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((number_rows), cuda_blocks_of(n), CUDA_THREADS, s, n, order[0]);
    for (int64_t run = 1; run < n; run *= 2, from = !from)
        CUDA_LAUNCH((merge_rows), cuda_blocks_of(n), CUDA_THREADS, s, r, n, run, (const int64_t *)order[from],
                    order[!from]);
    cuda_dims_add(&dims, n, out->strides[0], 1);
    return cuda_cast_copy_dims(k, &dims, rl_data(out, RL_WRITE), RL_I64, order[from], RL_I64);
}

/* ---- runs ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    mark_runs(int64_t n, int dtype, const void *from, int64_t step, uint8_t *to, int64_t to_step) {
    CUDA_EACH_OF(i, n)
    to[i * to_step] =
        i == 0 || cuda_load<C>(dtype, from, i * step) != cuda_load<C>(dtype, from, (i - 1) * step);
}

CUDA_KERNEL(cuda_run_marks) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->numel, step = x->strides[0], to_step = out->strides[0];
    const cudaStream_t s = cuda_stream_of(k);
    uint8_t *to = (uint8_t *)rl_data(out, RL_WRITE);
    if (!cuda_same_place(x, out)) return RL_UNSUPPORTED;
    if (n == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (rl_is_float(x->dtype))
        CUDA_LAUNCH((mark_runs<double>), cuda_blocks_of(n), CUDA_THREADS, s, n, (int)x->dtype,
                    rl_const_data(x), step, to, to_step);
    else
        CUDA_LAUNCH((mark_runs<int64_t>), cuda_blocks_of(n), CUDA_THREADS, s, n, (int)x->dtype,
                    rl_const_data(x), step, to, to_step);
    return rl_cuda_end(k);
}

/* ---- vectors whose elements join in bins ---- */
static int64_t step_of(const rl_view *v) {
    return v->ndim ? v->strides[0] : 0;
}

/* The bins' weights become out[0]; without weights they are counted. `bin`: int64, -1 for none if `skips`. */
static rl_status join_bins(rl_call *k, int64_t n, const int64_t *bin, bool skips, const rl_view *weights) {
    const rl_view *out = k->out[0];
    const int64_t bins = out->numel;
    const int dtype = !weights ? (int)RL_I64 : weights->dtype == RL_F32 ? (int)RL_F32 : (int)RL_F64;
    void *sums = cuda_zeros(k, bins, dtype);
    const void *from = weights ? rl_const_data(weights) : cuda_bits_there(k, 1, RL_I64);
    cuda_dims dims = cuda_dims_none();
    cuda_scattering s;
    if (!sums || !from || rl_cuda_begin(k, out) != RL_OK ||
        cuda_indices_flat(k, &s.places, bin, bins) != RL_OK)
        return RL_FAIL;
    s.all = cuda_dims_none();
    cuda_dims_add(&s.all, n, 0, 1, weights ? step_of(weights) : 0);
    s.first = 0;
    s.places.skips = skips;
    s.places.skipped = -1;
    const rl_status status = cuda_join_run(
        k, &s, sums, dtype, {from, weights ? (int)weights->dtype : (int)RL_I64, RL_JOIN_ADD, 1, 1, false});
    if (status != RL_OK) return status;
    cuda_dims_add(&dims, bins, step_of(out), 1);
    return cuda_cast_copy_dims(k, &dims, rl_data(out, RL_WRITE), out->dtype, sums, dtype);
}

/* (input, weights, int bins) */
CUDA_KERNEL(cuda_bin_counts) {
    const rl_view *x = rl_in(k, 0);
    const uint64_t zero[2] = {0, 0};
    cuda_dims dims = cuda_dims_none();
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (x->numel == 0 || k->out[0]->numel == 0) return cuda_fill_view(k, k->out[0], zero);
    int64_t *bin = (int64_t *)k->svc->scratch(k, RL_COUNT(x->numel), sizeof *bin);
    cuda_dims_add(&dims, x->numel, 1, step_of(x));
    if (!bin) return RL_FAIL;
    const rl_status status = cuda_cast_copy_dims(k, &dims, bin, RL_I64, rl_const_data(x), x->dtype);
    return status == RL_OK ? join_bins(k, x->numel, bin, false, rl_in(k, 1)) : status;
}

/* The bin of a number between the first and the last edge: where equal bins have it, or one beside that, else
 * by search. */
static __device__ int64_t cell_of(int dtype, const void *edges, int64_t step, int64_t bins, double x) {
    const double first = cuda_load<double>(dtype, edges, 0),
                 last = cuda_load<double>(dtype, edges, bins * step);
    if (!(x >= first && x <= last)) return -1;
    int64_t low = 0, high = bins; /* edges[low] <= x, and edges[high] > x or is the last */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (x >= cuda_load<double>(dtype, edges, middle * step))
            low = middle;
        else
            high = middle;
    }
    return low;
}
__global__ void __launch_bounds__(CUDA_THREADS)
    find_cells(int64_t n, int dtype, const void *from, int64_t step, const void *edges, int64_t edge_step,
               int64_t bins, int64_t *to) {
    CUDA_EACH_OF(i, n)
    to[i] = cell_of(dtype, edges, edge_step, bins, cuda_load<double>(dtype, from, i * step));
}

/* (input, edges, weight) */
CUDA_KERNEL(cuda_cell_counts) {
    const rl_view *x = rl_in(k, 0), *edges = rl_in(k, 1), *weight = rl_in(k, 2);
    const uint64_t zero[2] = {0, 0};
    if (!cuda_all_here(k) || edges->dtype != x->dtype) return RL_UNSUPPORTED;
    if (x->numel == 0) return cuda_fill_view(k, k->out[0], zero);
    int64_t *cell = (int64_t *)k->svc->scratch(k, RL_COUNT(x->numel), sizeof *cell);
    if (!cell || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((find_cells), cuda_blocks_of(x->numel), CUDA_THREADS, cuda_stream_of(k), x->numel,
                (int)x->dtype, rl_const_data(x), step_of(x), rl_const_data(edges), step_of(edges),
                k->out[0]->numel, cell);
    return rl_cuda_end(k) == RL_OK ? join_bins(k, x->numel, cell, true, weight) : RL_FAIL;
}

/* ==== histograms of equal bins ==== */
enum { OWN_BINS = 2048, MAX_RANGES = 256 };
typedef struct {
    double least, most;
} value_range;
struct joined_ranges { /* NaN is both */
    __device__ value_range operator()(const value_range &a, const value_range &b) const {
        return {cuda_smallest()(a.least, b.least), cuda_largest()(a.most, b.most)};
    }
};

__global__ void __launch_bounds__(CUDA_THREADS)
    find_ranges(cuda_iter w, int dtype, const void *from, value_range *to) {
    value_range own = {INFINITY, -INFINITY};
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        const double x = cuda_load<double>(dtype, from, at[0]);
        own = joined_ranges()(own, {x, x});
    }
    own = cuda_block_join(own, joined_ranges());
    if (threadIdx.x == 0) to[blockIdx.x] = own;
}

/* From the least to the largest element: the one number that the host waits for, as PyTorch does. */
static rl_status range_find(rl_call *k, const cuda_iter &w, double *found) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const unsigned wanted = cuda_iter_blocks(&w),
                   blocks = wanted < MAX_RANGES ? wanted : (unsigned)MAX_RANGES;
    value_range ranges[MAX_RANGES];
    value_range *there = (value_range *)k->svc->scratch(k, RL_COUNT(MAX_RANGES), sizeof *there);
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
static rl_status borders_find(rl_call *k, const cuda_iter &w, double *found) {
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
__global__ void __launch_bounds__(CUDA_THREADS) count_bins(cuda_iter w, int dtype, const void *from, C least,
                                                           C most, int64_t bins, unsigned long long *counts) {
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        const int64_t bin = bin_of<C>(dtype, cuda_load<C>(dtype, from, at[0]), least, most, bins);
        if (bin >= 0) atomicAdd(&counts[bin], 1ull);
    }
}
/* few bins: each block counts in its own, so that threads of others do not wait */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    count_own_bins(cuda_iter w, int dtype, const void *from, C least, C most, int64_t bins,
                   unsigned long long *counts) {
    CUDA_SHARED(unsigned, own, [OWN_BINS]);
    for (int64_t bin = threadIdx.x; bin < bins; bin += CUDA_THREADS) own[bin] = 0;
    __syncthreads();
    CUDA_EACH(i, w) {
        int64_t at[1];
        cuda_iter_seek(w, i, at);
        const int64_t bin = bin_of<C>(dtype, cuda_load<C>(dtype, from, at[0]), least, most, bins);
        if (bin >= 0) atomicAdd(&own[bin], 1u);
    }
    __syncthreads();
    for (int64_t bin = threadIdx.x; bin < bins; bin += CUDA_THREADS)
        if (own[bin]) atomicAdd(&counts[bin], (unsigned long long)own[bin]);
}

template <class C>
static rl_status count(rl_call *k, const cuda_iter &w, const double *found, unsigned long long *counts) {
    const rl_view *x = rl_in(k, 0);
    const int64_t bins = k->out[0]->numel;
    const cudaStream_t s = cuda_stream_of(k);
    if (bins <= OWN_BINS)
        CUDA_LAUNCH_BLOCKS((count_own_bins<C>), cuda_iter_blocks(&w), CUDA_THREADS, 0, s, w, (int)x->dtype,
                           rl_const_data(x), (C)found[0], (C)found[1], bins, counts);
    else
        CUDA_LAUNCH((count_bins<C>), cuda_iter_blocks(&w), CUDA_THREADS, s, w, (int)x->dtype,
                    rl_const_data(x), (C)found[0], (C)found[1], bins, counts);
    return rl_cuda_end(k);
}

/* (input, int bins, min, max) */
CUDA_KERNEL(cuda_histc) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t bins = out->numel;
    cuda_dims dims = cuda_dims_none();
    cuda_iter w;
    double found[2];
    if (!cuda_same_place(x, out) || !cuda_iter_make_along(&w, &x, 1)) return RL_UNSUPPORTED;
    if (borders_find(k, w, found) != RL_OK) return RL_FAIL;
    unsigned long long *counts = (unsigned long long *)cuda_zeros(k, bins, RL_I64);
    if (!counts || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    const bool is_wide = x->dtype == RL_F64;
    if (w.numel &&
        (is_wide ? count<double>(k, w, found, counts) : count<float>(k, w, found, counts)) != RL_OK)
        return RL_FAIL;
    cuda_dims_add(&dims, bins, out->strides[0], 1);
    return cuda_cast_copy_dims(k, &dims, rl_data(out, RL_WRITE), out->dtype, counts, RL_I64);
}
