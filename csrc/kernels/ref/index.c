/* x[indices] read and written: masks and integers become byte offsets into x, which then move elements.
 *
 * Note [Index]
 *     x       [ before | indexed | after ]
 *     result  [ before | picks   | after ]     picks: the dims of the indices, broadcast with one another;
 *                                              they stand first when the indexed dims are no neighbours
 * The offsets of all picks are worked out once. An index is read once, checked, used: whatever another thread
 * writes into it, nothing outside x is touched. A mask is counted again for the same reason. */
#include "index.h"
#include <string.h>

typedef struct {
    const rl_view *x, *other; /* what is indexed; the result, or the values that stretch to it */
    const rl_slot *list;
    int at, ndim; /* the picks' place among the dims of the result, and how many dims they have */
    int64_t count, size[RL_MAX_DIMS];
    int64_t *offset; /* of each pick, into x */
    int64_t step;    /* from pick to pick in the other tensor ... */
    int64_t *place;  /* ... or the offset of each, where one step does not do */
    rl_walk rest;    /* the dims that are not indexed; operands: target, source */
    bool writes;     /* x is the target */
    int64_t item;
    uint64_t *number; /* stands for the other tensor when it is one element of another dtype */
} index_plan;

/* ---- masks ---- */
typedef struct {
    const char *base;
    int64_t *to, room, found; /* to NULL: only counted */
} mask_search;

static void mask_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    mask_search *s = (mask_search *)ctx;
    const char *truth = p[0];
    if (!s->to) {
        for (int64_t i = 0; i < n; i++) s->found += truth[i * step[0]] != 0;
        return;
    }
    for (int64_t i = 0; i < n && s->found < s->room; i++)
        if (truth[i * step[0]]) s->to[s->found++] = p[1] + i * step[1] - s->base;
}

/* The offsets of the True places; x's dims from `dim` on lie under the mask. */
static int64_t mask_walk(const rl_view *mask, const rl_view *x, int dim, int64_t *to, int64_t room) {
    mask_search s = {.base = rl_const_data(x), .to = to, .room = room};
    rl_walk w;
    if (mask->numel == 0) return 0;
    rl_walk_begin(&w, mask, RL_READ);
    w.nops = 2;
    w.base[1] = (char *)s.base;
    for (int d = 0; d < mask->ndim; d++) w.stride[1][d] = x->strides[dim + d] * rl_itemsize(x->dtype);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, mask->numel, mask_strip, &s);
    return s.found;
}

/* ---- the dims of the picks ---- */
static bool plan_join(index_plan *p, const int64_t *shape, int n) {
    if (n > p->ndim) {
        memmove(p->size + (n - p->ndim), p->size, (size_t)p->ndim * sizeof *p->size);
        for (int d = 0; d < n - p->ndim; d++) p->size[d] = 1;
        p->ndim = n;
    }
    for (int i = 0; i < n; i++) {
        int64_t *size = &p->size[p->ndim - n + i];
        if (*size == 1)
            *size = shape[i];
        else if (shape[i] != 1 && shape[i] != *size)
            return false;
    }
    return true;
}

static rl_status mask_changed(rl_call *k) {
    return rl_fail(k, RL_RUNTIME, "%s: a mask changed while it was used", k->name);
}

static rl_status plan_dims(rl_call *k, index_plan *p) {
    for (int i = 0, dim = 0; i < p->list->n; i++) {
        const rl_view *index = p->list->u.ts[i];
        bool fits = true;
        if (index && rl_is_mask(index)) {
            int64_t found = mask_walk(index, p->x, dim, NULL, 0);
            fits = plan_join(p, &found, 1);
            dim += index->ndim;
        } else {
            if (index) fits = plan_join(p, index->shape, index->ndim);
            dim++;
        }
        if (!fits) return mask_changed(k);
    }
    p->count = 1;
    for (int d = 0; d < p->ndim; d++) p->count *= p->size[d];
    return RL_OK;
}

/* ---- offsets ---- */
typedef struct {
    const int64_t *table;
    int64_t size, stride; /* of x along the indexed dim */
    int64_t bad_at, bad;  /* the first index that is out of range */
    bool wide;
} index_sum;

