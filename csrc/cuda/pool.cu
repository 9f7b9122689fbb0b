/* Pooling and its gradients: a thread for each window. */
#include "kernel_abi/window.h"
#include "cuda/index/ordered_sum.cuh"
#include "planes.cuh"
#include <math.h>
#include <type_traits>

/* ==== which inputs an output sees, and which outputs an input ==== */
typedef struct {
    cuda_planes in, out; /* the larger side and the pooled one */
    int64_t kernel[3], stride[3], pad[3], dilation[3];
    double by_stride[3]; /* inverses: Note [Quotients] */
    int64_t divisor;
    bool adaptive, count_padding;
} pool_windows;
typedef struct {
    int64_t start, end, full; /* full: as many as there were with padding */
} pool_span;
typedef struct {
    int64_t first, end;
} pool_range;

/* false: dims that no pooling has */
static inline bool pool_windows_read(const rl_call *k, pool_windows *w, const rl_view *in, const rl_view *out,
                                     bool adaptive) {
    const rl_window *a = rl_window_of(k);
    for (int i = 0; i < 3; i++) {
        w->kernel[i] = a->kernel[i];
        w->stride[i] = a->stride[i];
        w->pad[i] = a->before[i];
        w->by_stride[i] = cuda_inverse(a->stride[i]);
        w->dilation[i] = adaptive ? 1 : a->dilation[i];
    }
    w->divisor = adaptive ? 0 : a->divisor;
    w->count_padding = !adaptive && a->count_padding;
    w->adaptive = adaptive;
    return cuda_planes_of(in, (int)a->spatial, &w->in) && cuda_planes_of(out, (int)a->spatial, &w->out);
}

/* of output `at` of space i (0 to 2) */
static __device__ inline pool_span pool_span_of(const pool_windows &w, int i, int64_t at) {
    const int64_t size = w.in.size[CUDA_SPACE + i], out = w.out.size[CUDA_SPACE + i];
    pool_span s;
    if (w.adaptive) {
        s.start = cuda_quotient(at * size, out, w.out.inverse[CUDA_SPACE + i]);
        s.end = 1 + cuda_quotient((at + 1) * size - 1, out, w.out.inverse[CUDA_SPACE + i]);
        s.full = s.end - s.start;
        return s;
    }
    const int64_t dilation = w.dilation[i], start = at * w.stride[i] - w.pad[i];
    const int64_t end = start + (w.kernel[i] - 1) * dilation + 1;
    s.full = (end < size + w.pad[i] ? end : size + w.pad[i]) - start;
    s.start = start;
    while (s.start < 0) s.start += dilation; /* padding is at most half a window */
    s.end = end < size ? end : size;
    return s;
}

/* the outputs that may see input `at` of space i */
static __device__ inline pool_range pool_range_of(const pool_windows &w, int i, int64_t at) {
    const int64_t size = w.in.size[CUDA_SPACE + i], out = w.out.size[CUDA_SPACE + i];
    pool_range r;
    if (w.adaptive) {
        r.first = cuda_quotient(at * out, size, w.in.inverse[CUDA_SPACE + i]);
        r.end = cuda_quotient((at + 1) * out + size - 1, size, w.in.inverse[CUDA_SPACE + i]);
        return r;
    }
    const int64_t from = at + w.pad[i], before = from - (w.kernel[i] - 1) * w.dilation[i];
    const int64_t last = cuda_quotient(from, w.stride[i], w.by_stride[i]);
    r.first = before > 0 ? cuda_quotient(before + w.stride[i] - 1, w.stride[i], w.by_stride[i]) : 0;
    r.end = last + 1 < out ? last + 1 : out;
    return r;
}

/* ==== forward: of the largest NaN wins, and the first of equals ==== */
template <class T, class C> __device__ inline C lowest(void) {
    if constexpr (std::is_same<C, int64_t>::value)
        return (T)-1 > (T)0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2;
    else
        return -(C)INFINITY;
}

