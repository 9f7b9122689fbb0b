/* Resizing by the tables of Note [Taps], which kernels make first; a thread for each element of the result.
 * A gradient reads the tables the other way around: an input gathers from the outputs that it is part of. */
#include "block_reduce.cuh"
#include "planes.cuh"
#include <math.h>

/* Of one dim: Note [Taps]. Output i is made of the inputs start[i] to end[i], weight + i * most says how much
 * of each; where the table is turned around for a gradient, input i is part of the outputs first_of_input[i]
 * to end_of_input[i]. Without start: the dim stays as it is. */
typedef struct {
    int64_t *start, *end, *first_of_input, *end_of_input, most;
    double *weight;
    bool is_transposed;
} resize_taps;

#define RESIZE_TARGET __host__ __device__ inline
#include "kernels/shared/resize_impl.inc"

__global__ void __launch_bounds__(CUDA_THREADS) make_taps(rl_resize_dim d, resize_taps t) {
    CUDA_EACH_OF(i, d.out) {
        rl_resize_run r = run_of(&d, i);
        if (r.count > t.most) r.count = t.most;
        weigh(&d, &r, t.weight + i * t.most);
        t.start[i] = r.start < d.in ? r.start : d.in - 1;
        t.end[i] = t.start[i] + r.count;
    }
}

