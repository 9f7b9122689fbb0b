/* Cross products of vectors of three elements, and norms of vectors of any order. */
#include "cuda/reduce/reduce.cuh"
#include "device.h"
#include "strided_iterator.cuh"
#include <math.h>

/* ==== cross products ==== */
enum { RESULT, LEFT, RIGHT, OPERANDS };

/* The walk finds the first elements; `along` leads to the other two. */
struct cross_job {
    cuda_iter iter;
    void *result;
    const void *left, *right;
    int dtype[OPERANDS];
    int64_t along[OPERANDS];
};

template <class C>
static __device__ void cross_read(const cross_job &j, int op, const void *from, int64_t at, C (&v)[3]) {
    CUDA_UNROLL
    for (int i = 0; i < 3; i++) v[i] = cuda_load<C>(j.dtype[op], from, at + i * j.along[op]);
}

template <class C> static __device__ C cross_minor(C a, C b, C c, C d) {
    return a * b - c * d;
}
static __device__ int64_t cross_minor(int64_t a, int64_t b, int64_t c, int64_t d) {
    return (int64_t)((uint64_t)a * (uint64_t)b - (uint64_t)c * (uint64_t)d);
}

template <class C> __global__ void __launch_bounds__(CUDA_THREADS) cross_each(cross_job j) {
    CUDA_EACH(i, j.iter) {
        int64_t at[OPERANDS];
        C a[3], b[3];
        cuda_iter_seek(j.iter, i, at);
        cross_read(j, LEFT, j.left, at[LEFT], a);
        cross_read(j, RIGHT, j.right, at[RIGHT], b);
        CUDA_UNROLL
        for (int n = 0; n < 3; n++) {
            const int next = (n + 1) % 3, last = (n + 2) % 3;
            cuda_store(j.dtype[RESULT], j.result, at[RESULT] + n * j.along[RESULT],
                       cross_minor(a[next], b[last], a[last], b[next]));
        }
    }
}

CUDA_KERNEL(cuda_linalg_cross) {
    const rl_view *of[OPERANDS] = {k->out[0], rl_in(k, 0), rl_in(k, 1)}, *firsts[OPERANDS];
    cuda_subview first[OPERANDS];
    cross_job j = {};
    for (int op = 0; op < OPERANDS; op++) {
        cuda_subview_pick(&first[op], of[op], ~((uint64_t)1 << k->attr[0]));
        firsts[op] = &first[op].view;
        j.dtype[op] = of[op]->dtype;
        j.along[op] = of[op]->strides[k->attr[0]];
    }
    if (!cuda_iter_make_along(&j.iter, firsts, OPERANDS)) return RL_UNSUPPORTED;
    if (j.iter.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, of[RESULT]) != RL_OK) return RL_FAIL;
    j.result = rl_data(of[RESULT], RL_WRITE);
    j.left = rl_const_data(of[LEFT]);
    j.right = rl_const_data(of[RIGHT]);
    const unsigned blocks = cuda_iter_blocks(&j.iter);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (cuda_computes_in<float>(of[RESULT]->dtype))
        CUDA_LAUNCH(cross_each<float>, blocks, CUDA_THREADS, stream, j);
    else if (cuda_computes_in<double>(of[RESULT]->dtype))
        CUDA_LAUNCH(cross_each<double>, blocks, CUDA_THREADS, stream, j);
    else
        CUDA_LAUNCH(cross_each<int64_t>, blocks, CUDA_THREADS, stream, j);
    return rl_cuda_end(k);
}

/* ==== norms ==== */
enum { COUNT, SUM, SQUARES, MOST, LEAST };
template <class C> struct order_fold {
    typedef C value_type, number_type;
    int op, dtype;
    void *to;
    static order_fold make(rl_call *k, int64_t, int op) {
        return {op, k->out[0]->dtype, rl_data(k->out[0], RL_WRITE)};
    }
    __device__ C start() const { return op == LEAST ? (C)INFINITY : 0; }
    __device__ C take(C v, C x, int64_t) const {
        return join(v, op == COUNT ? x != 0 : op == SQUARES ? x * x : fabs(x));
    }
    __device__ C join(C a, C b) const {
        return op == MOST ? cuda_largest()(a, b) : op == LEAST ? cuda_smallest()(a, b) : a + b;
    }
    __device__ void store(int64_t at, C v) const { cuda_store(dtype, to, at, op == SQUARES ? sqrt(v) : v); }
};
template <class C> struct power_fold { /* of any other order */
    typedef C value_type;
    enum { OPERANDS = 1 }; /* one at a time: several powers cost registers */
    int from_dtype, dtype;
    const void *from;
    void *to;
    C order;
    static power_fold make(rl_call *k, int64_t, double order) {
        return {rl_in(k, 0)->dtype, k->out[0]->dtype, rl_const_data(rl_in(k, 0)),
                rl_data(k->out[0], RL_WRITE), (C)order};
    }
    __device__ C start() const { return 0; }
    __device__ C value(const int64_t (&at)[1]) const {
        return pow(fabs(cuda_load<C>(from_dtype, from, at[0])), order);
    }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void store(int64_t at, C v) const { cuda_store(dtype, to, at, pow(v, 1 / order)); }
};

CUDA_KERNEL(cuda_vector_norm) {
    const int tag = k->arg[1].tag;
    const double order = tag == RL_NONE || tag == RL_STRING ? 2 : rl_num(k, 1);
    const int op = order == 0           ? COUNT
                   : order == 1         ? SUM
                   : order == 2         ? SQUARES
                   : order == INFINITY  ? MOST
                   : order == -INFINITY ? LEAST
                                        : -1;
    return op < 0 ? cuda_reduce_floats<power_fold>(k, order) : cuda_reduce_floats<order_fold>(k, op);
}