static void sum_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    index_sum *s = (index_sum *)ctx;
    for (int64_t i = 0; i < n; i++) {
        const char *from = p[1] + i * step[1];
        int64_t *to = (int64_t *)(p[0] + i * step[0]);
        int64_t given = s->wide ? __atomic_load_n((const int64_t *)from, __ATOMIC_RELAXED)
                                : __atomic_load_n((const int32_t *)from, __ATOMIC_RELAXED);
        int64_t at = given < 0 ? given + s->size : given;
        if (at < 0 || at >= s->size) {
            if (s->bad_at < 0) s->bad_at = to - s->table, s->bad = given;
        } else {
            *to += at * s->stride;
        }
    }
}

static void table_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)(p[0] + i * step[0]) += *(const int64_t *)(p[1] + i * step[1]);
}

/* operand 0: one number of the table for each pick */
static void walk_picks(const index_plan *p, rl_walk *w, int64_t *table) {
    int64_t stride = sizeof *table;
    w->nops = 1;
    w->ndim = p->ndim;
    w->numel = p->count;
    w->base[0] = (char *)table;
    for (int d = p->ndim - 1; d >= 0; stride *= p->size[d--]) {
        w->size[d] = p->size[d];
        w->stride[0][d] = stride;
    }
}

static rl_status add_mask(rl_call *k, index_plan *p, const rl_view *mask, int dim) {
    rl_walk w;
    int64_t last = p->size[p->ndim - 1], *found = k->svc->scratch(k, RL_COUNT(last), sizeof *found);
    if (!found) return RL_FAIL;
    int64_t n = mask_walk(mask, p->x, dim, found, last);
    if (n != last && n != 1) return mask_changed(k);
    walk_picks(p, &w, p->offset);
    w.nops = 2;
    w.base[1] = (char *)found;
    for (int d = 0; d < w.ndim; d++) w.stride[1][d] = d == w.ndim - 1 && n > 1 ? (int64_t)sizeof *found : 0;
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, p->count, table_strip, NULL);
    return RL_OK;
}

/* PyTorch counts the indices, a mask as its dims, and calls that the dimension. */
static rl_status plan_offsets(rl_call *k, index_plan *p) {
    const rl_view *x = p->x;
    index_sum worst = {.bad_at = -1};
    int worst_place = 0;
    p->offset = k->svc->scratch(k, RL_COUNT(p->count), sizeof *p->offset);
    if (!p->offset) return RL_FAIL;
    memset(p->offset, 0, (size_t)p->count * sizeof *p->offset);
    for (int i = 0, dim = 0, place = 0; i < p->list->n; i++) {
        const rl_view *index = p->list->u.ts[i];
        if (!index) {
            dim++;
        } else if (rl_is_mask(index)) {
            if (add_mask(k, p, index, dim) != RL_OK) return RL_FAIL;
            dim += index->ndim;
            place += index->ndim;
        } else {
            index_sum s = {.table = p->offset,
                           .size = x->shape[dim],
                           .stride = x->strides[dim] * p->item,
                           .bad_at = -1,
                           .wide = index->dtype == RL_I64};
            rl_walk w;
            walk_picks(p, &w, p->offset);
            rl_walk_add(&w, index);
            rl_walk_merge(&w);
            rl_walk_range(&w, 0, p->count, sum_strip, &s);
            if (s.bad_at >= 0 && (worst.bad_at < 0 || s.bad_at < worst.bad_at))
                worst = s, worst_place = place;
            dim++;
            place++;
        }
    }
    if (worst.bad_at < 0) return RL_OK;
    return rl_fail(k, RL_INDEX, "index %lld is out of bounds for dimension %d with size %lld",
                   (long long)worst.bad, worst_place, (long long)worst.size);
}

/* ---- the other tensor ---- */
static uint64_t indexed_dims(const index_plan *p) {
    uint64_t dims = 0;
    for (int i = 0, dim = 0; i < p->list->n; i++) {
        const rl_view *index = p->list->u.ts[i];
        int width = index && rl_is_mask(index) ? index->ndim : 1;
        for (; width > 0; width--, dim++)
            if (index) dims |= 1ull << dim;
    }
    return dims;
}

static void place_strip(char *const *p, const int64_t *step, int64_t n, const void *base) {
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)(p[0] + i * step[0]) = p[1] + i * step[1] - (const char *)base;
}