/* the first output whose run begins behind input `at`, or ends there */
static __device__ inline int64_t first_behind(const int64_t *bound, int64_t n, int64_t at) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (bound[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Starts and ends of runs never go back, so that the outputs of an input element are a run, too. */
__global__ void __launch_bounds__(CUDA_THREADS) transpose_taps(rl_resize_dim d, resize_taps t) {
    CUDA_EACH_OF(at, d.in) {
        t.first_of_input[at] = first_behind(t.end, d.out, at);
        t.end_of_input[at] = first_behind(t.start, d.out, at);
    }
}

static int64_t longest_run(const rl_resize_dim *d) {
    if (d->mode <= RL_RESIZE_CUBIC) return d->mode == RL_RESIZE_CUBIC ? 4 : 2;
    const double most = 2 * reach_of(d) + 8; /* and what sums of large numbers lose */
    return most < (double)d->in ? (int64_t)most : d->in;
}

/* of depth, height or width (0 to 2), in the order of the call's stream */
static rl_status resize_taps_make(rl_call *k, int i, resize_taps *t) {
    const rl_resize_dim d = resize_dim(k, i);
    cudaStream_t stream = (cudaStream_t)k->stream;
    *t = resize_taps();
    t->is_transposed = rl_resize_of(k)->back != 0;
    if (d.identity) return RL_OK;
    t->most = longest_run(&d);
    t->start = (int64_t *)k->svc->scratch(k, RL_COUNT(d.out), sizeof *t->start);
    t->end = (int64_t *)k->svc->scratch(k, RL_COUNT(d.out), sizeof *t->end);
    t->weight = (double *)k->svc->scratch(k, RL_COUNT(d.out, t->most), sizeof *t->weight);
    if (!t->start || !t->end || !t->weight) return RL_FAIL;
    if (t->is_transposed) {
        t->first_of_input = (int64_t *)k->svc->scratch(k, RL_COUNT(d.in), sizeof *t->first_of_input);
        t->end_of_input = (int64_t *)k->svc->scratch(k, RL_COUNT(d.in), sizeof *t->end_of_input);
        if (!t->first_of_input || !t->end_of_input) return RL_FAIL;
    }
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(make_taps, cuda_blocks_of(d.out), CUDA_THREADS, stream, d, *t);
    if (t->is_transposed) CUDA_LAUNCH(transpose_taps, cuda_blocks_of(d.in), CUDA_THREADS, stream, d, *t);
    return rl_cuda_end(k);
}

typedef struct {
    int64_t first, end;
} tap_range;
static __device__ inline tap_range taps_of(const resize_taps &t, int64_t i) {
    if (!t.start) return {i, i + 1};
    if (t.is_transposed) return {t.first_of_input[i], t.end_of_input[i]};
    return {t.start[i], t.end[i]};
}
static __device__ inline double tap_weight(const resize_taps &t, int64_t i, int64_t j) {
    if (!t.start) return 1;
    return t.is_transposed ? t.weight[j * t.most + i - t.start[j]] : t.weight[i * t.most + j - t.start[i]];
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    sum_taps(cuda_planes in, cuda_planes out, resize_taps deep, resize_taps high, resize_taps wide,
             const T *from, T *to) {
    CUDA_EACH(i, out) {
        const cuda_place here = cuda_planes_seek(out, i);
        const T *plane = from + cuda_planes_first(in, here);
        const tap_range z = taps_of(deep, here.at[2]), y = taps_of(high, here.at[3]),
                        x = taps_of(wide, here.at[4]);
        C sum = -(C)0; /* to which any number adds without losing the sign of a zero */
        for (int64_t d = z.first; d < z.end; d++)
            for (int64_t h = y.first; h < y.end; h++) {
                const C outer = (C)tap_weight(deep, here.at[2], d) * (C)tap_weight(high, here.at[3], h);
                for (int64_t w = x.first; w < x.end; w++)
                    sum += outer * (C)tap_weight(wide, here.at[4], w) *
                           cuda_cast<C>(plane[cuda_planes_offset(in, d, h, w)]);
            }
        to[cuda_planes_at(out, here)] = cuda_cast<T>(sum);
    }
}

/* of the nearest: each output is one input */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    take_nearest(cuda_planes in, cuda_planes out, resize_taps deep, resize_taps high, resize_taps wide,
                 const T *from, T *to) {
    CUDA_EACH(i, out) {
        const cuda_place here = cuda_planes_seek(out, i);
        const int64_t d = taps_of(deep, here.at[2]).first, h = taps_of(high, here.at[3]).first;
        to[cuda_planes_at(out, here)] =
            from[cuda_planes_first(in, here) + cuda_planes_offset(in, d, h, taps_of(wide, here.at[4]).first)];
    }
}

/* ==== filters over bytes, in integers as PyTorch has them: weights of 16 bits, rows before columns, bytes in
 * between ==== */
typedef struct {
    int16_t *weight; /* as the table's; NULL: the dim stays as it is */
    int *shift;
} byte_taps;

static __device__ inline double largest_weight(const resize_taps &t, int64_t out) {
    double most = 0;
    for (int64_t i = threadIdx.x; i < out; i += blockDim.x)
        for (int64_t j = 0; j < t.end[i] - t.start[i]; j++)
            most = t.weight[i * t.most + j] > most ? t.weight[i * t.most + j] : most;
    return cuda_block_join(most, cuda_largest());
}

/* as many bits as the largest weight leaves */
__global__ void __launch_bounds__(CUDA_THREADS) round_weights(resize_taps t, int64_t out, byte_taps to) {
    const double most = largest_weight(t, out);
    int shift = 0;
    while (shift < 22 && 0.5 + ldexp(most, shift + 1) < 1 << 15) shift++;
    if (threadIdx.x == 0) *to.shift = shift;
    for (int64_t i = threadIdx.x; i < out; i += blockDim.x)
        for (int64_t j = 0; j < t.end[i] - t.start[i]; j++)
            to.weight[i * t.most + j] = (int16_t)round(ldexp(t.weight[i * t.most + j], shift));
}

static rl_status byte_taps_make(rl_call *k, const resize_taps &t, int64_t out, byte_taps *to) {
    *to = byte_taps();
    if (!t.start) return RL_OK;
    to->weight = (int16_t *)k->svc->scratch(k, RL_COUNT(out, t.most), sizeof *to->weight);
    to->shift = (int *)k->svc->scratch(k, RL_COUNT(1), sizeof *to->shift);
    if (!to->weight || !to->shift || rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH_BLOCKS(round_weights, 1, CUDA_THREADS, 0, (cudaStream_t)k->stream, t, out, *to);
    return rl_cuda_end(k);
}

__global__ void __launch_bounds__(CUDA_THREADS)
    filter_bytes(cuda_planes in, cuda_planes out, int dim, resize_taps t, byte_taps bytes,
                 const uint8_t *from, uint8_t *to) {
    CUDA_EACH(i, out) {
        cuda_place here = cuda_planes_seek(out, i);
        uint8_t *target = &to[cuda_planes_at(out, here)];
        const int64_t at = here.at[dim];
        if (!bytes.weight) {
            *target = from[cuda_planes_at(in, here)];
            continue;
        }
        here.at[dim] = t.start[at];
        const uint8_t *x = &from[cuda_planes_at(in, here)];
        const int16_t *weight = bytes.weight + at * t.most;
        int32_t sum = 1 << *bytes.shift >> 1;
        for (int64_t j = 0; j < t.end[at] - t.start[at]; j++) sum += weight[j] * x[j * in.step[dim]];
        sum >>= *bytes.shift;
        *target = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

static rl_status resize_bytes(rl_call *k, const cuda_planes &in, const cuda_planes &out,
                              const resize_taps taps[3]) {
    const int high = 3, wide = 4;
    cuda_planes rows = in;
    byte_taps along_row, along_column;
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (taps[0].start || taps[1].is_transposed) return RL_UNSUPPORTED; /* pictures alone have bytes */
    rows.size[wide] = out.size[wide];
    rows = cuda_planes_dense(&rows);
    rows.numel = in.numel / in.size[wide] * out.size[wide];
    uint8_t *between = (uint8_t *)k->svc->scratch(k, RL_COUNT(rows.numel), 1);
    if (!between || byte_taps_make(k, taps[2], out.size[wide], &along_row) != RL_OK ||
        byte_taps_make(k, taps[1], out.size[high], &along_column) != RL_OK)
        return RL_FAIL;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(filter_bytes, cuda_blocks_of(rows.numel), CUDA_THREADS, stream, in, rows, wide, taps[2],
                along_row, (const uint8_t *)rl_const_data(rl_in(k, 0)), between);
    CUDA_LAUNCH(filter_bytes, cuda_blocks_of(out.numel), CUDA_THREADS, stream, rows, out, high, taps[1],
                along_column, (const uint8_t *)between, (uint8_t *)rl_data(k->out[0], RL_WRITE));
    return rl_cuda_end(k);
}

/* ==== the operator ==== */
CUDA_KERNEL(cuda_resize) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const rl_resize *r = rl_resize_of(k);
    const bool copies = r->mode <= RL_RESIZE_EXACT && !r->back;
    cuda_planes in, to;
    resize_taps taps[3];
    if (!cuda_planes_of(x, (int)r->spatial, &in) || !cuda_planes_of(out, (int)r->spatial, &to))
        return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    for (int i = 0; i < 3; i++)
        if (resize_taps_make(k, i, &taps[i]) != RL_OK) return RL_FAIL;
    if (x->dtype == RL_U8 && !copies) return resize_bytes(k, in, to, taps);
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
#define LAUNCH(kernel, T)                                                                                    \
    CUDA_LAUNCH(kernel, cuda_blocks_of(out->numel), CUDA_THREADS, (cudaStream_t)k->stream, in, to, taps[0],  \
                taps[1], taps[2], (const T *)rl_const_data(x), (T *)rl_data(out, RL_WRITE))
    if (copies) {
        switch (rl_itemsize(x->dtype)) {
        case 1: LAUNCH((take_nearest<uint8_t>), uint8_t); break;
        case 2: LAUNCH((take_nearest<uint16_t>), uint16_t); break;
        case 4: LAUNCH((take_nearest<uint32_t>), uint32_t); break;
        default: LAUNCH((take_nearest<uint64_t>), uint64_t); break;
        }
        return rl_cuda_end(k);
    }
    switch (x->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: LAUNCH((sum_taps<T, C>), T); break;
        CUDA_FLOAT_DTYPES(X)
#undef X
#undef LAUNCH
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
