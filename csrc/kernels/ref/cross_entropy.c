/* Negative log likelihood and its gradient. attr[0]: images, attr[1]: classes, attr[2]: places of an image.
 * Reductions: 0 none, 1 mean, 2 sum. */
#include "loops.h"
#include <string.h>

enum { NONE, MEAN, SUM };
enum { BLOCK = 4096, BLOCKS = 1024 }; /* places that are added up in one go at least, blocks at most */
enum { TILE = 1024 }; /* places of an image whose classes are set while they are in the cache */
static const double PLACE_NS = 2, ZERO_NS = 0.1;

/* What every strip sees. Another thread may write into the target: each class is read once, then checked. */
typedef struct {
    int64_t classes, ignore, class_step; /* class_step: bytes of x, or of its gradient, from class to class */
    const char *weight;                  /* NULL: 1 */
    int64_t weight_step;
    double factor; /* of gradients */
    bool bytes;    /* the target is uint8, not int64 */
    int faulty;
    int64_t fault; /* a class that there is not */
} nll;
typedef struct {
    double sum, total; /* of losses, of weights */
} nll_sums;
typedef struct {
    nll *shared;
    nll_sums *sums;
} nll_part;

static bool class_at(nll *l, const char *p, int64_t *at) {
    *at = l->bytes ? __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED)
                   : __atomic_load_n((const int64_t *)p, __ATOMIC_RELAXED);
    if (*at == l->ignore) return false;
    if (RL_LIKELY((uint64_t)*at < (uint64_t)l->classes)) return true;
    if (!__atomic_exchange_n(&l->faulty, 1, __ATOMIC_RELAXED)) l->fault = *at;
    return false;
}

/* operands of the walks, one element a place: target, x at class 0 (or its gradient), the output (or the
 * output's gradient) */
#define NLL_LOOPS(D, T, C, LOAD, STORE, _)                                                                   \
    static inline double weight_##D(const nll *l, int64_t at) {                                              \
        return l->weight ? (double)LOAD(*(const T *)(l->weight + at * l->weight_step)) : 1;                  \
    }                                                                                                        \
    static void sum_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                   \
        const nll_part *part = ctx;                                                                          \
        nll *l = part->shared;                                                                               \
        double sum = 0, total = 0;                                                                           \
        for (int64_t i = 0, at; i < n; i++) {                                                                \
            if (!class_at(l, p[0] + i * step[0], &at)) continue;                                             \
            const double w = weight_##D(l, at);                                                              \
            sum -= w * (double)LOAD(*(const T *)(p[1] + i * step[1] + at * l->class_step));                  \
            total += w;                                                                                      \
        }                                                                                                    \
        part->sums->sum += sum;                                                                              \
        part->sums->total += total;                                                                          \
    }                                                                                                        \
    static void each_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                  \
        nll *l = (nll *)ctx;                                                                                 \
        for (int64_t i = 0, at; i < n; i++) {                                                                \
            double value = 0;                                                                                \
            if (class_at(l, p[0] + i * step[0], &at))                                                        \
                value = -weight_##D(l, at) *                                                                 \
                        (double)LOAD(*(const T *)(p[1] + i * step[1] + at * l->class_step));                 \
            *(T *)(p[2] + i * step[2]) = STORE((C)value);                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static void back_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                  \
        nll *l = (nll *)ctx;                                                                                 \
        for (int64_t i = 0, at; i < n; i++) {                                                                \
            if (!class_at(l, p[0] + i * step[0], &at)) continue;                                             \
            const double grad = l->factor * (double)LOAD(*(const T *)(p[2] + i * step[2]));                  \
            *(T *)(p[1] + i * step[1] + at * l->class_step) = STORE((C)(-weight_##D(l, at) * grad));         \
        }                                                                                                    \
    }
RL_EACH_FLOAT(NLL_LOOPS, _)
#define NLL_ENTRY(D, T, C, LOAD, STORE, kind) [RL_##D] = kind##_##D,
static const rl_inner_loop sums_of[RL_NDTYPES] = {RL_EACH_FLOAT(NLL_ENTRY, sum)};
static const rl_inner_loop each_of[RL_NDTYPES] = {RL_EACH_FLOAT(NLL_ENTRY, each)};
static const rl_inner_loop back_of[RL_NDTYPES] = {RL_EACH_FLOAT(NLL_ENTRY, back)};

/* x without its dimension of classes: one element a place, that of class 0 */
static rl_view first_class(const rl_view *x, int64_t *shape, int64_t *strides) {
    rl_view v = *x;
    int n = 0;
    v.numel = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d == (x->ndim > 1)) continue;
        shape[n] = x->shape[d], strides[n++] = x->strides[d];
        v.numel *= x->shape[d];
    }
    v.ndim = (uint8_t)n, v.shape = shape, v.strides = strides;
    return v;
}

