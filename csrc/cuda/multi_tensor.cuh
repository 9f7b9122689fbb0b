/* Kernels over whole lists of tensors: as many as fit into the arguments of one launch.
 *
 *   tensor    0            1   2                  a launch has some blocks for each tensor; each finds its
 *   blocks  [ 0 1 2 3 4 ][ 5 ][ 6 7 8 ... ]       own by `first`
 *
 * Tensors whose memory has no gaps, in one order in all lists, go together; others alone, along a walk; and
 * where elements that are written may be one and the same, one thread goes along all of them. */
#ifndef RL_CUDA_MULTI_TENSOR_H
#define RL_CUDA_MULTI_TENSOR_H
#include "device.h"
#include "strided_iterator.cuh"

enum { CUDA_LISTED = 64, CUDA_LISTED_EACH = 4 }; /* tensors of a launch; elements of a thread */
template <int lists> struct cuda_listed {
    void *at[lists][CUDA_LISTED];
    int64_t numel[CUDA_LISTED];
    unsigned first[CUDA_LISTED + 1];
    int place[CUDA_LISTED], n; /* in the lists of the call; how many */
};

typedef struct { /* of a launch for a tensor alone */
    unsigned blocks, threads;
} cuda_list_shape;

template <int lists> __device__ int cuda_listed_find(const cuda_listed<lists> &l) {
    int low = 0, high = l.n - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (l.first[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
/* for each element of tensor t that is this thread's */
#define CUDA_EACH_LISTED(i, l, t)                                                                            \
    for (int64_t i = (blockIdx.x - (l).first[t]) * (int64_t)blockDim.x + threadIdx.x; i < (l).numel[t];      \
         i += (int64_t)((l).first[(t) + 1] - (l).first[t]) * blockDim.x)

/* where list j begins, of which `reads` has a bit if it is only read */
static inline void *cuda_listed_place(const rl_view *v, int j, unsigned reads) {
    return rl_data(v, reads >> j & 1 ? RL_READ : RL_WRITE);
}
template <int lists>
static inline void cuda_listed_add(cuda_listed<lists> *l, const rl_view *const *views, int place,
                                   unsigned reads) {
    const int64_t numel = views[0]->numel;
    l->place[l->n] = place;
    for (int j = 0; j < lists; j++) l->at[j][l->n] = cuda_listed_place(views[j], j, reads);
    l->numel[l->n] = numel;
    if (l->n == 0) l->first[0] = 0;
    l->first[l->n + 1] = l->first[l->n] + cuda_blocks_of((numel + CUDA_LISTED_EACH - 1) / CUDA_LISTED_EACH);
    l->n++;
}

static inline bool cuda_iter_is_1d(const cuda_iter &w) {
    for (int op = 0; w.ndim > 0 && op < w.nops; op++)
        if (w.step[op][0] != 1) return false;
    return w.is_flat;
}

static inline cuda_list_shape cuda_list_shape_of(const cuda_iter &w, unsigned reads) {
    for (int op = 0; op < w.nops; op++)
        if (!(reads >> op & 1) && cuda_iter_meets(&w, op)) return {1, 1};
    return {cuda_iter_blocks(&w), CUDA_THREADS};
}

/* Goes along n tensors of each list. of(i, views): those at place i; joins(begins): may they share a launch
 * with those before, or do they begin one? together(listed, stream), alone(walk, shape, views, stream):
 * launch. */
template <int lists, class Of, class Joins, class Together, class Alone>
static rl_status cuda_lists_run(rl_call *k, int n, unsigned reads, Of of, Joins joins, Together together,
                                Alone alone) {
    cuda_listed<lists> l = {};
    cudaStream_t stream = (cudaStream_t)k->stream;
    if (n == 0) return RL_OK;
    if (rl_cuda_begin(k, k->arg[0].u.ts[0]) != RL_OK) return RL_FAIL;
    for (int i = 0; i < n; i++) {
        const rl_view *views[lists];
        cuda_iter w;
        of(i, views);
        if (!cuda_iter_make_along(&w, views, lists) || w.numel == 0) continue;
        if (l.n > 0 && (l.n == CUDA_LISTED || !joins(false))) {
            together(l, stream);
            l.n = 0;
        }
        if (!cuda_iter_is_1d(w)) {
            alone(w, cuda_list_shape_of(w, reads), views, stream);
            continue;
        }
        if (l.n == 0) joins(true);
        cuda_listed_add(&l, views, i, reads);
    }
    if (l.n > 0) together(l, stream);
    return rl_cuda_end(k);
}
#endif
