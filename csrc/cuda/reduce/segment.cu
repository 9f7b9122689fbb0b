/* Reductions over segments of one dim, and their gradient. attr[0]: the dim, attr[1]: how they join. */
#include "cuda/strided_iterator.cuh"
#include "lines.cuh"
#include <math.h>

enum { SUM, MEAN, PROD, MOST, LEAST };

/* A line is the elements along the dim. Segments come one after the other, `length` each, or begin and end at
 * offsets. Operands of the lines: the output, data, the marks, the gradient, the result. */
enum { OUT, DATA, MARKS, GRAD, RESULT, SEGMENT_OPS };
typedef struct {
    cuda_iter lines;
    int64_t step[SEGMENT_OPS], n, segments;
    int marks_dtype, kind;
    bool is_offsets, is_checked, is_given; /* given: an initial value */
    double initial;
    const void *at[SEGMENT_OPS];
    void *to;
    unsigned *fault;
} segment_job;

template <class T, class C> struct segment_line {
    const segment_job &j;
    int64_t at[SEGMENT_OPS], first, n;
    __device__ int64_t mark(int64_t i) const {
        return cuda_load<int64_t>(j.marks_dtype, j.at[MARKS], at[MARKS] + i * j.step[MARKS]);
    }
    __device__ C load(int op, int64_t i) const {
        return cuda_cast<C>(((const T *)j.at[op])[at[op] + i * j.step[op]]);
    }
    __device__ void store(int64_t i, C x) const { ((T *)j.to)[at[OUT] + i * j.step[OUT]] = cuda_cast<T>(x); }
    /* lengths must cover the line: what the CPU refuses is a fault, and next() keeps to the line */
    __device__ void check() const {
        int64_t rest = j.n;
        CUDA_ROLLED
        for (int64_t i = 0; i < j.segments && rest >= 0; i++) {
            const int64_t length = mark(i);
            rest = (uint64_t)length > (uint64_t)rest ? -1 : rest - length;
        }
        if (rest) cuda_fault(j.fault, CUDA_FAULT_VALUE);
    }
    __device__ void next(int64_t i) {
        first = j.is_offsets ? mark(i) : first + n;
        first = first < 0 ? 0 : first > j.n ? j.n : first;
        n = j.is_offsets ? mark(i + 1) - first : mark(i);
        n = n < 0 ? 0 : n > j.n - first ? j.n - first : n;
    }
    __device__ C join(C a, C x) const {
        switch (j.kind) {
        case PROD: return a * x;
        case MOST: return a != a || a > x ? a : x;
        case LEAST: return a != a || a < x ? a : x;
        default: return a + x;
        }
    }
    __device__ C fold() const {
        C all = j.is_given        ? (C)j.initial
                : j.kind == PROD  ? 1
                : j.kind == MOST  ? -(C)INFINITY
                : j.kind == LEAST ? (C)INFINITY
                                  : 0;
        CUDA_ROLLED
        for (int64_t i = 0; i < n; i++) all = join(all, load(DATA, first + i));
        return all;
    }
    __device__ C gemm_without(int64_t skip) const {
        C all = j.is_given ? (C)j.initial : 1;
        for (int64_t i = 0; i < n; i++) all *= i == skip ? 1 : load(DATA, first + i);
        return all;
    }
    __device__ C answer() const {
        const C all = fold();
        if (j.kind != MEAN || (!n && j.is_given)) return all;
        return n ? all / (C)n : (C)NAN;
    }
    __device__ C extremes(C result) const {
        C count = 0;
        for (int64_t i = 0; i < n; i++) {
            const C x = load(DATA, first + i);
            count += x != x || x == result;
        }
        return count;
    }
    __device__ C slope(int64_t i, C grad, C result, C share) const {
        const C x = load(DATA, first + i);
        switch (j.kind) {
        case MEAN: return grad / (C)n;
        case PROD: return grad * (x == 0 || x != x ? gemm_without(i) : result / x);
        case MOST:
        case LEAST: return x != x || x == result ? grad / share : 0;
        default: return grad;
        }
    }
};

template <class T, class C> __device__ segment_line<T, C> segment_seek(const segment_job &j, int64_t line) {
    segment_line<T, C> s = {j, {}, 0, 0};
    cuda_iter_seek(j.lines, line, s.at);
    return s;
}

