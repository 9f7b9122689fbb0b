/* Sorting and selection along a dimension. */
#include "sort.h"
#include <string.h>

/* ---- tiles ---- */
/* Lines whose elements lie apart, next to other lines: copied several at once, a line after the other. */
typedef struct {
    int64_t begin, end; /* the lines that are there */
} simd_tile;

static void tile_copy(int64_t item, const char *from, int64_t step, int64_t n, int64_t lines, char *to) {
    switch (item) {
#define CASE(T)                                                                                              \
    case sizeof(T):                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                      \
            for (int64_t j = 0; j < lines; j++) ((T *)to)[j * n + i] = ((const T *)(from + i * step))[j];    \
        break;
        CASE(uint8_t)
        CASE(uint16_t)
        CASE(uint32_t)
        CASE(uint64_t)
#undef CASE
    }
}

static simd_line simd_tile_line(const simd_sort_job *job, simd_tile *tile, simd_line x, int64_t line,
                                int64_t end, int thread) {
    const rl_walk *w = &job->along.lines;
    const int64_t n = job->along.n, item = rl_itemsize(job->order.dtype), inner = w->size[w->ndim - 1];
    char *to = rl_room(&job->tiles, thread);
    if (line >= tile->end) {
        tile->begin = line;
        tile->end = simd_min(end, line + simd_min(SIMD_SORT_TILE, inner - line % inner));
        tile_copy(item, x.p, x.step, n, tile->end - line, to);
    }
    return (simd_line){to + (line - tile->begin) * n * item, item};
}

/* memory for them, where it is worth that */
RL_CHOOSER
static void tiles_begin(rl_call *k, simd_sort_job *job) {
    const rl_along *a = &job->along;
    const rl_walk *w = &a->lines;
    const int64_t item = rl_itemsize(rl_tensor_arg(k, 0)->dtype);
    const bool apart = w->ndim && w->stride[a->in][w->ndim - 1] == item && a->step[a->in] != item;
    if (apart && w->size[w->ndim - 1] > 1 && a->n < SIMD_SORT_LONG)
        rl_thread_rooms(k, k->threads, RL_COUNT(SIMD_SORT_TILE, a->n), item, &job->tiles);
}

/* ---- memory of items ---- */
static rl_layout pairs_layout(const rl_call *k, simd_pairs *p, int64_t n, int64_t item) {
    rl_layout l = rl_layout_begin(k);
    p->a = rl_layout_add(&l, RL_COUNT(n), item);
    p->b = rl_layout_add(&l, RL_COUNT(n), item);
    return l;
}
/* twice n items, in so many rooms */
static bool pairs_begin(rl_call *k, int64_t rooms, int64_t n, int64_t item, simd_pairs *to) {
    const rl_layout l = pairs_layout(k, to, n, item);
    return k->svc->rooms(k, &l, rooms, &to->rooms);
}

/* How many blocks of a line are worth sifting at once, each longer than job->keep; 0: none. */
static int64_t sift_count(const simd_sort_job *job) {
    const int64_t blocks = simd_min(64, job->along.n / simd_max(SIMD_SORT_LONG, 16 * job->keep));
    return blocks < 2 ? 0 : blocks;
}

/* ---- both widths ---- */
#define ITEM       simd_narrow
#define KEY        uint32_t
#define PLACE_BITS 32
#define I_NAME(f)  f##_narrow
#include "sort_items_impl.inc"
#include "sort_lines_impl.inc"
#undef ITEM
#undef KEY
#undef PLACE_BITS
#undef I_NAME
#define ITEM       simd_wide
#define KEY        uint64_t
#define PLACE_BITS 64
#define I_NAME(f)  f##_wide
#include "sort_items_impl.inc"
#include "sort_lines_impl.inc"

/* k: dim in attr[0] */
RL_CHOOSER
static rl_status run(rl_call *k, simd_sort_kind kind, bool descending, int64_t place) {
    simd_sort_job job = {.kind = kind, .k = k, .place = place};
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t dim = k->attr[0], n = dim < 0 ? x->numel : x->ndim ? x->shape[dim] : 1;
    if (n == 0 || n > SIMD_SORT_MOST) return RL_UNSUPPORTED;
    if (rl_along_begin(k, &job.along) != RL_OK) return RL_FAIL;
    if (job.along.lines.numel == 0) return RL_OK;
    job.keep = kind >= SIMD_KTH ? 1 : out->ndim ? out->shape[dim] : 1;
    job.places = kind >= SIMD_KTH && k->n_out == 1 ? -1 : k->n_out - 1;
    job.sifted =
        kind == SIMD_TOPK && n > (job.keep > SIMD_TOPK_FEW ? 3 * job.keep + 2 * SIMD_SORT_CHUNK : job.keep);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(SIMD_DIGITS), sizeof(uint32_t), &job.counts) ||
        simd_order_begin(k, &job.order, descending, !job.sifted) != RL_OK)
        return RL_FAIL;
    tiles_begin(k, &job);
    return job.order.wide ? lines_wide(&job) : lines_narrow(&job);
}

RL_KERNEL(simd_sort) {
    return run(k, SIMD_SORT, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_topk) {
    return run(k, SIMD_TOPK, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_kthvalue) {
    return run(k, SIMD_KTH, false, k->attr[1] - 1);
}
RL_KERNEL(simd_median) {
    return run(k, SIMD_MEDIAN, false, 0);
}
RL_KERNEL(simd_nanmedian) {
    return run(k, SIMD_NANMEDIAN, false, 0);
}
RL_KERNEL(simd_mode) {
    return run(k, SIMD_MODE, false, 0);
}
