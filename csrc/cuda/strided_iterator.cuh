/* The base of elementwise cuda_ kernels: a strided, broadcasting iterator that fits into launch arguments,
 * and operands of any dtype, in device memory or as numbers. */
#ifndef RL_CUDA_STRIDED_ITERATOR_H
#define RL_CUDA_STRIDED_ITERATOR_H
#include "kernel_abi/kernel.h"
#include "types.cuh"

/* Note [CUDA strided iterators]
 * Operand 0 gives the dims, the others stretch to it with step 0; sizes of 1 go and neighbours that all
 * operands step through evenly become one. Thread i visits element i:
 *
 *     size  [ outer ... inner ]     step[op]  [ elements, one row for each operand ]
 *
 * `is_flat`: one strip, in which operand 0 has step 1 and the others 1 or 0, so that the offset is i or 0.
 * `is_narrow`: every offset, and i with what a loop adds to it, stay below cuda_index_limit(), so that 32
 * bits do. */
enum { CUDA_OPS = 6, CUDA_DIMS = 16, CUDA_THREADS = 256, CUDA_BLOCKS = 65535 };
typedef struct {
    int ndim, nops;
    bool is_flat, is_narrow;
    int64_t numel, size[CUDA_DIMS], step[CUDA_OPS][CUDA_DIMS];
} cuda_iter;

/* Element i is that of operand 0, row by row. A view that is NULL has step 0. false: more dims than a launch
 * carries. */
bool cuda_iter_make(cuda_iter *w, const rl_view *const *views, int nops);
/* ... or in the order of operand 0's memory, for what is the same wherever an element stands */
bool cuda_iter_make_along(cuda_iter *w, const rl_view *const *views, int nops);
/* May two elements of operand `op` be one? Not where each step goes beyond all that smaller ones reach. */
bool cuda_iter_meets(const cuda_iter *w, int op);
/* 2^31, or what rl_cuda_index_limit was told: tests take large tensors' way with small ones */
int64_t cuda_index_limit(void);

/* blocks for n threads of work, each of which may come again */
static inline unsigned cuda_blocks_of(int64_t n) {
    int64_t blocks = (n + CUDA_THREADS - 1) / CUDA_THREADS;
    return blocks < CUDA_BLOCKS ? (unsigned)blocks : (unsigned)CUDA_BLOCKS;
}
/* blocks for n pieces of work, each of which takes a whole block, which may come again; where tests lowered
 * the limit two do all: the memory that a block shares is then used by several pieces */
static inline unsigned cuda_blocks_each(int64_t n) {
    const int64_t most = cuda_index_limit() > CUDA_BLOCKS ? (int64_t)CUDA_BLOCKS : 2;
    return (unsigned)(n < most ? n : most);
}
static inline unsigned cuda_iter_blocks(const cuda_iter *w) {
    return cuda_blocks_of(w->numel);
}

/* for each i of this thread below n */
#define CUDA_EACH_OF(i, n)                                                                                   \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (n);                                \
         i += (int64_t)gridDim.x * blockDim.x)
#define CUDA_EACH(i, w) CUDA_EACH_OF(i, (w).numel)

template <class Index, int N>
__device__ void cuda_iter_seek_as(const cuda_iter &w, Index i, int64_t (&offset)[N]) {
    Index at[N] = {0};
    CUDA_ROLLED
    for (int d = w.ndim - 1; d >= 0; d--) {
        const Index rest = i / (Index)w.size[d], here = i - rest * (Index)w.size[d];
        CUDA_UNROLL
        for (int op = 0; op < N; op++) at[op] += here * (Index)w.step[op][d];
        i = rest;
    }
    CUDA_UNROLL
    for (int op = 0; op < N; op++) offset[op] = (int64_t)at[op];
}
/* where element i of the first N operands lies */
template <int N> __device__ void cuda_iter_seek(const cuda_iter &w, int64_t i, int64_t (&offset)[N]) {
    if (w.is_flat) {
        CUDA_UNROLL
        for (int op = 0; op < N; op++) offset[op] = i * w.step[op][0];
    } else if (w.is_narrow) {
        cuda_iter_seek_as(w, (uint32_t)i, offset);
    } else {
        cuda_iter_seek_as(w, (uint64_t)i, offset);
    }
}

/* ---- operands that are read ---- */
template <class C> struct cuda_operand {
    const void *at; /* NULL: it is the number */
    int dtype;
    C number;
};
template <class C> __device__ C cuda_read(const cuda_operand<C> &x, int64_t i) {
    return x.at ? cuda_load<C>(x.dtype, x.at, i) : x.number;
}
/* May kernels on `out` read v: is it there, or one number on the CPU? */
bool cuda_can_read(const rl_view *out, const rl_view *v);
/* one element in the CPU's memory */
void cuda_number_get(const rl_view *v, double *x);
void cuda_number_get(const rl_view *v, float *x);
void cuda_number_get(const rl_view *v, int64_t *x);
/* x as an element of dtype would keep it */
double cuda_number_as(int dtype, double x);
/* A number argument or a 0-dim tensor on the CPU, as one element of dtype keeps it: *d of a float, *i of an
 * integer. PyTorch's text when it does not fit. */
rl_status cuda_number_of(rl_call *k, int arg, int dtype, double *d, int64_t *i);

template <class C> static inline cuda_operand<C> cuda_operand_of(const rl_view *v) {
    cuda_operand<C> x = {nullptr, v->dtype, 0};
    if (v->device == RL_CPU)
        cuda_number_get(v, &x.number);
    else
        x.at = rl_const_data(v);
    return x;
}

/* ==== views that a kernel walks beside those of its call: with fewer dims, or shared along some ==== */
typedef struct {
    rl_view view; /* its arrays are these: never copy the struct */
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
} cuda_subview;

/* v with arrays that may be changed */
void cuda_subview_copy(cuda_subview *d, const rl_view *v);
/* the dims of v that are in the mask */
void cuda_subview_pick(cuda_subview *d, const rl_view *v, uint64_t mask);
/* the dims of `like`, those in the mask by those of v, the others shared; sizes of 1 stretch */
void cuda_subview_spread(cuda_subview *d, const rl_view *v, const rl_view *like, uint64_t mask);
/* the dims of `like`, where an element's offset is its number among those of the mask, row by row */
void cuda_subview_number(cuda_subview *d, const rl_view *like, uint64_t mask);
/* the dim becomes two, the outer one of `outer` steps */
void cuda_subview_split(cuda_subview *d, int dim, int64_t outer);
#endif
