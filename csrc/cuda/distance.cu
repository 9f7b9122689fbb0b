/* Distances between rows: Note [Distances] in kernels/shared/distance.h. A thread for each distance; going
 * back, one for each number of a row, which gathers from all distances of its row in one order. */
#include "device.h"
#include "strided_iterator.cuh"
#include "kernels/shared/distance.h"

/* A view that stretches over batches: offsets of the first CUDA_DIMS - 2 dims, and steps of the last two. */
typedef struct {
    const void *at;
    int64_t batch[CUDA_DIMS], row, column;
} distance_view;

typedef struct {
    int dtype, n_batch, order;
    bool triangle;
    double p;
    int64_t size[CUDA_DIMS], rows, others, width, all; /* size: of the batches; all: threads of work */
    distance_view first, second, grad, distance;
    void *result;
} distance_job;

static void view_read(const rl_distances *d, const rl_view *v, int n_batch, distance_view *to) {
    to->at = rl_const_data(v);
    to->column = v->strides[v->ndim - 1];
    to->row = v->ndim > 1 ? v->strides[v->ndim - 2] : 0;
    for (int i = 0; i < n_batch; i++) {
        const int dim = i - (d->result->ndim - v->ndim);
        to->batch[i] = dim < 0 || v->shape[dim] == 1 ? 0 : v->strides[dim];
    }
}

static bool distance_read(const rl_distances *d, distance_job *j) {
    *j = distance_job();
    j->n_batch = d->triangle ? 0 : d->result->ndim - 2;
    if (j->n_batch > CUDA_DIMS || !rl_is_contiguous(d->result)) return false;
    j->dtype = d->result->dtype;
    j->order = d->order;
    j->triangle = d->triangle;
    j->p = d->p;
    j->rows = d->rows, j->others = d->others, j->width = d->width;
    j->all = d->result->numel;
    for (int i = 0; i < j->n_batch; i++) j->size[i] = d->result->shape[i];
    view_read(d, d->first, j->n_batch, &j->first);
    view_read(d, d->second, j->n_batch, &j->second);
    if (d->grad) view_read(d, d->grad, j->n_batch, &j->grad);
    if (d->distance) view_read(d, d->distance, j->n_batch, &j->distance);
    return true;
}