/* stride: of the other tensor along the picks' dims */
static rl_status plan_places(rl_call *k, index_plan *p, const int64_t *stride) {
    rl_walk w;
    char *base = p->rest.base[p->writes];
    walk_picks(p, &w, NULL);
    memcpy(w.stride[0], stride, (size_t)p->ndim * sizeof *stride);
    rl_walk_merge(&w);
    p->step = w.stride[0][0];
    if (w.ndim == 1) return RL_OK;
    p->place = k->svc->scratch(k, RL_COUNT(p->count), sizeof *p->place);
    if (!p->place) return RL_FAIL;
    walk_picks(p, &w, p->place);
    w.nops = 2;
    w.base[1] = base;
    memcpy(w.stride[1], stride, (size_t)p->ndim * sizeof *stride);
    rl_walk_merge(&w);
    rl_walk_range(&w, 0, p->count, place_strip, base);
    return RL_OK;
}

static rl_status plan_rest(rl_call *k, index_plan *p) {
    int64_t stride[2 * RL_MAX_DIMS];
    uint64_t indexed = indexed_dims(p);
    int of_x = !p->writes, n = p->ndim, to = 0;
    rl_walk *w = &p->rest;
    w->nops = 2;
    w->numel = 1;
    w->base[of_x] = rl_data(p->x, p->writes ? RL_WRITE : RL_READ);
    w->base[!of_x] = p->number ? (char *)p->number : rl_data(p->other, p->writes ? RL_READ : RL_WRITE);
    for (int d = 0; d < p->x->ndim; d++) {
        if (indexed >> d & 1) continue;
        w->size[to] = p->x->shape[d];
        w->numel *= p->x->shape[d];
        w->stride[of_x][to++] = p->x->strides[d] * p->item;
    }
    w->ndim = to;
    for (int d = to + n - 1, from = p->other->ndim - 1; d >= 0; d--, from--) {
        int64_t whole = d < p->at ? w->size[d] : d < p->at + n ? p->size[d - p->at] : w->size[d - n];
        stride[d] = from < 0 || p->other->shape[from] == 1 ? 0 : p->other->strides[from] * p->item;
        if (from >= 0 && p->other->shape[from] != whole && p->other->shape[from] != 1) return mask_changed(k);
    }
    for (int d = 0; d < to; d++) w->stride[!of_x][d] = stride[d < p->at ? d : d + n];
    rl_walk_merge(w);
    return plan_places(k, p, stride + p->at);
}

/* ---- moving ---- */
static inline int64_t other_at(const index_plan *p, int64_t i) {
    return p->place ? p->place[i] : i * p->step;
}

/* one slice of `rest` for each pick */
static void move_slices(void *ctx, int64_t begin, int64_t end, int thread) {
    const index_plan *p = ctx;
    rl_walk one = p->rest;
    const rl_strip copy = rl_strip_copy(p->item);
    int of_x = !p->writes;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        one.base[of_x] = p->rest.base[of_x] + p->offset[i];
        one.base[!of_x] = p->rest.base[!of_x] + other_at(p, i);
        if (one.ndim == 1)
            copy(one.base, (const int64_t[2]){one.stride[0][0], one.stride[1][0]}, one.numel, NULL);
        else
            rl_walk_range(&one, 0, one.numel, copy, NULL);
    }
}

/* all picks for each element of `rest` */
#define MOVE_PICKS(bits)                                                                                     \
    static void move_picks_##bits(const index_plan *p, char *const *base, int64_t begin, int64_t end) {      \
        typedef uint##bits##_t T;                                                                            \
        char *x = base[!p->writes], *other = base[p->writes];                                                \
        if (p->writes)                                                                                       \
            for (int64_t i = begin; i < end; i++) *(T *)(x + p->offset[i]) = *(T *)(other + other_at(p, i)); \
        else                                                                                                 \
            for (int64_t i = begin; i < end; i++) *(T *)(other + other_at(p, i)) = *(T *)(x + p->offset[i]); \
    }
MOVE_PICKS(8)
MOVE_PICKS(16)
MOVE_PICKS(32)
MOVE_PICKS(64)

/* all picks for some elements of `rest`, or some picks for all of them */
typedef struct {
    const index_plan *plan;
    bool by_rest;
} picks_job;

