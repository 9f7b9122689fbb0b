/* Grids of affine maps: the product of each place's coordinates, and 1, with a matrix. */
#include "device.h"
#include "reduce.h"
#include "planes.h"

typedef struct {
    int dims;
    bool wide, corners;
    int64_t size[3], n_places; /* size: along x, y, z */
    int64_t step[5]; /* of the grid: along x, y, z; from map to map; from coordinate to coordinate */
    double inverse[3], by_places; /* Note [Quotients] */
    int64_t n, row, col;          /* of the matrices */
} affine_job;

static __device__ inline double rounded(const affine_job &job, double x) {
    return job.wide ? x : (double)(float)x;
}

/* -1 to 1: middles of elements, or of the first and the last one; in PyTorch's steps from both ends */
static __device__ double coordinate(const affine_job &job, int64_t n, int64_t i) {
    const double step = n > 1 ? rounded(job, 2 / rounded(job, (double)(n - 1))) : 0;
    const double inner = job.corners ? 1 : (double)(n - 1), outer = job.corners ? 1 : (double)n;
    const double x = n == 1      ? 0
                     : i < n / 2 ? rounded(job, -1 + step * (double)i)
                                 : rounded(job, 1 - step * (double)(n - 1 - i));
    return rounded(job, rounded(job, x * inner) / outer);
}

/* coordinates of place p, and where it lies in the grid */
template <class C> __device__ int64_t place_of(const affine_job &job, int64_t p, C *at) {
    int64_t offset = 0;
    at[2] = at[3] = 0;
    for (int d = 0; d < job.dims; d++) {
        const int64_t i = cuda_remainder(&p, job.size[d], job.inverse[d]);
        at[d] = (C)coordinate(job, job.size[d], i);
        offset += i * job.step[d];
    }
    at[job.dims] = 1;
    return offset;
}

static bool affine_begin(const rl_call *k, affine_job *job, const rl_view *grid, const rl_view *theta) {
    job->dims = grid->ndim - 2;
    if (job->dims < 2 || job->dims > 3) return false;
    job->wide = grid->dtype == RL_F64;
    job->corners = rl_int(k, 2) != 0;
    job->n_places = 1;
    for (int d = 0; d < job->dims; d++) {
        job->size[d] = grid->shape[job->dims - d];
        job->step[d] = grid->strides[job->dims - d];
        job->inverse[d] = cuda_inverse(job->size[d]);
        job->n_places *= job->size[d];
    }
    job->by_places = cuda_inverse(job->n_places);
    job->step[3] = grid->strides[0], job->step[4] = grid->strides[job->dims + 1];
    job->n = theta->strides[0], job->row = theta->strides[1], job->col = theta->strides[2];
    return true;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    affine_places(affine_job job, int64_t all, const T *theta, T *to) {
    CUDA_EACH_OF(i, all) {
        const int64_t n = cuda_quotient(i, job.n_places, job.by_places);
        C at[4];
        T *target = to + n * job.step[3] + place_of(job, i - n * job.n_places, at);
        for (int d = 0; d < job.dims; d++) {
            C sum = 0;
            for (int e = 0; e <= job.dims; e++)
                sum += at[e] * cuda_cast<C>(theta[n * job.n + d * job.row + e * job.col]);
            target[d * job.step[4]] = cuda_cast<T>(sum);
        }
    }
}

CUDA_KERNEL(cuda_affine_grid_generator) {
    const rl_view *theta = rl_in(k, 0), *out = k->out[0];
    affine_job job;
    if (!affine_begin(k, &job, out, theta)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    const int64_t all = out->numel / job.dims;
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((affine_places<T, C>), cuda_blocks_of(all), CUDA_THREADS, (cudaStream_t)k->stream, job,  \
                    all, (const T *)rl_const_data(theta), (T *)rl_data(out, RL_WRITE));                      \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* ---- the gradient: (grad, size, align_corners); a block for each number of each matrix ---- */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS) sum_affine(affine_job job, const T *grad, T *to) {
    const int64_t n = blockIdx.x;
    const int d = (int)blockIdx.y, e = (int)blockIdx.z;
    C sum = 0, at[4];
    for (int64_t p = threadIdx.x; p < job.n_places; p += blockDim.x) {
        const int64_t offset = place_of(job, p, at);
        sum += at[e] * cuda_cast<C>(grad[n * job.step[3] + offset + d * job.step[4]]);
    }
    sum = cuda_block_join(sum, cuda_sum());
    if (threadIdx.x == 0) to[n * job.n + d * job.row + e * job.col] = cuda_cast<T>(sum);
}

CUDA_KERNEL(cuda_affine_grid_generator_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    affine_job job;
    if (!affine_begin(k, &job, grad, out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    const dim3 blocks((unsigned)out->shape[0], (unsigned)job.dims, (unsigned)job.dims + 1);
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH_BLOCKS((sum_affine<T, C>), blocks, CUDA_THREADS, 0, (cudaStream_t)k->stream, job,        \
                           (const T *)rl_const_data(grad), (T *)rl_data(out, RL_WRITE));                     \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
