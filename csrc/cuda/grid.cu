/* grid_sample and its gradients: Note [Grid points]. */
#include "block_reduce.cuh"
#include "cuda/index/ordered_sum.cuh"
#include "device.h"
#include "planes.cuh"

/* the result of one operation in the picture's precision */
static __device__ __forceinline__ float rounded(int dtype, float x) {
    return dtype == RL_F32 ? x : cuda_rounded(dtype, x);
}
/* Doubles compute in doubles, all others in floats. */
#define GRID_DIMS_ALONE
#define GRID_TARGET     __device__ __forceinline__
#define GRID_REAL       float
#define GRID_NAME(f)    f##_float
#define GRID_ROUNDED(x) rounded(g->dtype, x)
#define GRID_FUSED      (g->dtype == RL_F32)
#include "kernels/shared/grid_impl.inc"
#undef GRID_REAL
#undef GRID_NAME
#undef GRID_ROUNDED
#undef GRID_FUSED
#define GRID_REAL       double
#define GRID_NAME(f)    f##_double
#define GRID_ROUNDED(x) (x)
#define GRID_FUSED      (g->dtype == RL_F64)
#include "kernels/shared/grid_impl.inc"

static __device__ __forceinline__ void find_along(const rl_grid &g, int d, float at, rl_grid_dim_float *to) {
    find_along_float(&g, d, at, to);
}
static __device__ __forceinline__ void find_along(const rl_grid &g, int d, double at,
                                                  rl_grid_dim_double *to) {
    find_along_double(&g, d, at, to);
}

static __device__ __forceinline__ void begin_one(rl_grid_dim_float *to) {
    *to = {1, {}, {1}, {}, {}};
}
static __device__ __forceinline__ void begin_one(rl_grid_dim_double *to) {
    *to = {1, {}, {1}, {}, {}};
}

/* Note [Taps]
 * What a place falls among in each dim stands in registers, which no variable may index: `pick` looks at all
 * four. The elements of a place are visited one after the other, the products of their weights computed on
 * the way; as arrays they would take kilobytes of each thread's memory. */
template <class C> struct tapped {
    typename std::conditional<std::is_same<C, float>::value, rl_grid_dim_float, rl_grid_dim_double>::type
        dim[3];
    C direction[3];
};
template <class T> static __device__ __forceinline__ T pick(const T (&from)[4], int i) {
    T x = from[0];
    CUDA_UNROLL
    for (int j = 1; j < 4; j++) x = i == j ? from[j] : x;
    return x;
}

/* blocks that share the registers of a multiprocessor: no more, or they are spilled */
#define GRID_BLOCKS(C) (sizeof(C) == sizeof(float) ? 2 : 1)

typedef struct {
    rl_grid g;
    cuda_planes picture, places, direction, result; /* result: of the sampling, or its gradient */
    const void *grid, *along;                       /* along: NULL without a direction */
} grid_job;

/* a grid (N, spaces, coordinates): these are its channels */
static bool coordinates_of(const rl_view *v, cuda_planes *p) {
    const int last = v->ndim - 1;
    rl_view turned = *v;
    int64_t shape[5], strides[5];
    if (v->ndim < 3 || v->ndim > 5) return false;
    for (int d = 0; d < v->ndim; d++) {
        const int from = d == 0 ? 0 : d == 1 ? last : d - 1;
        shape[d] = v->shape[from];
        strides[d] = v->strides[from];
    }
    turned.shape = shape;
    turned.strides = strides;
    return cuda_planes_of(&turned, v->ndim - 2, p);
}

/* args: pictures and grid, and behind `arg` the mode, padding, align_corners and perhaps a direction */
static bool grid_begin(const rl_call *k, grid_job *job, const rl_view *picture, const rl_view *result,
                       int grid, int arg) {
    const rl_view *direction = k->n_arg > arg + 3 ? rl_in(k, arg + 3) : nullptr;
    const int dims = picture->ndim - 2;
    if (!cuda_planes_of(picture, dims, &job->picture) || !cuda_planes_of(result, dims, &job->result) ||
        !coordinates_of(rl_in(k, grid), &job->places) ||
        (direction && !coordinates_of(direction, &job->direction)))
        return false;
    job->g.mode = (int)rl_int(k, arg), job->g.padding = (int)rl_int(k, arg + 1);
    job->g.corners = rl_int(k, arg + 2) != 0;
    job->g.dims = dims, job->g.dtype = picture->dtype;
    for (int d = 0; d < 3; d++) {
        job->g.size[d] = job->picture.size[4 - d];
        job->g.step[d] = job->picture.step[4 - d];
    }
    job->grid = rl_const_data(rl_in(k, grid));
    job->along = direction ? rl_const_data(direction) : nullptr;
    /* a thread for each place, whatever the channels are */
    job->places.numel = job->places.numel / dims;
    job->places.last = false;
    return true;
}