/* `to` or `indices` may be NULL */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    max_windows(pool_windows w, cuda_planes places, const T *from, T *to, int64_t *indices) {
    CUDA_EACH(i, w.out) {
        const cuda_place here = cuda_planes_seek(w.out, i);
        const pool_span z = pool_span_of(w, 0, here.at[2]), y = pool_span_of(w, 1, here.at[3]),
                        x = pool_span_of(w, 2, here.at[4]);
        const T *plane = from + cuda_planes_first(w.in, here);
        int64_t place = cuda_planes_number(w.in, z.start, y.start, x.start);
        C most = lowest<T, C>();
        for (int64_t d = z.start; d < z.end; d += w.dilation[0])
            for (int64_t h = y.start; h < y.end; h += w.dilation[1])
                for (int64_t v = x.start; v < x.end; v += w.dilation[2]) {
                    const C found = cuda_cast<C>(plane[cuda_planes_offset(w.in, d, h, v)]);
                    if (!(found > most || found != found)) continue;
                    most = found;
                    place = cuda_planes_number(w.in, d, h, v);
                }
        if (to) to[cuda_planes_at(w.out, here)] = cuda_cast<T>(most);
        if (indices) indices[cuda_planes_at(places, here)] = place;
    }
}

/* `out` gives the windows; the largest and their indices go to memory that may be NULL */
static rl_status find_largest(rl_call *k, const pool_windows &w, const cuda_planes &places, const rl_view *x,
                              void *to, int64_t *indices) {
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    switch (x->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((max_windows<T, C>), cuda_blocks_of(w.out.numel), CUDA_THREADS, (cudaStream_t)k->stream, \
                    w, places, (const T *)rl_const_data(x), (T *)to, indices);                               \
        break;
        CUDA_FLOAT_DTYPES(X)
        CUDA_INT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* The indices of the largest inputs of all windows, where `places` says. */
static rl_status pool_find(rl_call *k, const pool_windows &w, const cuda_planes &places, const rl_view *x,
                           int64_t *indices) {
    return find_largest(k, w, places, x, nullptr, indices);
}

static rl_status max_pool(rl_call *k, bool adaptive) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0], *indices = k->n_out > 1 ? k->out[1] : nullptr;
    pool_windows w;
    cuda_planes places;
    if (!pool_windows_read(k, &w, x, out, adaptive)) return RL_UNSUPPORTED;
    if (!cuda_planes_of(indices ? indices : out, (int)rl_window_of(k)->spatial, &places))
        return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    return find_largest(k, w, places, x, rl_data(out, RL_WRITE),
                        indices ? (int64_t *)rl_data(indices, RL_WRITE) : nullptr);
}

CUDA_KERNEL(cuda_max_pool) {
    return max_pool(k, false);
}
CUDA_KERNEL(cuda_adaptive_max_pool) {
    return max_pool(k, true);
}

/* ---- averages ---- */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS) mean_windows(pool_windows w, const T *from, T *to) {
    CUDA_EACH(i, w.out) {
        const cuda_place here = cuda_planes_seek(w.out, i);
        const pool_span z = pool_span_of(w, 0, here.at[2]), y = pool_span_of(w, 1, here.at[3]),
                        x = pool_span_of(w, 2, here.at[4]);
        const T *plane = from + cuda_planes_first(w.in, here);
        const bool is_empty = z.start >= z.end || y.start >= y.end || x.start >= x.end;
        const int64_t count = (z.end - z.start) * (y.end - y.start) * (x.end - x.start);
        C sum = 0;
        for (int64_t d = z.start; d < z.end; d++)
            for (int64_t h = y.start; h < y.end; h++)
                for (int64_t v = x.start; v < x.end; v++)
                    sum += cuda_cast<C>(plane[cuda_planes_offset(w.in, d, h, v)]);
        const int64_t by = w.divisor ? w.divisor : w.count_padding ? z.full * y.full * x.full : count;
        to[cuda_planes_at(w.out, here)] = cuda_cast<T>(is_empty ? (C)0 : sum / (C)by);
    }
}

