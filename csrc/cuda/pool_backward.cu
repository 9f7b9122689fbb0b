/* Gradients of pooling: a thread for each input gathers from the outputs that saw it, in one order. */
#include "pool.h"

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
    if (grad->numel && cuda_pool_find(k, w, places, rl_in(k, 1), indices) != RL_OK) return RL_FAIL;
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
