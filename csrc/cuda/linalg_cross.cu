/* Cross products of vectors of three elements. */
#include "device.h"
#include "dims.h"
#include "walk.h"

enum { RESULT, LEFT, RIGHT, OPERANDS };

/* The walk finds the first elements; `along` leads to the other two. */
struct cross_job {
    cuda_walk walk;
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
    CUDA_EACH(i, j.walk) {
        int64_t at[OPERANDS];
        C a[3], b[3];
        cuda_walk_seek(j.walk, i, at);
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
    cuda_dims first[OPERANDS];
    cross_job j = {};
    for (int op = 0; op < OPERANDS; op++) {
        cuda_dims_pick(&first[op], of[op], ~((uint64_t)1 << k->attr[0]));
        firsts[op] = &first[op].view;
        j.dtype[op] = of[op]->dtype;
        j.along[op] = of[op]->strides[k->attr[0]];
    }
    if (!cuda_walk_make_along(&j.walk, firsts, OPERANDS)) return RL_UNSUPPORTED;
    if (j.walk.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, of[RESULT]) != RL_OK) return RL_FAIL;
    j.result = rl_data(of[RESULT], RL_WRITE);
    j.left = rl_const_data(of[LEFT]);
    j.right = rl_const_data(of[RIGHT]);
    const unsigned blocks = cuda_walk_blocks(&j.walk);
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (cuda_computes_in<float>(of[RESULT]->dtype))
        CUDA_LAUNCH(cross_each<float>, blocks, CUDA_THREADS, stream, j);
    else if (cuda_computes_in<double>(of[RESULT]->dtype))
        CUDA_LAUNCH(cross_each<double>, blocks, CUDA_THREADS, stream, j);
    else
        CUDA_LAUNCH(cross_each<int64_t>, blocks, CUDA_THREADS, stream, j);
    return rl_cuda_end(k);
}
