/* softmax and log_softmax along one dim, and their gradients. */
#include "cuda/reduce/lines.cuh"
#include <math.h>

enum { SOFTMAX, LOG_SOFTMAX, SAFE_SOFTMAX }; /* safe: 0 where all is -inf */

/* ---- the largest element so far, and the sum of exp(element - largest) ---- */
template <class C> struct softmax_powers {
    C most, sum;
};
template <class C> __device__ C softmax_scaled(const softmax_powers<C> &v, C most) {
    return v.most == most ? v.sum : v.sum * exp(v.most - most); /* equal infinities have no difference */
}
struct softmax_join {
    template <class C>
    __device__ softmax_powers<C> operator()(const softmax_powers<C> &a, const softmax_powers<C> &b) const {
        const C most = a.most > b.most ? a.most : b.most;
        return {most, softmax_scaled(a, most) + softmax_scaled(b, most)};
    }
};
template <class C> __device__ softmax_powers<C> softmax_take(const softmax_powers<C> &v, C x) {
    if (x > v.most) return {x, v.sum * exp(v.most - x) + 1};
    return {v.most, v.sum + (x == v.most ? 1 : exp(x - v.most))};
}

/* operands: the output, the input */
template <class T, class C>
__global__ void __launch_bounds__(LINE_MAX_THREADS)
    softmax_lines(cuda_lines l, T *out, const T *in, int mode) {
    int64_t at[CUDA_LINE_OPS];
    int part;
    const bool is_line = cuda_line_seek(l, at, &part);
    softmax_powers<C> all = {-(C)INFINITY, 0};
    for (int64_t i = part; i < l.n; i += l.per)
        all = softmax_take(all, cuda_cast<C>(in[at[1] + i * l.step[1]]));
    all = cuda_line_join(l, all, softmax_join());
    if (!is_line) return;
    const bool is_empty = mode == SAFE_SOFTMAX && all.most == -(C)INFINITY;
    const C sum = isinf(all.most) ? (C)NAN : all.sum, log_sum = log(sum);
    for (int64_t i = part; i < l.n; i += l.per) {
        const C x = cuda_cast<C>(in[at[1] + i * l.step[1]]) - all.most;
        const C y = is_empty ? 0 : mode == LOG_SOFTMAX ? x - log_sum : exp(x) / sum;
        out[at[0] + i * l.step[0]] = cuda_cast<T>(y);
    }
}

/* operands: the gradient of the input, that of the output, the output */
template <class T, class C>
__global__ void __launch_bounds__(LINE_MAX_THREADS)
    softmax_back_lines(cuda_lines l, T *out, const T *grad, const T *result, int mode) {
    int64_t at[CUDA_LINE_OPS];
    int part;
    const bool is_line = cuda_line_seek(l, at, &part);
    C sum = 0;
    for (int64_t i = part; i < l.n; i += l.per) {
        const C g = cuda_cast<C>(grad[at[1] + i * l.step[1]]);
        sum += mode == LOG_SOFTMAX ? g : g * cuda_cast<C>(result[at[2] + i * l.step[2]]);
    }
    sum = cuda_line_join(l, sum, cuda_sum());
    if (!is_line) return;
    for (int64_t i = part; i < l.n; i += l.per) {
        const C g = cuda_cast<C>(grad[at[1] + i * l.step[1]]),
                y = cuda_cast<C>(result[at[2] + i * l.step[2]]);
        out[at[0] + i * l.step[0]] = cuda_cast<T>(mode == LOG_SOFTMAX ? g - exp(y) * sum : (g - sum) * y);
    }
}

template <class T, class C> static void launch(const rl_call *k, const cuda_lines &l, int mode) {
    cudaStream_t s = (cudaStream_t)k->stream;
    T *out = (T *)rl_data(k->out[0], RL_WRITE);
    const T *in = (const T *)rl_const_data(rl_in(k, 0));
    if (l.iter.nops == 2)
        CUDA_LAUNCH_BLOCKS((softmax_lines<T, C>), l.blocks, l.threads, 0, s, l, out, in, mode);
    else
        CUDA_LAUNCH_BLOCKS((softmax_back_lines<T, C>), l.blocks, l.threads, 0, s, l, out, in,
                           (const T *)rl_const_data(rl_in(k, 1)), mode);
}

/* the arguments from 0 on, as many as `nops` - 1, have the output's dims and dtype */
static rl_status softmax_run(rl_call *k, int nops, int mode) {
    const rl_view *views[CUDA_LINE_OPS] = {k->out[0], rl_in(k, 0), rl_in(k, 1)};
    cuda_lines l;
    for (int op = 1; op < nops; op++)
        if (views[op]->dtype != views[0]->dtype) return RL_UNSUPPORTED;
    if (!cuda_lines_make(&l, views, nops, k->attr[0])) return RL_UNSUPPORTED;
    if (views[0]->numel == 0) return RL_OK;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    switch (views[0]->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: launch<T, Compute>(k, l, mode); break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_softmax) {
    return softmax_run(k, 2, SOFTMAX);
}
CUDA_KERNEL(cuda_safe_softmax) {
    return softmax_run(k, 2, SAFE_SOFTMAX);
}
CUDA_KERNEL(cuda_log_softmax) {
    return softmax_run(k, 2, LOG_SOFTMAX);
}
CUDA_KERNEL(cuda_softmax_backward) {
    return softmax_run(k, 3, SOFTMAX);
}
CUDA_KERNEL(cuda_log_softmax_backward) {
    return softmax_run(k, 3, LOG_SOFTMAX);
}