static void move_picks(void *ctx, int64_t begin, int64_t end, int thread) {
    const picks_job *job = ctx;
    const index_plan *p = job->plan;
    const int64_t first = job->by_rest ? begin : 0, last = job->by_rest ? end : p->rest.numel;
    (void)thread;
    for (int64_t r = first; r < last; r++) {
        char *base[2] = {p->rest.base[0], p->rest.base[1]};
        rl_walk_seek(&p->rest, r, base);
        (p->item == 8   ? move_picks_64
         : p->item == 4 ? move_picks_32
         : p->item == 2 ? move_picks_16
                        : move_picks_8)(p, base, job->by_rest ? 0 : begin, job->by_rest ? p->count : end);
    }
}

/* Runs of `rest` are worth a copy each, unless they lie across memory and the picks do not. */
static bool plan_by_slices(const index_plan *p) {
    const rl_walk *w = &p->rest;
    const int last = w->ndim - 1;
    if (p->item == 16) return true;
    const bool across = w->stride[0][last] != p->item || w->stride[1][last] != p->item;
    if (across && p->count >= 8) return false;
    return p->count < w->numel || w->size[last] >= 8;
}

/* target = target + source, in order */
static const rl_numbers once = {.d = {1}, .i = {1}};
static void add_strip(char *const *p, const int64_t *step, int64_t n, const void *combine) {
    (*(const rl_strip *)combine)((char *const[3]){p[0], p[0], p[1]},
                                 (const int64_t[3]){step[0], step[0], step[1]}, n, &once);
}

static void add_picks(const index_plan *p) {
    const rl_strip combine = rl_strip_combine(RL_JOIN_ADD, p->x->dtype);
    rl_walk one = p->rest;
    if (p->rest.numel == 1 && !p->place) {
        rl_places_join(RL_JOIN_ADD, p->x->dtype)((rl_run){p->rest.base[0], 0}, p->offset,
                                                 (rl_run){p->rest.base[1], p->step}, p->count, &once);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        one.base[0] = p->rest.base[0] + p->offset[i];
        one.base[1] = p->rest.base[1] + other_at(p, i);
        rl_walk_range(&one, 0, one.numel, add_strip, &combine);
    }
}

static rl_status plan_begin(rl_call *k, index_plan *p, bool *empty) {
    p->list = &k->arg[1];
    p->at = (int)k->attr[0];
    p->item = rl_itemsize(p->x->dtype);
    if (plan_dims(k, p) != RL_OK || plan_rest(k, p) != RL_OK) return RL_FAIL;
    *empty = p->count == 0 || p->rest.numel == 0;
    return *empty ? RL_OK : plan_offsets(k, p);
}

RL_KERNEL(ref_index) {
    index_plan p = {.x = k->arg[0].u.t, .other = k->out[0]};
    bool empty;
    if (plan_begin(k, &p, &empty) != RL_OK) return RL_FAIL;
    if (empty) return RL_OK;
    if (p.count * p.rest.numel != p.other->numel) return mask_changed(k);
    const int64_t n = p.rest.numel;
    if (plan_by_slices(&p)) {
        k->svc->parallel(k, p.count, RL_REF_NS * (double)n, move_slices, &p);
    } else {
        picks_job job = {&p, n > p.count};
        k->svc->parallel(k, job.by_rest ? n : p.count, RL_REF_NS * (double)(job.by_rest ? p.count : n),
                         move_picks, &job);
    }
    return RL_OK;
}

/* Picks may name an element twice: the last one wins, so they go in order. */
RL_KERNEL(ref_index_put) {
    index_plan p = {.x = k->out[0], .other = k->arg[2].u.t, .writes = true};
    bool empty;
    uint64_t number;
    if (p.x->dtype != p.other->dtype) {
        if (rl_element_from(k, 2, p.x->dtype, &number) != RL_OK) return RL_FAIL;
        p.number = &number;
    }
    rl_view_start(k);
    if (plan_begin(k, &p, &empty) != RL_OK) return RL_FAIL;
    if (empty) return RL_OK;
    if (k->arg[3].u.i) {
        add_picks(&p);
    } else if (plan_by_slices(&p)) {
        move_slices(&p, 0, p.count, 0);
    } else {
        picks_job job = {.plan = &p};
        move_picks(&job, 0, p.count, 0);
    }
    return RL_OK;
}
