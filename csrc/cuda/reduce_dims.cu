/* How a reduction is spread over threads and blocks: Note [CUDA folds]. */
#include "reduce_dims.h"
#include "dims.h"

enum {
    MANY_BLOCKS = 1024, /* with fewer, outputs are split, */
    SHARE = 16          /* into parts that give a thread this many times REDUCE_UNROLL elements */
};

/* the views' dims that are in the mask, and last the elements' numbers in there */
static bool walk_pick(cuda_walk *w, const rl_view *const *views, int nops, uint64_t mask, bool numbered) {
    cuda_dims picked[CUDA_OPS], number;
    const rl_view *all[CUDA_OPS];
    for (int op = 0; op < nops; op++) {
        cuda_dims_pick(&picked[op], views[op], mask);
        all[op] = &picked[op].view;
    }
    cuda_dims_number(&number, all[0], ~(uint64_t)0);
    all[nops] = &number.view;
    return cuda_walk_make_along(w, all, nops + numbered);
}

static int64_t inner_step(const cuda_walk *w) {
    return w->ndim ? w->step[0][w->ndim - 1] : INT64_MAX;
}

/* the power of 2 from n on, at most `most` */
static int power_above(int64_t n, int most) {
    int p = 1;
    while (p < most && p < n) p *= 2;
    return p;
}

bool cuda_reduction_make(cuda_reduction *r, const rl_view *const *views, int nops, uint64_t mask,
                         bool numbered) {
    if (!walk_pick(&r->kept, views, nops, ~mask, true) ||
        !walk_pick(&r->reduced, views, nops, mask, numbered))
        return false;
    const int64_t kept = r->kept.numel, elements = r->reduced.numel;
    const int64_t rounds = (elements + REDUCE_UNROLL - 1) / REDUCE_UNROLL;
    r->from = rl_const_data(views[0]);
    r->dtype = views[0]->dtype;
    r->rows = inner_step(&r->reduced) <= inner_step(&r->kept);
    r->strip = r->rows && r->reduced.ndim == 1 && inner_step(&r->reduced) == 1;
    const int widest = REDUCE_THREADS / power_above(kept, r->rows ? 1 : CUDA_WARP);
    r->per = power_above(rounds, widest);
    const int64_t width = REDUCE_THREADS / r->per, blocks = (kept + width - 1) / width;
    const int64_t whole = rounds / ((int64_t)r->per * SHARE), wanted = blocks ? MANY_BLOCKS / blocks : 0;
    const int64_t splits = whole < wanted ? whole : wanted;
    r->blocks = (unsigned)blocks;
    if (blocks > INT32_MAX) return false;
    r->splits = splits > 1 ? (unsigned)splits : 1;
    r->share = (rounds + r->splits - 1) / r->splits * REDUCE_UNROLL; /* vectors stay aligned */
    return true;
}
