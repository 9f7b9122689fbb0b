/* How a reduction is spread over threads and blocks: Note [CUDA folds]. */
#include "reduce_dims.h"

enum {
    MANY_BLOCKS = 1024, /* with fewer, outputs are split, */
    SHARE = 16          /* into parts that give a thread this many times REDUCE_UNROLL elements */
};

/* the dims of v that `mask` keeps, and the same as one dense block */
typedef struct {
    rl_view strided, dense;
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS], block[RL_MAX_DIMS];
} dims;

static void dims_pick(dims *d, const rl_view *v, uint64_t mask) {
    int n = 0;
    int64_t numel = 1;
    for (int i = 0; i < v->ndim; i++) {
        if (!(mask >> i & 1)) continue;
        d->shape[n] = v->shape[i];
        d->strides[n++] = v->strides[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        d->block[i] = numel;
        numel *= d->shape[i];
    }
    d->strided = *v;
    d->strided.ndim = (uint8_t)n;
    d->strided.shape = d->shape;
    d->strided.strides = d->strides;
    d->strided.numel = numel;
    d->dense = d->strided;
    d->dense.strides = d->block;
}

static bool walk_pick(cuda_walk *w, const rl_view *v, uint64_t mask, int nops) {
    dims d;
    dims_pick(&d, v, mask);
    const rl_view *views[2] = {&d.strided, &d.dense};
    return cuda_walk_make_along(w, views, nops);
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

bool cuda_reduction_make(cuda_reduction *r, const rl_view *v, uint64_t mask, bool numbered) {
    if (!walk_pick(&r->kept, v, ~mask, 2) || !walk_pick(&r->reduced, v, mask, numbered ? 2 : 1)) return false;
    const int64_t kept = r->kept.numel, elements = r->reduced.numel;
    const int64_t rounds = (elements + REDUCE_UNROLL - 1) / REDUCE_UNROLL;
    r->from = rl_const_data(v);
    r->dtype = v->dtype;
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