static __device__ cuda_place place_seek(const cuda_planes &places, int64_t i) {
    cuda_place here;
    for (int d = 4; d >= CUDA_SPACE; d--) here.at[d] = cuda_planes_step(places, d, &i);
    here.at[CUDA_CHANNEL] = 0;
    here.at[CUDA_BATCH] = i;
    return here;
}

template <class C>
static __device__ __forceinline__ void place_find(const grid_job &job, const cuda_place &here,
                                                  tapped<C> *place) {
    const int64_t first = cuda_planes_at(job.places, here);
    const int64_t along = job.along ? cuda_planes_at(job.direction, here) : 0;
    CUDA_UNROLL
    for (int d = 0; d < 3; d++) {
        begin_one(&place->dim[d]);
        place->direction[d] = 0;
        if (d >= job.g.dims) continue;
        find_along(job.g, d, cuda_load<C>(job.g.dtype, job.grid, first + d * job.places.step[CUDA_CHANNEL]),
                   &place->dim[d]);
        if (job.along)
            place->direction[d] =
                cuda_load<C>(job.g.dtype, job.along, along + d * job.direction.step[CUDA_CHANNEL]);
    }
}

/* Note [Grid points]: the product over the dims; of dim `by` slopes, and bends where it is `by_too` */
template <class C>
static __device__ __forceinline__ C product(const tapped<C> &p, const int (&i)[3], int by, int by_too) {
    C all = 1;
    CUDA_UNROLL
    for (int d = 2; d >= 0; d--) {
        const int times = (d == by) + (d == by_too);
        const C weight = pick(p.dim[d].weight, i[d]), slope = pick(p.dim[d].slope, i[d]);
        all *= times == 0 ? weight : times == 1 ? slope : pick(p.dim[d].bend, i[d]);
    }
    return all;
}
template <class C>
static __device__ __forceinline__ C weight_of(const grid_job &job, const tapped<C> &p, const int (&i)[3],
                                              int by) {
    C sum = 0;
    if (!job.along) return product(p, i, by, -1);
    CUDA_UNROLL
    for (int d = 0; d < 3; d++)
        if (d < job.g.dims) sum += p.direction[d] * product(p, i, by, d);
    return sum;
}

/* f(number, offset or -1, weight) of each element; by: which dim the weights' slopes are along, or -1 */
template <class C, class F>
static __device__ __forceinline__ void each_tap(const grid_job &job, const tapped<C> &p, int by, F f) {
    int i[3], n = 0;
    CUDA_ROLLED
    for (i[2] = 0; i[2] < p.dim[2].n; i[2]++) CUDA_ROLLED
    for (i[1] = 0; i[1] < p.dim[1].n; i[1]++) CUDA_ROLLED
    for (i[0] = 0; i[0] < p.dim[0].n; i[0]++) {
        int64_t offset = 0;
        bool is_inside = true;
        CUDA_UNROLL
        for (int d = 0; d < 3; d++) {
            const int64_t at = pick(p.dim[d].at, i[d]);
            is_inside &= at >= 0;
            offset += d < job.g.dims ? at * job.g.step[d] : 0;
        }
        f(n++, is_inside ? offset : -1, weight_of(job, p, i, by));
    }
}

template <class C>
static __device__ __forceinline__ C place_sum(const grid_job &job, const tapped<C> &place, int by,
                                              const void *picture, int64_t first) {
    C sum = 0;
    each_tap(job, place, by, [&](int, int64_t at, C weight) {
        sum += weight * (at < 0 ? (C)0 : cuda_load<C>(job.g.dtype, picture, first + at));
    });
    return sum;
}

