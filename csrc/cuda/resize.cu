/* Resizing by the tables of Note [Taps], which kernels make first; a thread for each element of the result.
 * A gradient reads the tables the other way around: an input gathers from the outputs that it is part of. */
#include "resize.h"
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
__global__ void __launch_bounds__(CUDA_THREADS) turn_taps(rl_resize_dim d, resize_taps t) {
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

rl_status cuda_resize_taps(rl_call *k, int i, resize_taps *t) {
    const rl_resize_dim d = resize_dim(k, i);
    cudaStream_t stream = (cudaStream_t)k->stream;
    *t = resize_taps();
    t->is_turned = rl_resize_of(k)->back != 0;
    if (d.identity) return RL_OK;
    t->most = longest_run(&d);
    t->start = (int64_t *)k->svc->scratch(k, RL_COUNT(d.out), sizeof *t->start);
    t->end = (int64_t *)k->svc->scratch(k, RL_COUNT(d.out), sizeof *t->end);
    t->weight = (double *)k->svc->scratch(k, RL_COUNT(d.out, t->most), sizeof *t->weight);
    if (!t->start || !t->end || !t->weight) return RL_FAIL;
    if (t->is_turned) {
        t->first_of_input = (int64_t *)k->svc->scratch(k, RL_COUNT(d.in), sizeof *t->first_of_input);
        t->end_of_input = (int64_t *)k->svc->scratch(k, RL_COUNT(d.in), sizeof *t->end_of_input);
        if (!t->first_of_input || !t->end_of_input) return RL_FAIL;
    }
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH(make_taps, cuda_blocks_of(d.out), CUDA_THREADS, stream, d, *t);
    if (t->is_turned) CUDA_LAUNCH(turn_taps, cuda_blocks_of(d.in), CUDA_THREADS, stream, d, *t);
    return rl_cuda_end(k);
}

typedef struct {
    int64_t first, end;
} tap_range;
static __device__ inline tap_range taps_of(const resize_taps &t, int64_t i) {
    if (!t.start) return {i, i + 1};
    if (t.is_turned) return {t.first_of_input[i], t.end_of_input[i]};
    return {t.start[i], t.end[i]};
}
static __device__ inline double tap_weight(const resize_taps &t, int64_t i, int64_t j) {
    if (!t.start) return 1;
    return t.is_turned ? t.weight[j * t.most + i - t.start[j]] : t.weight[i * t.most + j - t.start[i]];
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
        if (cuda_resize_taps(k, i, &taps[i]) != RL_OK) return RL_FAIL;
    if (x->dtype == RL_U8 && !copies) return cuda_resize_bytes(k, in, to, taps);
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