template <class T, class C> __global__ void __launch_bounds__(CUDA_THREADS) segment_values(segment_job j) {
    CUDA_EACH(line, j.lines) {
        segment_line<T, C> s = segment_seek<T, C>(j, line);
        for (int64_t i = 0; i < j.segments; i++) {
            s.next(i);
            s.store(i, s.answer());
        }
    }
}
template <class T, class C> __global__ void __launch_bounds__(CUDA_THREADS) check_segments(segment_job j) {
    CUDA_EACH(line, j.lines) segment_seek<T, C>(j, line).check();
}
template <class T, class C> __global__ void __launch_bounds__(CUDA_THREADS) segment_slopes(segment_job j) {
    CUDA_EACH(line, j.lines) {
        segment_line<T, C> s = segment_seek<T, C>(j, line);
        for (int64_t i = 0; i < j.n; i++) s.store(i, 0);
        for (int64_t i = 0; i < j.segments; i++) {
            s.next(i);
            const C grad = s.load(GRAD, i), result = s.load(RESULT, i), share = s.extremes(result);
            for (int64_t e = 0; e < s.n; e++) s.store(s.first + e, s.slope(e, grad, result, share));
        }
    }
}

template <class T, class C> static void segment_launch(const rl_call *k, const segment_job &j) {
    cudaStream_t s = (cudaStream_t)k->stream;
    if (j.is_checked) CUDA_LAUNCH((check_segments<T, C>), cuda_iter_blocks(&j.lines), CUDA_THREADS, s, j);
    if (j.lines.nops > MARKS + 1)
        CUDA_LAUNCH((segment_slopes<T, C>), cuda_iter_blocks(&j.lines), CUDA_THREADS, s, j);
    else
        CUDA_LAUNCH((segment_values<T, C>), cuda_iter_blocks(&j.lines), CUDA_THREADS, s, j);
}

/* marks have as many dims as lead to their last, which is the dim of the lines */
static rl_status segment_run(rl_call *k, segment_job *j, const rl_view *const *views, int nops, int initial) {
    const int64_t dim = k->attr[0];
    const uint64_t others = ~((uint64_t)1 << dim);
    const rl_view *out = views[OUT];
    cuda_subview lead[SEGMENT_OPS];
    const rl_view *leads[SEGMENT_OPS];
    if (out->numel == 0) return RL_OK;
    for (int op = 0; op < nops; op++) {
        const rl_view *v = views[op];
        cuda_subview own;
        cuda_subview_pick(&own, v, others);
        cuda_subview_pick(&lead[op], out, others);
        for (int d = 0; d < lead[op].view.ndim; d++)
            lead[op].strides[d] = d < own.view.ndim ? own.strides[d] : 0;
        leads[op] = &lead[op].view;
        j->step[op] = v->strides[dim];
        j->at[op] = op == OUT ? nullptr : rl_const_data(v);
    }
    if (!cuda_iter_make(&j->lines, leads, nops)) return RL_UNSUPPORTED;
    j->to = rl_data(out, RL_WRITE);
    j->n = views[DATA]->shape[dim];
    j->segments = views[MARKS]->shape[dim] - j->is_offsets;
    j->marks_dtype = views[MARKS]->dtype;
    j->kind = (int)k->attr[1];
    j->is_given = k->arg[initial].tag != RL_NONE;
    j->initial = j->is_given ? rl_num(k, initial) : 0;
    if (rl_cuda_begin(k, out) != RL_OK || !(j->fault = rl_cuda_fault(k))) return RL_FAIL;
    switch (out->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: segment_launch<T, Compute>(k, *j); break;
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_segment_reduce) {
    const rl_view *offsets = rl_in(k, 4),
                  *views[] = {k->out[0], rl_in(k, 0), offsets ? offsets : rl_in(k, 2)};
    segment_job j = {};
    j.is_offsets = offsets != nullptr;
    j.is_checked = !offsets && !rl_int(k, 6);
    return segment_run(k, &j, views, MARKS + 1, 7);
}
CUDA_KERNEL(cuda_segment_reduce_backward) {
    const rl_view *offsets = rl_in(k, 5);
    const rl_view *views[] = {k->out[0], rl_in(k, 2), offsets ? offsets : rl_in(k, 4), rl_in(k, 0),
                              rl_in(k, 1)};
    segment_job j = {};
    j.is_offsets = offsets != nullptr;
    return segment_run(k, &j, views, SEGMENT_OPS, 7);
}
