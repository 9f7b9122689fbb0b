/* Lines as the host makes them: Note [CUDA lines]. */
#include "lines.h"
#include "dims.h"

enum { LONG_LINE = 1024, LONGEST_LINE = 16384 }; /* for a block of LINE_THREADS, of LINE_MOST_THREADS */

static int threads_of(const cuda_lines *l, int64_t across) {
    const int64_t lines = l->walk.numel, n = l->n;
    int per = 1;
    if (l->step[0] > across && lines >= LINE_THREADS) return 1;
    if (n > LONGEST_LINE) return LINE_MOST_THREADS;
    if (n > LONG_LINE) return LINE_THREADS;
    while (per < CUDA_WARP && per < n) per *= 2;
    return per;
}

bool cuda_lines_make(cuda_lines *l, const rl_view *const *views, int nops, int64_t dim) {
    cuda_dims first[CUDA_LINE_OPS];
    const rl_view *firsts[CUDA_LINE_OPS];
    const bool is_scalar = views[0]->ndim == 0;
    for (int op = 0; op < nops; op++) {
        cuda_dims_pick(&first[op], views[op], ~(is_scalar ? 0 : (uint64_t)1 << dim));
        firsts[op] = &first[op].view;
        l->step[op] = is_scalar ? 0 : views[op]->strides[dim];
    }
    l->n = is_scalar ? 1 : views[0]->shape[dim];
    if (!cuda_walk_make_along(&l->walk, firsts, nops)) return false;
    const int last = l->walk.ndim - 1;
    l->per = threads_of(l, last < 0 ? INT64_MAX : l->walk.step[0][last]);
    l->threads = l->per > LINE_THREADS ? LINE_MOST_THREADS : LINE_THREADS;
    const int64_t width = l->threads / l->per, blocks = (l->walk.numel + width - 1) / width;
    l->blocks = (unsigned)blocks;
    return blocks <= INT32_MAX;
}
