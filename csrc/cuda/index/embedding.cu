/* The gradient of embedding(): rows that are added up in the table; and its rows scaled down to a norm. */
#include "cuda/block_reduce.cuh"
#include "index.cuh"
#include "scatter.cuh"
#include <math.h>

/* elements of `to`, a table of rows without gaps, or of one number for each row */
static rl_status rows_plan(rl_call *k, cuda_scattering *s, int64_t rows, int64_t width) {
    const rl_view *grad = rl_in(k, 0), *index = rl_in(k, 1);
    const bool counts = width == 0;
    s->all = cuda_dims_none();
    s->first = 0;
    for (int d = 0; d < index->ndim; d++)
        cuda_dims_add(&s->all, index->shape[d], 0, index->strides[d], counts ? 0 : grad->strides[d]);
    if (!counts) cuda_dims_add(&s->all, width, 1, 0, grad->strides[grad->ndim - 1]);
    if (cuda_indices_of(k, &s->places, index, k->out[0], 0) != RL_OK) return RL_FAIL;
    s->places.size = rows;
    s->places.step = counts ? 1 : width;
    s->places.skips = true;
    s->places.skipped = rl_int(k, 3);
    return RL_OK;
}

/* each row divided by how often it came */
static rl_status divide_rows(rl_call *k, void *sums, int dtype, int64_t rows, int64_t width) {
    int64_t *counts = (int64_t *)cuda_zeros(k, rows, RL_I64);
    const void *one = cuda_bits_there(k, 1, RL_I64);
    cuda_dims all = cuda_dims_none();
    cuda_scattering s;
    cuda_iter w;
    if (!counts || !one || rows_plan(k, &s, rows, 0) != RL_OK ||
        cuda_join_run(k, &s, counts, RL_I64, {one, RL_I64, RL_JOIN_ADD, 1, 1, false}) != RL_OK)
        return RL_FAIL;
    cuda_dims_add(&all, rows, width, 1);
    cuda_dims_add(&all, width, 1, 0);
    return cuda_dims_iter(&w, &all, 2) ? cuda_divide(k, w, sums, dtype, counts) : RL_UNSUPPORTED;
}

/* (grad_output, indices, num_weights, padding_idx, scale_grad_by_freq); halves are added up in float */
CUDA_KERNEL(cuda_embedding_backward) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const int64_t rows = out->shape[0], width = out->shape[1];
    const int dtype = rl_itemsize(out->dtype) == 2 ? (int)RL_F32 : out->dtype;
    const uint64_t zero[2] = {0, 0};
    cuda_scattering s;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (grad->numel == 0 || out->numel == 0) return cuda_fill_view(k, out, zero);
    const bool in_place = dtype == out->dtype && rl_is_contiguous(out);
    void *sums = in_place ? rl_data(out, RL_WRITE) : cuda_zeros(k, out->numel, dtype);
    if (!sums || (in_place && cuda_fill_view(k, out, zero) != RL_OK)) return RL_FAIL;
    rl_status status = rows_plan(k, &s, rows, width);
    if (status == RL_OK)
        status =
            cuda_join_run(k, &s, sums, dtype, {rl_const_data(grad), grad->dtype, RL_JOIN_ADD, 1, 1, false});
    if (status == RL_OK && rl_int(k, 4)) status = divide_rows(k, sums, dtype, rows, width);
    if (status != RL_OK || in_place) return status;
    cuda_dims all = cuda_dims_none();
    cuda_dims_add(&all, rows, out->strides[0], width);
    cuda_dims_add(&all, width, out->strides[1], 1);
    return cuda_cast_copy_dims(k, &all, rl_data(out, RL_WRITE), out->dtype, sums, dtype);
}

/* ==== rows of a table scaled down to a norm ==== */
/* operand 0: the index */
__global__ void __launch_bounds__(CUDA_THREADS) name_rows(cuda_iter w, cuda_indices places, int *is_named) {
    CUDA_EACH(i, w) {
        int64_t at[1], row;
        cuda_iter_seek(w, i, at);
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
    cuda_indices places;
    cuda_iter w;
    if (!cuda_all_here(k) || !cuda_iter_make(&w, &index, 1)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || index->numel == 0) return status;
    int *is_named = (int *)cuda_zeros(k, rows ? rows : 1, RL_I32);
    if (!is_named || rl_cuda_begin(k, out) != RL_OK || cuda_indices_of(k, &places, index, out, 0) != RL_OK)
        return RL_FAIL;
    places.step = 1;
    CUDA_LAUNCH((name_rows), cuda_iter_blocks(&w), CUDA_THREADS, s, w, places, is_named);
    if (out->numel == 0) return rl_cuda_end(k);
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH_BLOCKS((scale_rows<T, C>), cuda_blocks_of(rows *CUDA_WARP), CUDA_THREADS, 0, s, rows,    \
                           width, (const int *)is_named, (T *)rl_data(out, RL_WRITE), out->strides[0],       \
                           out->strides[1], rl_num(k, 2), norm_join<C>{(C)rl_num(k, 3)});                    \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
