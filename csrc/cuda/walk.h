/* What every elementwise cuda_ kernel stands on: a strided, broadcast walk that fits into launch arguments.
 */
#ifndef RL_CUDA_WALK_H
#define RL_CUDA_WALK_H
#include "launch.h"

/* Note [CUDA walk]
 * Operand 0 gives the dims, the others stretch to it with step 0; sizes of 1 go and neighbours that all
 * operands step through evenly become one. Thread i visits element i:
 *
 *     size  [ outer ... inner ]     step[op]  [ elements, one row for each operand ]
 *
 * `flat`: every operand is one strip, so that offset == i. */
enum { CUDA_OPS = 3, CUDA_DIMS = 12, CUDA_THREADS = 256, CUDA_BLOCKS = 65535 };
typedef struct {
    int ndim, nops, flat;
    int64_t numel, size[CUDA_DIMS], step[CUDA_OPS][CUDA_DIMS];
} cuda_walk;

static inline int64_t cuda_walk_step(const rl_view *v, int d, int ndim) {
    int own = d - (ndim - v->ndim);
    return own < 0 || v->shape[own] == 1 ? 0 : v->strides[own];
}

/* false: more dims than a launch carries */
static inline bool cuda_walk_make(cuda_walk *w, const rl_view *const *views, int nops) {
    const rl_view *first = views[0];
    int n = 0;
    for (int d = 0; d < first->ndim; d++) {
        int64_t step[CUDA_OPS], size = first->shape[d];
        bool merges = n > 0;
        if (size == 1) continue;
        for (int op = 0; op < nops; op++) {
            step[op] = cuda_walk_step(views[op], d, first->ndim);
            merges = merges && w->step[op][n - 1] == step[op] * size;
        }
        if (merges) {
            w->size[n - 1] *= size;
        } else {
            if (n == CUDA_DIMS) return false;
            w->size[n++] = size;
        }
        for (int op = 0; op < nops; op++) w->step[op][n - 1] = step[op];
    }
    w->ndim = n;
    w->nops = nops;
    w->numel = first->numel;
    w->flat = n <= 1;
    for (int op = 0; n == 1 && op < nops; op++) w->flat = w->flat && w->step[op][0] == 1;
    return true;
}

static inline unsigned cuda_walk_blocks(const cuda_walk *w) {
    int64_t blocks = (w->numel + CUDA_THREADS - 1) / CUDA_THREADS;
    return blocks < CUDA_BLOCKS ? (unsigned)blocks : (unsigned)CUDA_BLOCKS;
}

__device__ inline void cuda_walk_seek(const cuda_walk &w, int64_t i, int64_t *offset) {
    for (int op = 0; op < w.nops; op++) offset[op] = w.flat ? i : 0;
    if (w.flat) return;
    for (int d = w.ndim - 1; d >= 0; d--) {
        int64_t rest = i / w.size[d], at = i - rest * w.size[d];
        for (int op = 0; op < w.nops; op++) offset[op] += at * w.step[op][d];
        i = rest;
    }
}

/* for each element of this thread */
#define CUDA_EACH(i, w)                                                                                      \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (w).numel;                          \
         i += (int64_t)gridDim.x * blockDim.x)

/* X(dtype, the type in device memory, the type to compute in) */
#define CUDA_DTYPES(X)                                                                                       \
    X(RL_U8, uint8_t, int64_t)                                                                               \
    X(RL_I8, int8_t, int64_t)                                                                                \
    X(RL_I16, int16_t, int64_t)                                                                              \
    X(RL_I32, int32_t, int64_t)                                                                              \
    X(RL_I64, int64_t, int64_t)                                                                              \
    X(RL_F16, __half, float)                                                                                 \
    X(RL_F32, float, float)                                                                                  \
    X(RL_F64, double, double)                                                                                \
    X(RL_BOOL, bool, int64_t)                                                                                \
    X(RL_BF16, __nv_bfloat16, float)
#endif