static rl_status avg_pool(rl_call *k, bool adaptive) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    pool_windows w;
    if (!pool_windows_read(k, &w, x, out, adaptive)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (x->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((mean_windows<T, C>), cuda_blocks_of(out->numel), CUDA_THREADS, (cudaStream_t)k->stream, \
                    w, (const T *)rl_const_data(x), (T *)rl_data(out, RL_WRITE));                            \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_avg_pool) {
    return avg_pool(k, false);
}
CUDA_KERNEL(cuda_adaptive_avg_pool) {
    return avg_pool(k, true);
}

/* ==== gradients: a thread for each input gathers from the outputs that saw it, in one order ==== */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS, 1)
    gather_largest(pool_windows w, cuda_planes places, const T *grad, const int64_t *indices, T *to) {
    CUDA_EACH(i, w.in) {
        const cuda_place here = cuda_planes_seek(w.in, i);
        const pool_range z = pool_range_of(w, 0, here.at[2]), y = pool_range_of(w, 1, here.at[3]),
                         x = pool_range_of(w, 2, here.at[4]);
        const int64_t own = cuda_planes_number(w.in, here.at[2], here.at[3], here.at[4]);
        const int64_t plane = cuda_planes_first(w.out, here), index = cuda_planes_first(places, here);
        C sum = 0;
        for (int64_t d = z.first; d < z.end; d++)
            for (int64_t h = y.first; h < y.end; h++)
                for (int64_t v = x.first; v < x.end; v++)
                    if (indices[index + cuda_planes_offset(places, d, h, v)] == own)
                        sum += cuda_cast<C>(grad[plane + cuda_planes_offset(w.out, d, h, v)]);
        to[cuda_planes_at(w.in, here)] = cuda_cast<T>(sum);
    }
}