/* ---- the samples ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS, GRID_BLOCKS(C))
    sample_places(grid_job job, const void *picture, void *to) {
    CUDA_EACH(i, job.places) {
        const cuda_place here = place_seek(job.places, i);
        tapped<C> place;
        place_find(job, here, &place);
        int64_t first = here.at[CUDA_BATCH] * job.picture.step[CUDA_BATCH];
        int64_t target = cuda_planes_at(job.result, here);
        for (int64_t c = 0; c < job.picture.size[CUDA_CHANNEL]; c++) {
            cuda_store(job.g.dtype, to, target, place_sum<C>(job, place, -1, picture, first));
            first += job.picture.step[CUDA_CHANNEL];
            target += job.result.step[CUDA_CHANNEL];
        }
    }
}

/* ---- back to the picture: added up by atomics, as in PyTorch, or by Note [CUDA sums in order] ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS, GRID_BLOCKS(C))
    spread_places(grid_job job, const void *grad, C *sums) {
    const int64_t volume = job.picture.size[2] * job.picture.size[3] * job.picture.size[4];
    CUDA_EACH(i, job.places) {
        const cuda_place here = place_seek(job.places, i);
        tapped<C> place;
        place_find(job, here, &place);
        int64_t from = cuda_planes_at(job.result, here);
        C *plane = sums + cuda_planes_dense_first(job.picture, here);
        for (int64_t c = 0; c < job.picture.size[CUDA_CHANNEL]; c++, plane += volume) {
            const C g = cuda_load<C>(job.g.dtype, grad, from);
            each_tap(job, place, -1, [&](int, int64_t at, C weight) {
                if (at >= 0) atomicAdd(&plane[at], g * weight);
            });
            from += job.result.step[CUDA_CHANNEL];
        }
    }
}

/* The first channel's targets of each place, GRID_MAX of them; all others lie as far behind as their planes.
 */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS, GRID_BLOCKS(C))
    name_places(grid_job job, cuda_keys to, C *weights) {
    CUDA_EACH(i, job.places) {
        const cuda_place here = place_seek(job.places, i);
        tapped<C> place;
        place_find(job, here, &place);
        const int64_t plane = cuda_planes_dense_first(job.picture, here), first = i * GRID_MAX;
        CUDA_ROLLED
        for (int j = 0; j < GRID_MAX; j++) {
            to.key[first + j] = CUDA_NO_TARGET;
            to.order[first + j] = first + j;
        }
        each_tap(job, place, -1, [&](int j, int64_t at, C weight) {
            if (at < 0) return;
            to.key[first + j] = (uint64_t)(plane + at);
            weights[first + j] = weight;
        });
    }
}
template <class C> struct spread_in_order {
    typedef C value_type;
    typedef int64_t column; /* a channel */
    grid_job job;
    int64_t volume;
    const void *grad;
    const C *weight;
    C *sums;
    __device__ column find(int64_t e) const { return e; }
    __device__ C value(int64_t i, column c) const {
        const int64_t at = cuda_planes_at(job.result, place_seek(job.places, i / GRID_MAX));
        return weight[i] * cuda_load<C>(job.g.dtype, grad, at + c * job.result.step[CUDA_CHANNEL]);
    }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void put(uint64_t target, column c, C sum) const { sums[(int64_t)target + c * volume] = sum; }
};

