/* Lines of tensors along one dim, and how threads share them: softmax, scans. */
#ifndef RL_CUDA_LINES_H
#define RL_CUDA_LINES_H
#include "cuda/block_reduce.cuh"
#include "cuda/device.h"
#include "cuda/strided_iterator.cuh"

/* Note [CUDA lines]
 * `per` threads have a line: one where lines are neighbours in memory, a part of a warp, or a whole block.
 * `iter` finds the first element of line i in each operand, step[] the next elements. */
enum { CUDA_LINE_OPS = 3, LINE_THREADS = 256, LINE_MAX_THREADS = 1024 };
typedef struct {
    cuda_iter iter;
    int64_t n, step[CUDA_LINE_OPS];
    int per;
    unsigned blocks, threads;
} cuda_lines;

/* Operands have the dims of views[0]. false: more dims than a launch carries. */
bool cuda_lines_make(cuda_lines *l, const rl_view *const *views, int nops, int64_t dim);

/* the line of this thread, which stands at `part` in it; those behind the last find the last */
__device__ inline bool cuda_line_seek(const cuda_lines &l, int64_t (&at)[CUDA_LINE_OPS], int *part) {
    const int64_t line = blockIdx.x * (int64_t)(blockDim.x / l.per) + threadIdx.x / l.per;
    const bool is_line = line < l.iter.numel;
    *part = threadIdx.x % l.per;
    cuda_iter_seek(l.iter, is_line ? line : l.iter.numel - 1, at);
    return is_line;
}
/* over the threads of a line: each of them gets the answer */
template <class V, class Join> __device__ V cuda_line_join(const cuda_lines &l, V v, Join join) {
    return l.per > CUDA_WARP ? cuda_block_join(v, join) : cuda_warp_join(v, join, l.per);
}
#endif
