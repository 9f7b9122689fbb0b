/* Windows of pooling on the device: which inputs an output sees, and which outputs an input. */
#ifndef RL_CUDA_POOL_H
#define RL_CUDA_POOL_H
#include "contract/window.h"
#include "planes.h"

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
__device__ inline pool_span pool_span_of(const pool_windows &w, int i, int64_t at) {
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
__device__ inline pool_range pool_range_of(const pool_windows &w, int i, int64_t at) {
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

/* The indices of the largest inputs of all windows, where `places` says. */
rl_status cuda_pool_find(rl_call *k, const pool_windows &w, const cuda_planes &places, const rl_view *x,
                         int64_t *indices);
#endif