static rl_status max_back(rl_call *k, const pool_windows &w, const cuda_planes &places,
                          const int64_t *indices) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (grad->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((gather_largest<T, C>), cuda_blocks_of(out->numel), CUDA_THREADS,                        \
                    (cudaStream_t)k->stream, w, places, (const T *)rl_const_data(grad), indices,             \
                    (T *)rl_data(out, RL_WRITE));                                                            \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* the maxima are found again */
CUDA_KERNEL(cuda_max_pool_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    pool_windows w;
    if (!pool_windows_read(k, &w, rl_in(k, 1), grad, false)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const cuda_planes places = cuda_planes_dense(&w.out);
    int64_t *indices =
        (int64_t *)k->svc->scratch(k, rl_count_plus(RL_COUNT(grad->numel), 1), sizeof *indices);
    if (!indices) return RL_FAIL;
    if (grad->numel && pool_find(k, w, places, rl_in(k, 1), indices) != RL_OK) return RL_FAIL;
    if (!pool_windows_read(k, &w, out, grad, false)) return RL_UNSUPPORTED;
    return max_back(k, w, places, indices);
}

static rl_status max_indices_back(rl_call *k, const rl_view *indices, bool adaptive) {
    pool_windows w;
    cuda_planes places;
    if (!pool_windows_read(k, &w, k->out[0], rl_in(k, 0), adaptive) ||
        !cuda_planes_of(indices, (int)rl_window_of(k)->spatial, &places))
        return RL_UNSUPPORTED;
    if (k->out[0]->numel == 0) return RL_OK;
    return max_back(k, w, places, (const int64_t *)rl_const_data(indices));
}
CUDA_KERNEL(cuda_max_pool_indices_back) {
    return max_indices_back(k, rl_in(k, 7), false);
}
CUDA_KERNEL(cuda_adaptive_max_pool_back) {
    return max_indices_back(k, rl_in(k, 2), true);
}

/* ---- averages ---- */
static __device__ inline int64_t counted(const pool_windows &w, const pool_span &s) {
    return w.divisor ? 1 : w.count_padding ? s.full : s.end - s.start;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS) gather_means(pool_windows w, const T *grad, T *to) {
    CUDA_EACH(i, w.in) {
        const cuda_place here = cuda_planes_seek(w.in, i);
        const pool_range z = pool_range_of(w, 0, here.at[2]), y = pool_range_of(w, 1, here.at[3]),
                         x = pool_range_of(w, 2, here.at[4]);
        const T *plane = grad + cuda_planes_first(w.out, here);
        C sum = 0;
        for (int64_t d = z.first; d < z.end; d++)
            for (int64_t h = y.first; h < y.end; h++) {
                const int64_t outer = counted(w, pool_span_of(w, 0, d)) * counted(w, pool_span_of(w, 1, h));
                for (int64_t v = x.first; v < x.end; v++)
                    sum += cuda_cast<C>(plane[cuda_planes_offset(w.out, d, h, v)]) /
                           (C)(outer * counted(w, pool_span_of(w, 2, v)));
            }
        to[cuda_planes_at(w.in, here)] = cuda_cast<T>(w.divisor ? sum / (C)w.divisor : sum);
    }
}

static rl_status avg_back(rl_call *k, bool adaptive) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    pool_windows w;
    if (!pool_windows_read(k, &w, out, grad, adaptive)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (grad->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((gather_means<T, C>), cuda_blocks_of(out->numel), CUDA_THREADS, (cudaStream_t)k->stream, \
                    w, (const T *)rl_const_data(grad), (T *)rl_data(out, RL_WRITE));                         \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_avg_pool_back) {
    return avg_back(k, false);
}
CUDA_KERNEL(cuda_adaptive_avg_pool_back) {
    return avg_back(k, true);
}

/* ==== windows that nobody can compute back: unpooling, and windows at random places (Graham, 2014). An
 * index out of range is a fault of the launch ==== */
/* ---- unpooling: of several inputs with one index the last wins, whatever the order of threads ---- */
__global__ void __launch_bounds__(CUDA_THREADS)
    claim_places(cuda_planes in, cuda_planes places, int64_t volume, const int64_t *indices,
                 unsigned long long *winners, unsigned *fault) {
    CUDA_EACH(i, in) {
        const cuda_place here = cuda_planes_seek(in, i);
        const int64_t index = indices[cuda_planes_at(places, here)];
        if (index < 0 || index >= volume) {
            cuda_fault(fault, CUDA_FAULT_INDEX);
            continue;
        }
        const int64_t plane = here.at[CUDA_BATCH] * in.size[CUDA_CHANNEL] + here.at[CUDA_CHANNEL];
        const int64_t number = cuda_planes_number(in, here.at[2], here.at[3], here.at[4]);
        atomicMax(&winners[plane * volume + index], (unsigned long long)number + 1);
    }
}

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    take_winners(cuda_planes in, cuda_planes out, const T *from, const unsigned long long *winners, T *to) {
    const int64_t volume = out.size[2] * out.size[3] * out.size[4];
    CUDA_EACH(i, out) {
        const cuda_place here = cuda_planes_seek(out, i);
        const int64_t plane = here.at[CUDA_BATCH] * out.size[CUDA_CHANNEL] + here.at[CUDA_CHANNEL];
        const int64_t place = cuda_planes_number(out, here.at[2], here.at[3], here.at[4]);
        int64_t number = (int64_t)winners[plane * volume + place] - 1;
        T *target = &to[cuda_planes_at(out, here)];
        *target = 0;
        if (number < 0) continue;
        const int64_t w = cuda_planes_step(in, 4, &number), h = cuda_planes_step(in, 3, &number);
        *target = from[cuda_planes_first(in, here) + cuda_planes_offset(in, number, h, w)];
    }
}

template <class T>
static void launch_unpool(const rl_call *k, const cuda_planes &in, const cuda_planes &out,
                          const unsigned long long *winners) {
    CUDA_LAUNCH((take_winners<T>), cuda_blocks_of(out.numel), CUDA_THREADS, (cudaStream_t)k->stream, in, out,
                (const T *)rl_const_data(rl_in(k, 0)), winners, (T *)rl_data(k->out[0], RL_WRITE));
}

CUDA_KERNEL(cuda_max_unpool) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int spatial = (int)rl_window_of(k)->spatial;
    cuda_planes in, places, to;
    if (!cuda_planes_of(x, spatial, &in) || !cuda_planes_of(rl_in(k, 1), spatial, &places) ||
        !cuda_planes_of(out, spatial, &to))
        return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    unsigned long long *winners = (unsigned long long *)cuda_zeroed(k, out->numel, sizeof *winners);
    unsigned *fault = winners ? rl_cuda_fault(k) : nullptr;
    if (!fault) return RL_FAIL;
    if (x->numel)
        CUDA_LAUNCH(claim_places, cuda_blocks_of(x->numel), CUDA_THREADS, (cudaStream_t)k->stream, in, places,
                    to.size[2] * to.size[3] * to.size[4], (const int64_t *)rl_const_data(rl_in(k, 1)),
                    winners, fault);
    switch (rl_itemsize(x->dtype)) {
    case 2: launch_unpool<uint16_t>(k, in, to, winners); break;
    case 4: launch_unpool<uint32_t>(k, in, to, winners); break;
    default: launch_unpool<uint64_t>(k, in, to, winners); break;
    }
    return rl_cuda_end(k);
}

/* ---- windows at random places ---- */
typedef struct {
    int64_t kernel[3], sample_step[3]; /* of batch, channel, space */
    int spatial;
    cuda_planes in, out, places;
} random_windows;

template <class C> __device__ inline int64_t whole(C x, int64_t most) { /* samples may be anything */
    return x >= (C)most ? most : x > -(C)most ? (int64_t)x : -most;
}

template <class T, class C> __device__ inline C rounded(C x) {
    return cuda_cast<C>(cuda_cast<T>(x));
}

/* where window `at` of space i begins: PyTorch's steps, each rounded as the dtype does */
template <class T, class C>
static __device__ int64_t random_start(const random_windows &w, int i, int64_t at, const T *samples) {
    const int64_t size = w.in.size[CUDA_SPACE + i], n = w.out.size[CUDA_SPACE + i], rest = size - w.kernel[i];
    if (i < 3 - w.spatial) return 0;
    if (at == n - 1) return rest;
    /* the first number is that of the last space, but of volumes that of the first */
    const C sample = cuda_cast<C>(samples[(w.spatial == 2 ? 2 - i : i) * w.sample_step[2]]);
    const C alpha = rounded<T>(rounded<T>((C)rest) / rounded<T>((C)(n - 1)));
    const int64_t first = whole(rounded<T>(sample * alpha), size);
    const C along = rounded<T>(rounded<T>((C)at) + sample);
    const int64_t start = whole(rounded<T>(along * alpha), 2 * size) - first;
    return start < 0 ? 0 : start > rest ? rest : start;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    max_random_windows(random_windows w, const T *from, const T *samples, T *to, int64_t *indices) {
    CUDA_EACH(i, w.out) {
        const cuda_place here = cuda_planes_seek(w.out, i);
        const T *own = samples + here.at[0] * w.sample_step[0] + here.at[1] * w.sample_step[1];
        const T *plane = from + cuda_planes_first(w.in, here);
        int64_t start[3];
        for (int d = 0; d < 3; d++) start[d] = random_start<T, C>(w, d, here.at[CUDA_SPACE + d], own);
        C most = -(C)INFINITY;
        int64_t place = cuda_planes_number(w.in, start[0], start[1], start[2]);
        for (int64_t z = start[0]; z < start[0] + w.kernel[0]; z++)
            for (int64_t y = start[1]; y < start[1] + w.kernel[1]; y++)
                for (int64_t x = start[2]; x < start[2] + w.kernel[2]; x++) {
                    const C found = cuda_cast<C>(plane[cuda_planes_offset(w.in, z, y, x)]);
                    if (!(found > most || found != found)) continue;
                    most = found;
                    place = cuda_planes_number(w.in, z, y, x);
                }
        to[cuda_planes_at(w.out, here)] = cuda_cast<T>(most);
        indices[cuda_planes_at(w.places, here)] = place;
    }
}

CUDA_KERNEL(cuda_fractional_max_pool) {
    const rl_view *x = rl_in(k, 0), *samples = rl_in(k, 3), *out = k->out[0];
    random_windows w;
    w.spatial = (int)rl_window_of(k)->spatial;
    if (samples->dtype != x->dtype || !cuda_planes_of(x, w.spatial, &w.in) ||
        !cuda_planes_of(out, w.spatial, &w.out) || !cuda_planes_of(k->out[1], w.spatial, &w.places))
        return RL_UNSUPPORTED;
    for (int i = 0; i < 3; i++) {
        w.kernel[i] = i < 3 - w.spatial ? 1 : rl_window_of(k)->kernel[i];
        w.sample_step[i] = samples->strides[i];
    }
    if (out->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (x->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((max_random_windows<T, C>), cuda_blocks_of(out->numel), CUDA_THREADS,                    \
                    (cudaStream_t)k->stream, w, (const T *)rl_const_data(x),                                 \
                    (const T *)rl_const_data(samples), (T *)rl_data(out, RL_WRITE),                          \
                    (int64_t *)rl_data(k->out[1], RL_WRITE));                                                \
        break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

/* ---- its gradient: added up by atomics, as in PyTorch, or by Note [CUDA sums in order] ---- */
/* where in planes without gaps a gradient goes; -1: a fault */
static __device__ int64_t target_of(const cuda_planes &grads, const cuda_place &here, int64_t index,
                                    int64_t volume, unsigned *fault) {
    const int64_t plane = here.at[CUDA_BATCH] * grads.size[CUDA_CHANNEL] + here.at[CUDA_CHANNEL];
    if (index >= 0 && index < volume) return plane * volume + index;
    cuda_fault(fault, CUDA_FAULT_INDEX);
    return -1;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    add_gradients(cuda_planes grads, cuda_planes places, int64_t volume, const T *grad,
                  const int64_t *indices, C *sums, unsigned *fault) {
    CUDA_EACH(i, grads) {
        const cuda_place here = cuda_planes_seek(grads, i);
        const int64_t to = target_of(grads, here, indices[cuda_planes_at(places, here)], volume, fault);
        if (to >= 0) atomicAdd(&sums[to], cuda_cast<C>(grad[cuda_planes_at(grads, here)]));
    }
}
__global__ void __launch_bounds__(CUDA_THREADS)
    name_gradients(cuda_planes grads, cuda_planes places, int64_t volume, const int64_t *indices,
                   unsigned *fault, cuda_keys to) {
    CUDA_EACH(i, grads) {
        const cuda_place here = cuda_planes_seek(grads, i);
        const int64_t at = target_of(grads, here, indices[cuda_planes_at(places, here)], volume, fault);
        to.key[i] = at < 0 ? CUDA_NO_TARGET : (uint64_t)at;
        to.order[i] = cuda_planes_at(grads, here);
    }
}

template <class T, class C>
static rl_status launch_gradients(rl_call *k, const cuda_planes &grads, const cuda_planes &places,
                                  const cuda_planes &out, void *sums, unsigned *fault) {
    const int64_t volume = out.size[2] * out.size[3] * out.size[4], n = grads.numel;
    const int64_t *indices = (const int64_t *)rl_const_data(rl_in(k, 4));
    const T *grad = (const T *)rl_const_data(rl_in(k, 0));
    cudaStream_t stream = (cudaStream_t)k->stream;
    cuda_keys room[CUDA_KEY_ROOMS], sorted;
    if (n && k->svc->deterministic) {
        if (cuda_keys_room(k, room, n) != RL_OK) return RL_FAIL;
        CUDA_LAUNCH(name_gradients, cuda_blocks_of(n), CUDA_THREADS, stream, grads, places, volume, indices,
                    fault, room[0]);
        const cuda_order_elements<C> f = {rl_in(k, 0)->dtype, grad, (C *)sums};
        if (cuda_order_sort(k, room, n, &sorted) != RL_OK || cuda_order_join(k, f, sorted, n, 1) != RL_OK)
            return RL_FAIL;
    } else if (n) {
        CUDA_LAUNCH((add_gradients<T, C>), cuda_blocks_of(n), CUDA_THREADS, stream, grads, places, volume,
                    grad, indices, (C *)sums, fault);
    }
    CUDA_LAUNCH(cuda_store_sums<C>, cuda_blocks_of(out.numel), CUDA_THREADS, stream, out, k->out[0]->dtype,
                (const C *)sums, rl_data(k->out[0], RL_WRITE));
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_fractional_max_pool_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const int spatial = (int)rl_window_of(k)->spatial;
    cuda_planes grads, places, to;
    if (!cuda_planes_of(grad, spatial, &grads) || !cuda_planes_of(rl_in(k, 4), spatial, &places) ||
        !cuda_planes_of(out, spatial, &to))
        return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    void *sums = cuda_zeroed(k, out->numel, out->dtype == RL_F64 ? sizeof(double) : sizeof(float));
    unsigned *fault = sums ? rl_cuda_fault(k) : nullptr;
    if (!fault) return RL_FAIL;
    switch (grad->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: return launch_gradients<T, C>(k, grads, places, to, sums, fault);
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}