/* the arguments from `target` on are target, weight, reduction, ignore_index; x: input or its gradient */
static nll nll_begin(const rl_call *k, int target, const rl_view *x, rl_iter *w) {
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS], item = rl_itemsize(x->dtype);
    const rl_view *weight = rl_in(k, target + 1), *classes = k->arg[target].u.t;
    rl_view first = first_class(x, shape, strides);
    nll l = {.classes = k->attr[1], .ignore = k->arg[target + 3].u.i, .bytes = classes->dtype == RL_U8};
    l.class_step = x->strides[x->ndim > 1] * item;
    if (weight) l.weight = rl_const_data(weight), l.weight_step = weight->strides[0] * item;
    rl_iter_begin(w, classes, RL_READ);
    rl_iter_add(w, &first);
    return l;
}

static rl_status nll_end(rl_call *k, const nll *l) {
    return l->faulty ? rl_fail(k, RL_INDEX, "Target %lld is out of bounds.", (long long)l->fault) : RL_OK;
}

/* ---- forward ---- */
typedef struct {
    nll *shared;
    const rl_iter *iter;
    rl_inner_loop loop;
    nll_sums *sums; /* of each block */
    int64_t block;
} nll_job;

static void sum_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const nll_job *job = ctx;
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        const int64_t from = b * job->block, n = job->iter->numel;
        nll_part part = {job->shared, &job->sums[b]};
        *part.sums = (nll_sums){0, 0};
        rl_iter_range(job->iter, from, n - from < job->block ? n : from + job->block, job->loop, &part);
    }
}

static rl_status nll_sum(rl_call *k, nll *l, const rl_iter *w, nll_sums *all) {
    nll_job job = {.shared = l, .iter = w, .loop = sums_of[rl_tensor_arg(k, 0)->dtype]};
    job.block = w->numel / BLOCKS > BLOCK ? w->numel / BLOCKS + 1 : BLOCK;
    const int64_t blocks = (w->numel + job.block - 1) / job.block;
    job.sums = k->svc->scratch(k, RL_COUNT(blocks), sizeof *job.sums);
    if (!job.sums) return RL_FAIL;
    k->svc->parallel(k, blocks, PLACE_NS * (double)job.block, sum_blocks, &job);
    for (int64_t b = 0; b < blocks; b++) all->sum += job.sums[b].sum, all->total += job.sums[b].total;
    return RL_OK;
}

RL_KERNEL(ref_nll_loss) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t reduction = k->arg[3].u.i;
    const bool each = reduction == NONE && x->ndim > 1;
    nll_sums all = {0, 0};
    rl_iter w;
    nll l = nll_begin(k, 1, x, &w);
    if (each) rl_iter_add(&w, out), w.base[2] = rl_data(out, RL_WRITE);
    rl_iter_merge(&w);
    if (each)
        rl_iter_parallel(k, &w, PLACE_NS, each_of[x->dtype], &l);
    else if (w.numel && nll_sum(k, &l, &w, &all) != RL_OK)
        return RL_FAIL;
    if (nll_end(k, &l) != RL_OK) return RL_FAIL;
    if (!each)
        rl_row_put_double(out->dtype, rl_data(out, RL_WRITE),
                          reduction == MEAN ? all.sum / all.total : all.sum);
    rl_row_put_double(out->dtype, rl_data(k->out[1], RL_WRITE), all.total);
    return RL_OK;
}

/* ---- backward ---- */
typedef struct {
    nll *shared;
    const rl_iter *iter;
    rl_inner_loop loop;
    char *to; /* (images, classes, places), dense */
    int64_t item, classes, places, tiles;
} back_job;

/* Images are set to 0 and written to at once where they are small, else in tiles of places. */
static void back_tiles(void *ctx, int64_t begin, int64_t end, int thread) {
    const back_job *job = ctx;
    const int64_t image = job->classes * job->places * job->item;
    (void)thread;
    if (job->tiles == 1) {
        memset(job->to + begin * image, 0, (size_t)((end - begin) * image));
        rl_iter_range(job->iter, begin * job->places, end * job->places, job->loop, job->shared);
        return;
    }
    for (int64_t t = begin; t < end; t++) {
        const int64_t from = t % job->tiles * TILE, left = job->places - from, at = t / job->tiles;
        const int64_t n = left < TILE ? left : TILE;
        char *to = job->to + at * image + from * job->item;
        for (int64_t c = 0; c < job->classes; c++)
            memset(to + c * job->places * job->item, 0, (size_t)(n * job->item));
        rl_iter_range(job->iter, at * job->places + from, at * job->places + from + n, job->loop,
                      job->shared);
    }
}

RL_KERNEL(ref_nll_loss_backward) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    const int64_t places = k->attr[2], tiles = places > TILE ? (places + TILE - 1) / TILE : 1;
    rl_iter w;
    if (out->numel == 0) return RL_OK;
    nll l = nll_begin(k, 2, out, &w);
    l.factor = k->arg[4].u.i == MEAN ? 1 / rl_vector_at(k->arg[6].u.t, 0) : 1;
    rl_iter_add(&w, grad);
    rl_iter_merge(&w);
    back_job job = {&l, &w, back_of[out->dtype], rl_data(out, RL_WRITE), .places = places, .tiles = tiles};
    job.item = rl_itemsize(out->dtype), job.classes = k->attr[1];
    const double work = (double)places / (double)tiles;
    k->svc->parallel(k, k->attr[0] * tiles, work * (PLACE_NS + ZERO_NS * (double)job.classes), back_tiles,
                     &job);
    return nll_end(k, &l);
}