/* ---- back to the grid ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS, 1)
    slope_places(grid_job job, cuda_planes out, const void *picture, const void *grad, void *to) {
    CUDA_EACH(i, job.places) {
        const cuda_place here = place_seek(job.places, i);
        tapped<C> place;
        place_find(job, here, &place);
        CUDA_ROLLED
        for (int d = 0; d < job.g.dims; d++) {
            int64_t first = here.at[CUDA_BATCH] * job.picture.step[CUDA_BATCH];
            int64_t from = cuda_planes_at(job.result, here);
            C sum = 0;
            for (int64_t c = 0; c < job.picture.size[CUDA_CHANNEL]; c++) {
                sum += cuda_load<C>(job.g.dtype, grad, from) * place_sum<C>(job, place, d, picture, first);
                first += job.picture.step[CUDA_CHANNEL];
                from += job.result.step[CUDA_CHANNEL];
            }
            cuda_store(job.g.dtype, to, cuda_planes_at(out, here) + d * out.step[CUDA_CHANNEL], sum);
        }
    }
}

static unsigned blocks_of(const grid_job &job) {
    return cuda_blocks_of(job.places.numel);
}

CUDA_KERNEL(cuda_grid_sampler) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    grid_job job;
    if (!grid_begin(k, &job, x, out, 1, 2)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    cudaStream_t stream = (cudaStream_t)k->stream;
    const void *from = rl_const_data(x);
    void *to = rl_data(out, RL_WRITE);
    if (x->dtype == RL_F64)
        CUDA_LAUNCH(sample_places<double>, blocks_of(job), CUDA_THREADS, stream, job, from, to);
    else
        CUDA_LAUNCH(sample_places<float>, blocks_of(job), CUDA_THREADS, stream, job, from, to);
    return rl_cuda_end(k);
}

template <class C> static rl_status add_in_order(rl_call *k, const grid_job &job, C *sums) {
    const int64_t n = job.places.numel * GRID_MAX, channels = job.picture.size[CUDA_CHANNEL];
    C *weight = (C *)k->svc->scratch(k, RL_COUNT(job.places.numel, GRID_MAX), sizeof *weight);
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    if (!weight || cuda_keys_room(k, room, n) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(name_places<C>, blocks_of(job), CUDA_THREADS, (cudaStream_t)k->stream, job, room[0], weight);
    const spread_in_order<C> f = {job, job.picture.size[2] * job.picture.size[3] * job.picture.size[4],
                                  rl_const_data(rl_in(k, 0)), weight, sums};
    return cuda_order_sort(k, room, n, &sorted) == RL_OK ? cuda_order_join(k, f, sorted, n, channels)
                                                         : RL_FAIL;
}

template <class C> static rl_status spread(rl_call *k, const grid_job &job, void *sums) {
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (job.places.numel && k->svc->deterministic) {
        if (add_in_order(k, job, (C *)sums) != RL_OK) return RL_FAIL;
    } else if (job.places.numel) {
        CUDA_LAUNCH(spread_places<C>, blocks_of(job), CUDA_THREADS, stream, job, rl_const_data(rl_in(k, 0)),
                    (C *)sums);
    }
    CUDA_LAUNCH(cuda_store_sums<C>, cuda_blocks_of(job.picture.numel), CUDA_THREADS, stream, job.picture,
                k->out[0]->dtype, (const C *)sums, rl_data(k->out[0], RL_WRITE));
    return rl_cuda_end(k);
}

/* (grad_output, grid, input_size, ...) */
CUDA_KERNEL(cuda_grid_sampler_input) {
    const rl_view *out = k->out[0];
    const bool wide = out->dtype == RL_F64;
    grid_job job;
    if (!grid_begin(k, &job, out, rl_in(k, 0), 1, 3)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    void *sums = cuda_zeroed(k, out->numel, wide ? sizeof(double) : sizeof(float));
    if (!sums) return RL_FAIL;
    const cuda_planes dense = cuda_planes_dense(&job.picture);
    for (int d = 0; d < 3; d++) job.g.step[d] = dense.step[4 - d];
    return wide ? spread<double>(k, job, sums) : spread<float>(k, job, sums);
}

/* (grad_output, input, grid, ...) */
CUDA_KERNEL(cuda_grid_sampler_grid) {
    const rl_view *grad = rl_in(k, 0), *x = rl_in(k, 1), *out = k->out[0];
    grid_job job;
    cuda_planes to;
    if (!grid_begin(k, &job, x, grad, 2, 3) || !coordinates_of(out, &to)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    cudaStream_t stream = (cudaStream_t)k->stream;
    const void *picture = rl_const_data(x), *from = rl_const_data(grad);
    void *target = rl_data(out, RL_WRITE);
    if (x->dtype == RL_F64)
        CUDA_LAUNCH(slope_places<double>, blocks_of(job), CUDA_THREADS, stream, job, to, picture, from,
                    target);
    else
        CUDA_LAUNCH(slope_places<float>, blocks_of(job), CUDA_THREADS, stream, job, to, picture, from,
                    target);
    return rl_cuda_end(k);
}

/* ==== grids of affine maps: the product of the coordinates of each place, and 1, with a matrix ==== */
typedef struct {
    int dims;
    bool wide, corners;
    int64_t size[3], n_places; /* size: along x, y, z */
    int64_t step[5]; /* of the grid: along x, y, z; from map to map; from coordinate to coordinate */
    double inverse[3], by_places; /* Note [Quotients] */
    int64_t n, row, col;          /* of the matrices */
} affine_job;

static __device__ inline double affine_rounded(const affine_job &job, double x) {
    return job.wide ? x : (double)(float)x;
}

/* -1 to 1: middles of elements, or of the first and the last one; in PyTorch's steps from both ends */
static __device__ double coordinate(const affine_job &job, int64_t n, int64_t i) {
    const double step = n > 1 ? affine_rounded(job, 2 / affine_rounded(job, (double)(n - 1))) : 0;
    const double inner = job.corners ? 1 : (double)(n - 1), outer = job.corners ? 1 : (double)n;
    const double x = n == 1      ? 0
                     : i < n / 2 ? affine_rounded(job, -1 + step * (double)i)
                                 : affine_rounded(job, 1 - step * (double)(n - 1 - i));
    return affine_rounded(job, affine_rounded(job, x * inner) / outer);
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