static __device__ int64_t batch_offset(const distance_job &j, const distance_view &v, int64_t batch) {
    int64_t offset = 0;
    for (int i = j.n_batch - 1; i >= 0; i--) {
        const int64_t rest = batch / j.size[i];
        offset += (batch - rest * j.size[i]) * v.batch[i];
        batch = rest;
    }
    return offset;
}
/* where d(i, i + 1) would stand in the line of a triangle, less i + 1 */
static __device__ int64_t triangle_row(int64_t n, int64_t i) {
    return i * n - i * (i + 1) / 2 - i - 1;
}
/* the row of number `at` of a triangle's line */
static __device__ int64_t triangle_row_of(int64_t n, int64_t at) {
    int64_t low = 0, high = n - 2;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (triangle_row(n, middle) + middle + 1 <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

template <class C> __device__ C join(const distance_job &j, C sum, C gap) {
    switch (j.order) {
    case RL_P_COUNT: return sum + (gap != 0 ? (gap == gap ? (C)1 : gap) : (C)0);
    case RL_P_SUM: return sum + gap;
    case RL_P_SQUARE: return sum + gap * gap;
    case RL_P_LINF: return gap > sum ? gap : sum;
    default: return sum + pow(gap, (C)j.p);
    }
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS, 1) distances(distance_job d) {
    CUDA_EACH_OF(at, d.all) {
        int64_t batch = 0, i, j;
        if (d.triangle) {
            i = triangle_row_of(d.rows, at);
            j = at - triangle_row(d.rows, i);
        } else {
            const int64_t row = at / d.others;
            j = at - row * d.others;
            batch = row / d.rows;
            i = row - batch * d.rows;
        }
        int64_t a = batch_offset(d, d.first, batch) + i * d.first.row;
        int64_t b = batch_offset(d, d.second, batch) + j * d.second.row;
        C sum = 0;
        for (int64_t c = 0; c < d.width; c++, a += d.first.column, b += d.second.column)
            sum = join(d, sum,
                       (C)fabs(cuda_load<C>(d.dtype, d.first.at, a) - cuda_load<C>(d.dtype, d.second.at, b)));
        if (d.order == RL_P_SQUARE) sum = sqrt(sum);
        if (d.order == RL_P_POWER) sum = pow(sum, (C)(1 / d.p));
        cuda_store(d.dtype, d.result, at, sum);
    }
}

/* what one number of a row gets through one distance */
template <class C> __device__ C slope(const distance_job &d, C gap, C grad, C distance) {
    const C size = fabs(gap), sign = gap > 0 ? (C)1 : gap < 0 ? (C)-1 : (C)0;
    if (d.order == RL_P_COUNT || (distance == 0 && d.order != RL_P_SUM)) return 0;
    switch (d.order) {
    case RL_P_SUM: return sign * grad;
    case RL_P_SQUARE: return gap * (grad / distance);
    case RL_P_LINF: return size == distance ? sign * grad : (C)0;
    default: return gap == 0 ? (C)0 : sign * grad * pow(size / distance, (C)(d.p - 1));
    }
}

static __device__ int64_t pair_offset(const distance_job &d, const distance_view &v, int64_t i, int64_t j) {
    if (!d.triangle) return i * v.row + j * v.column;
    return (i < j ? triangle_row(d.rows, i) + j : triangle_row(d.rows, j) + i) * v.column;
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS, 1) distance_slopes(distance_job d) {
    CUDA_EACH_OF(at, d.all) {
        const int64_t row = at / d.width, c = at - row * d.width, batch = row / d.rows,
                      i = row - batch * d.rows;
        const int64_t second = batch_offset(d, d.second, batch) + c * d.second.column;
        const int64_t grad = batch_offset(d, d.grad, batch), found = batch_offset(d, d.distance, batch);
        const C own = cuda_load<C>(d.dtype, d.first.at,
                                   batch_offset(d, d.first, batch) + i * d.first.row + c * d.first.column);
        C sum = 0;
        for (int64_t j = 0; j < d.others; j++) {
            if (d.triangle && i == j) continue;
            sum += slope<C>(d, own - cuda_load<C>(d.dtype, d.second.at, second + j * d.second.row),
                            cuda_load<C>(d.dtype, d.grad.at, grad + pair_offset(d, d.grad, i, j)),
                            cuda_load<C>(d.dtype, d.distance.at, found + pair_offset(d, d.distance, i, j)));
        }
        cuda_store(d.dtype, d.result, at, sum);
    }
}

static rl_status run(rl_call *k, rl_distances d) {
    distance_job j;
    if (!distance_read(&d, &j)) return RL_UNSUPPORTED;
    if (j.all == 0) return RL_OK;
    if (rl_cuda_begin(k, d.result) != RL_OK) return RL_FAIL;
    cudaStream_t stream = (cudaStream_t)k->stream;
    const unsigned blocks = cuda_blocks_of(j.all);
    const bool wide = j.dtype == RL_F64;
    j.result = rl_data(d.result, RL_WRITE);
    if (d.grad && wide)
        CUDA_LAUNCH(distance_slopes<double>, blocks, CUDA_THREADS, stream, j);
    else if (d.grad)
        CUDA_LAUNCH(distance_slopes<float>, blocks, CUDA_THREADS, stream, j);
    else if (wide)
        CUDA_LAUNCH(distances<double>, blocks, CUDA_THREADS, stream, j);
    else
        CUDA_LAUNCH(distances<float>, blocks, CUDA_THREADS, stream, j);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_cdist) {
    return run(k, rl_distances_of(k, 0, false, k->n_arg > 2 ? rl_num(k, 2) : 2));
}
CUDA_KERNEL(cuda_cdist_backward) {
    return run(k, rl_distances_of(k, 1, false, rl_num(k, 3)));
}
CUDA_KERNEL(cuda_pdist) {
    return run(k, rl_distances_of(k, 0, true, rl_num(k, 1)));
}
CUDA_KERNEL(cuda_pdist_backward) {
    return run(k, rl_distances_of(k, 1, true, rl_num(k, 2)));
}
