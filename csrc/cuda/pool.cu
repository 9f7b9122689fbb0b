/* Pooling: a thread for each window. Of the largest NaN wins, and the first of equals. */
#include "pool.h"
#include <math.h>
#include <type_traits>

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

rl_status cuda_pool_find(rl_call *k, const pool_windows &w, const cuda_planes &places, const rl_view *x,
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
