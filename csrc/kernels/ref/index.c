/* Elements read and written at indices: x[indices], gather, index_select, take, put, select_scatter. */
#include "index.h"
#include "loops.h"
#include <string.h>

/* x[indices] read and written: masks and integers become byte offsets into x, which then move elements.
 *
 * Note [Index]
 *     x       [ before | indexed | after ]
 *     result  [ before | picks   | after ]     picks: the dims of the indices, broadcast with one another;
 *                                              they stand first when the indexed dims are no neighbours
 * The offsets of all picks are worked out once. An index is read once, checked, used: whatever another thread
 * writes into it, nothing outside x is touched. A mask is counted again for the same reason. */
typedef struct {
    const rl_view *x, *other; /* what is indexed; the result, or the values that stretch to it */
    const rl_value *list;
    int at, ndim; /* the picks' place among the dims of the result, and how many dims they have */
    int64_t count, size[RL_MAX_DIMS];
    int64_t *offset; /* of each pick, into x */
    int64_t step;    /* from pick to pick in the other tensor ... */
    int64_t *place;  /* ... or the offset of each, where one step does not do */
    rl_iter rest;    /* the dims that are not indexed; operands: target, source */
    bool writes;     /* x is the target */
    int64_t item;
    uint64_t *number; /* stands for the other tensor when it is one element of another dtype */
} index_plan;

/* ---- masks ---- */
typedef struct {
    const char *base;
    int64_t *to, room, found; /* to NULL: only counted */
} mask_search;

static void mask_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
static int64_t mask_iter(const rl_view *mask, const rl_view *x, int dim, int64_t *to, int64_t room) {
    mask_search s = {.base = rl_const_data(x), .to = to, .room = room};
    rl_iter w;
    if (mask->numel == 0) return 0;
    rl_iter_begin(&w, mask, RL_READ);
    w.nops = 2;
    w.base[1] = (char *)s.base;
    for (int d = 0; d < mask->ndim; d++) w.stride[1][d] = x->strides[dim + d] * rl_itemsize(x->dtype);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, mask->numel, mask_loop, &s);
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
            int64_t found = mask_iter(index, p->x, dim, NULL, 0);
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

static void sum_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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

static void table_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)(p[0] + i * step[0]) += *(const int64_t *)(p[1] + i * step[1]);
}

/* operand 0: one number of the table for each pick */
static void iter_picks(const index_plan *p, rl_iter *w, int64_t *table) {
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
    rl_iter w;
    int64_t last = p->size[p->ndim - 1], *found = k->svc->scratch(k, RL_COUNT(last), sizeof *found);
    if (!found) return RL_FAIL;
    int64_t n = mask_iter(mask, p->x, dim, found, last);
    if (n != last && n != 1) return mask_changed(k);
    iter_picks(p, &w, p->offset);
    w.nops = 2;
    w.base[1] = (char *)found;
    for (int d = 0; d < w.ndim; d++) w.stride[1][d] = d == w.ndim - 1 && n > 1 ? (int64_t)sizeof *found : 0;
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, p->count, table_loop, NULL);
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
            rl_iter w;
            iter_picks(p, &w, p->offset);
            rl_iter_add(&w, index);
            rl_iter_merge(&w);
            rl_iter_range(&w, 0, p->count, sum_loop, &s);
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

static void place_loop(char *const *p, const int64_t *step, int64_t n, const void *base) {
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)(p[0] + i * step[0]) = p[1] + i * step[1] - (const char *)base;
}

/* stride: of the other tensor along the picks' dims */
static rl_status plan_places(rl_call *k, index_plan *p, const int64_t *stride) {
    rl_iter w;
    char *base = p->rest.base[p->writes];
    iter_picks(p, &w, NULL);
    memcpy(w.stride[0], stride, (size_t)p->ndim * sizeof *stride);
    rl_iter_merge(&w);
    p->step = w.stride[0][0];
    if (w.ndim == 1) return RL_OK;
    p->place = k->svc->scratch(k, RL_COUNT(p->count), sizeof *p->place);
    if (!p->place) return RL_FAIL;
    iter_picks(p, &w, p->place);
    w.nops = 2;
    w.base[1] = base;
    memcpy(w.stride[1], stride, (size_t)p->ndim * sizeof *stride);
    rl_iter_merge(&w);
    rl_iter_range(&w, 0, p->count, place_loop, base);
    return RL_OK;
}

static rl_status plan_rest(rl_call *k, index_plan *p) {
    int64_t stride[2 * RL_MAX_DIMS];
    uint64_t indexed = indexed_dims(p);
    int of_x = !p->writes, n = p->ndim, to = 0;
    rl_iter *w = &p->rest;
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
    rl_iter_merge(w);
    return plan_places(k, p, stride + p->at);
}

/* ---- moving ---- */
static inline int64_t other_at(const index_plan *p, int64_t i) {
    return p->place ? p->place[i] : i * p->step;
}

/* one slice of `rest` for each pick */
static void move_slices(void *ctx, int64_t begin, int64_t end, int thread) {
    const index_plan *p = ctx;
    rl_iter one = p->rest;
    const rl_inner_loop copy = rl_inner_loop_copy(p->item);
    int of_x = !p->writes;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        one.base[of_x] = p->rest.base[of_x] + p->offset[i];
        one.base[!of_x] = p->rest.base[!of_x] + other_at(p, i);
        if (one.ndim == 1)
            copy(one.base, (const int64_t[2]){one.stride[0][0], one.stride[1][0]}, one.numel, NULL);
        else
            rl_iter_range(&one, 0, one.numel, copy, NULL);
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
        rl_iter_seek(&p->rest, r, base);
        (p->item == 8   ? move_picks_64
         : p->item == 4 ? move_picks_32
         : p->item == 2 ? move_picks_16
                        : move_picks_8)(p, base, job->by_rest ? 0 : begin, job->by_rest ? p->count : end);
    }
}

/* Runs of `rest` are worth a copy each, unless they lie across memory and the picks do not. */
static bool plan_by_slices(const index_plan *p) {
    const rl_iter *w = &p->rest;
    const int last = w->ndim - 1;
    if (p->item == 16) return true;
    const bool across = w->stride[0][last] != p->item || w->stride[1][last] != p->item;
    if (across && p->count >= 8) return false;
    return p->count < w->numel || w->size[last] >= 8;
}

/* target = target + source, in order */
static const rl_numbers once = {.d = {1}, .i = {1}};
static void add_loop(char *const *p, const int64_t *step, int64_t n, const void *combine) {
    (*(const rl_inner_loop *)combine)((char *const[3]){p[0], p[0], p[1]},
                                      (const int64_t[3]){step[0], step[0], step[1]}, n, &once);
}

static void add_picks(const index_plan *p) {
    const rl_inner_loop combine = rl_inner_loop_combine(RL_JOIN_ADD, p->x->dtype);
    rl_iter one = p->rest;
    if (p->rest.numel == 1 && !p->place) {
        rl_indices_join(RL_JOIN_ADD, p->x->dtype)((rl_run){p->rest.base[0], 0}, p->offset,
                                                  (rl_run){p->rest.base[1], p->step}, p->count, &once);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        one.base[0] = p->rest.base[0] + p->offset[i];
        one.base[1] = p->rest.base[1] + other_at(p, i);
        rl_iter_range(&one, 0, one.numel, add_loop, &combine);
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

/* ---- runs of elements at places that an index names: Note [Index offsets] ---- */
static int64_t places_fault(rl_indices *s, int64_t given, int64_t read) {
    if (!__atomic_exchange_n(&s->faulty, 1, __ATOMIC_RELAXED)) s->fault = given;
    return read;
}

/* `dense`: the index has no gaps; what is known at compile time makes the usual loops short */
#define READ_RUN(T, dense, lowest)                                                                           \
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                                \
        const T *place = (dense) ? (const T *)index + i : (const T *)(index + i * step);                     \
        const int64_t at = __atomic_load_n(place, __ATOMIC_RELAXED);                                         \
        if (RL_UNLIKELY((uint64_t)(at - (lowest)) >= (uint64_t)(size - (lowest))))                           \
            return places_fault(s, at, i);                                                                   \
        offset[i] = ((lowest) && at < 0 ? at + size : at) * by;                                              \
    }
#define READ(name, T)                                                                                        \
    static int64_t read_##name(rl_indices *s, const char *index, int64_t step, int64_t n, int64_t *offset) { \
        const int64_t size = s->size, by = s->step;                                                          \
        if (s->wraps) {                                                                                      \
            READ_RUN(T, false, -size)                                                                        \
        } else if (step == sizeof(T)) {                                                                      \
            READ_RUN(T, true, 0)                                                                             \
        } else {                                                                                             \
            READ_RUN(T, false, 0)                                                                            \
        }                                                                                                    \
        return n;                                                                                            \
    }
READ(wide, int64_t)
READ(narrow, int32_t)

int64_t rl_indices_read(rl_indices *s, const char *index, int64_t step, int64_t n, int64_t *offset) {
    return (s->wide ? read_wide : read_narrow)(s, index, step, n, offset);
}

/* ---- moving ---- */
#define MOVE(bits)                                                                                           \
    static void take_##bits(rl_run to, rl_run from, const int64_t *offset, int64_t n) {                      \
        typedef uint##bits##_t T;                                                                            \
        if (to.step == sizeof(T) && from.step == 0)                                                          \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++)((T *)to.p)[i] =                          \
                *(const T *)(from.p + offset[i]);                                                            \
        else                                                                                                 \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) * (T *)(to.p + i * to.step) =            \
                *(const T *)(from.p + i * from.step + offset[i]);                                            \
    }                                                                                                        \
    static void put_##bits(rl_run to, const int64_t *offset, rl_run from, int64_t n) {                       \
        typedef uint##bits##_t T;                                                                            \
        if (from.step == sizeof(T) && to.step == 0)                                                          \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) * (T *)(to.p + offset[i]) =              \
                ((const T *)from.p)[i];                                                                      \
        else                                                                                                 \
            _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) *                                        \
                (T *)(to.p + i * to.step + offset[i]) = *(const T *)(from.p + i * from.step);                \
    }                                                                                                        \
    /* reading and moving in one: an index and a result without gaps */                                      \
    static void pick_##bits(rl_indices *s, char *to, const int64_t *index, const char *from, int64_t n) {    \
        typedef uint##bits##_t T;                                                                            \
        const uint64_t size = (uint64_t)s->size;                                                             \
        const int64_t by = s->step;                                                                          \
        _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                            \
            const int64_t at = __atomic_load_n(index + i, __ATOMIC_RELAXED);                                 \
            if (RL_UNLIKELY((uint64_t)at >= size)) {                                                         \
                places_fault(s, at, i);                                                                      \
                return;                                                                                      \
            }                                                                                                \
            ((T *)to)[i] = *(const T *)(from + at * by);                                                     \
        }                                                                                                    \
    }
MOVE(8)
MOVE(16)
MOVE(32)
MOVE(64)

void rl_indices_take(int64_t item, rl_run to, rl_run from, const int64_t *offset, int64_t n) {
    if (item == 4) return take_32(to, from, offset, n);
    if (item == 8) return take_64(to, from, offset, n);
    if (item == 2) return take_16(to, from, offset, n);
    if (item == 1) return take_8(to, from, offset, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(to.p + i * to.step, from.p + i * from.step + offset[i], (size_t)item);
}

void rl_indices_put(int64_t item, rl_run to, const int64_t *offset, rl_run from, int64_t n) {
    if (item == 4) return put_32(to, offset, from, n);
    if (item == 8) return put_64(to, offset, from, n);
    if (item == 2) return put_16(to, offset, from, n);
    if (item == 1) return put_8(to, offset, from, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(to.p + i * to.step + offset[i], from.p + i * from.step, (size_t)item);
}

static void pick_dense(rl_picking *pick, char *const *p, int64_t n) {
    (pick->item == 4   ? pick_32
     : pick->item == 8 ? pick_64
     : pick->item == 2 ? pick_16
                       : pick_8)(&pick->places, p[0], (const int64_t *)p[1], p[2], n);
}

void rl_pick_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    rl_picking *pick = (rl_picking *)ctx;
    int64_t offset[RL_INDEX_RUN];
    if (n <= 0) return;
    if (step[1] == 0) { /* one index for all */
        if (!rl_indices_read(&pick->places, p[1], 0, 1, offset)) return;
        if (step[0] == pick->item && step[2] == pick->item)
            memcpy(p[0], p[2] + *offset, (size_t)(n * pick->item));
        else
            rl_inner_loop_copy(pick->item)((char *const[2]){p[0], p[2] + *offset},
                                           (const int64_t[2]){step[0], step[2]}, n, NULL);
        return;
    }
    const bool dense = step[0] == pick->item && step[1] == sizeof *offset && step[2] == 0;
    if (dense && pick->item < 16 && pick->places.wide && !pick->places.wraps) {
        pick_dense(pick, p, n);
        return;
    }
    for (int64_t i = 0, read; i < n; i += read) {
        read = rl_indices_read(&pick->places, p[1] + i * step[1], step[1],
                               n - i < RL_INDEX_RUN ? n - i : RL_INDEX_RUN, offset);
        rl_indices_take(pick->item, (rl_run){p[0] + i * step[0], step[0]},
                        (rl_run){p[2] + i * step[2], step[2]}, offset, read);
        if (__atomic_load_n(&pick->places.faulty, __ATOMIC_RELAXED)) return;
    }
}

/* ---- joining ---- */
#define JOIN_RUN(T, LOAD, STORE, expr, place, value)                                                         \
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) {                                                \
        T *at = (T *)(place);                                                                                \
        const C a = LOAD(*at), b = LOAD(value);                                                              \
        *at = STORE(expr);                                                                                   \
    }
#define JOIN(D, T, C_, LOAD, STORE, name, expr)                                                              \
    static void name##_##D(rl_run to, const int64_t *offset, rl_run from, int64_t n, const rl_numbers *c) {  \
        typedef C_ C;                                                                                        \
        (void)c;                                                                                             \
        if (to.step == 0 && from.step == sizeof(T)) {                                                        \
            JOIN_RUN(T, LOAD, STORE, expr, to.p + offset[i], ((const T *)from.p)[i])                         \
        } else {                                                                                             \
            JOIN_RUN(T, LOAD, STORE, expr, to.p + i * to.step + offset[i],                                   \
                     *(const T *)(from.p + i * from.step))                                                   \
        }                                                                                                    \
    }
RL_EACH_FLOAT(JOIN, add, a + (C)c->d[0] * b)
RL_EACH_INT(JOIN, add, RL_WRAP(a, +, RL_WRAP(c->i[0], *, b)))
RL_JUST_BOOL(JOIN, add, (a || (c->i[0] && b)))
RL_EACH_FLOAT(JOIN, mul, a *b)
RL_EACH_INT(JOIN, mul, RL_WRAP(a, *, b))
RL_JUST_BOOL(JOIN, mul, (a && b))
RL_EACH_FLOAT(JOIN, most, (a != a || a > b ? a : b))
RL_EACH_INT(JOIN, most, (a > b ? a : b))
RL_JUST_BOOL(JOIN, most, (a || b))
RL_EACH_FLOAT(JOIN, least, (a != a || a < b ? a : b))
RL_EACH_INT(JOIN, least, (a < b ? a : b))
RL_JUST_BOOL(JOIN, least, (a && b))
#define ENTRIES(name) {RL_EACH_FLOAT(RL_ENTRY, name) RL_EACH_INT(RL_ENTRY, name) RL_JUST_BOOL(RL_ENTRY, name)}

rl_indices_joiner rl_indices_join(int join, int dtype) {
    static const rl_indices_joiner joiners[][RL_NDTYPES] = {[RL_JOIN_ADD] = ENTRIES(add),
                                                            [RL_JOIN_MUL] = ENTRIES(mul),
                                                            [RL_JOIN_MAX] = ENTRIES(most),
                                                            [RL_JOIN_MIN] = ENTRIES(least),
                                                            [RL_JOIN_MEAN] = ENTRIES(add)};
    return joiners[join][dtype];
}

/* Elements found by an index along one dimension, or in the flat tensor: gather, index_select, take. */
/* what a thread takes to find an element that may lie anywhere */
static const double PICK_NS = 0.5;

/* to, index, and x with no step along `dim`, which the index names places of */
static void pick_begin(rl_iter *w, rl_picking *pick, const rl_view *x, int64_t dim) {
    pick->item = rl_itemsize(x->dtype);
    pick->places.size = x->ndim ? x->shape[dim] : 1;
    pick->places.step = x->ndim ? x->strides[dim] * pick->item : 0;
    w->base[w->nops] = rl_data(x, RL_READ);
    for (int d = 0; d < w->ndim; d++)
        w->stride[w->nops][d] = d == dim || !x->ndim ? 0 : x->strides[d] * pick->item;
    w->nops++;
}

RL_KERNEL(ref_gather) {
    const rl_view *index = k->arg[2].u.t;
    const int64_t dim = k->attr[0];
    rl_picking pick = {.places.wide = index->dtype == RL_I64};
    rl_iter w;
    if (index->numel == 0) return RL_OK;
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, index);
    pick_begin(&w, &pick, k->arg[0].u.t, dim);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, PICK_NS, rl_pick_loop, &pick);
    if (!pick.places.faulty) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "index %lld is out of bounds for dimension %lld with size %lld",
                   (long long)pick.places.fault, (long long)dim, (long long)pick.places.size);
}

/* PyTorch has another path, and another text, for dim 1 and for tensors without elements */
static rl_status select_fault(rl_call *k, const rl_indices *places) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim > 1 && (k->attr[0] == 1 || x->numel == 0))
        return rl_fail(k, RL_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
                       (long long)places->fault, (long long)places->size);
    return rl_fail(k, RL_INDEX, "index out of range in self");
}

/* ---- the innermost dimension: the same offsets for every row; operands: result, index, input ---- */
typedef struct {
    const int64_t *offset;
    int64_t n, step, item; /* step: of the result along a row */
} row_pick;

static void rows_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const row_pick *row = ctx;
    for (int64_t i = 0; i < n; i++)
        rl_indices_take(row->item, (rl_run){p[0] + i * step[0], row->step}, (rl_run){p[2] + i * step[2], 0},
                        row->offset, row->n);
}

static rl_status select_in_rows(rl_call *k, rl_iter *w, rl_picking *pick) {
    const int last = w->ndim - 1;
    const int64_t n = w->size[last], step = w->stride[1][last];
    int64_t *offset = k->svc->scratch(k, RL_COUNT(n), sizeof *offset);
    row_pick row = {offset, n, w->stride[0][last], pick->item};
    if (!offset) return RL_FAIL;
    if (rl_indices_read(&pick->places, w->base[1], step, n, offset) < n) return RL_OK;
    rl_iter_drop(w, 1ull << last);
    rl_iter_merge(w);
    rl_iter_parallel(k, w, RL_REF_NS * (double)n, rows_loop, &row);
    return RL_OK;
}

/* ---- the outermost dimension, of rows without gaps ---- */
typedef struct {
    rl_picking *pick;
    const char *index, *from;
    char *to;
    int64_t step, bytes; /* of the index; of a row */
} row_copy;

static void copy_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const row_copy *c = ctx;
    int64_t offset[RL_INDEX_RUN];
    (void)thread;
    for (int64_t i = begin, read; i < end && !__atomic_load_n(&c->pick->places.faulty, __ATOMIC_RELAXED);
         i += read) {
        read = rl_indices_read(&c->pick->places, c->index + i * c->step, c->step,
                               end - i < RL_INDEX_RUN ? end - i : RL_INDEX_RUN, offset);
        for (int64_t j = 0; j < read; j++)
            memcpy(c->to + (i + j) * c->bytes, c->from + offset[j], (size_t)c->bytes);
    }
}

/* are the dims behind the first one run of memory? */
static bool has_rows(const rl_view *v) {
    int64_t expected = 1;
    for (int d = v->ndim - 1; d > 0; expected *= v->shape[d--])
        if (v->shape[d] != 1 && v->strides[d] != expected) return false;
    return true;
}

static void select_rows(rl_call *k, const rl_iter *w, rl_picking *pick) {
    const int64_t n = w->size[0], row = w->numel / n;
    row_copy copy = {pick, w->base[1], w->base[2], w->base[0], w->stride[1][0], row * pick->item};
    k->svc->parallel(k, n, RL_REF_NS * (double)row, copy_rows, &copy);
}

RL_KERNEL(ref_index_select) {
    const rl_view *index = k->arg[2].u.t, *out = k->out[0];
    const int64_t dim = k->attr[0], step = index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    rl_picking pick = {.places.wide = index->dtype == RL_I64};
    rl_iter w;
    int64_t unused;
    rl_iter_begin(&w, out, RL_WRITE);
    w.base[w.nops] = rl_data(index, RL_READ);
    for (int d = 0; d < w.ndim; d++) w.stride[w.nops][d] = d == dim ? step : 0;
    w.nops++;
    pick_begin(&w, &pick, k->arg[0].u.t, dim);
    if (out->numel == 0) { /* there is nothing to pick, but what is named must be there */
        const int64_t n = step || !index->numel ? index->numel : 1; /* of one number, one look will do */
        for (int64_t i = 0; i < n && !pick.places.faulty; i++)
            rl_indices_read(&pick.places, w.base[1] + i * step, 0, 1, &unused);
    } else if (dim == w.ndim - 1 && out->numel >= 4 * index->numel) {
        if (select_in_rows(k, &w, &pick) != RL_OK) return RL_FAIL;
    } else if (dim == 0 && w.ndim > 1 && has_rows(k->arg[0].u.t)) {
        select_rows(k, &w, &pick);
    } else {
        const double ns = dim == w.ndim - 1 ? PICK_NS : RL_REF_NS;
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, ns, rl_pick_loop, &pick);
    }
    return pick.places.faulty ? select_fault(k, &pick.places) : RL_OK;
}

/* ---- the flat tensor ---- */
/* operands: result, offsets of the elements in a tensor without strides */
typedef struct {
    const rl_iter *x;
    rl_picking pick;
} taking;

static void take_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    taking *t = (taking *)ctx;
    int64_t at;
    for (int64_t i = 0; i < n && rl_indices_read(&t->pick.places, p[1] + i * step[1], 0, 1, &at); i++) {
        char *from[RL_ITER_OPS] = {t->x->base[0]};
        rl_iter_seek(t->x, at, from);
        memcpy(p[0] + i * step[0], from[0], (size_t)t->pick.item);
    }
}

RL_KERNEL(ref_take) {
    const rl_view *x = k->arg[0].u.t;
    taking t = {.pick = {.item = rl_itemsize(x->dtype),
                         .places = {.size = x->numel, .step = 1, .wide = true, .wraps = true}}};
    rl_iter w, flat;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_iter_begin(&flat, x, RL_READ);
    rl_iter_merge(&flat);
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, k->arg[1].u.t);
    if (flat.ndim == 1) {
        t.pick.places.step = flat.stride[0][0];
        w.base[w.nops] = flat.base[0];
        for (int d = 0; d < w.ndim; d++) w.stride[w.nops][d] = 0;
        w.nops++;
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, PICK_NS, rl_pick_loop, &t.pick);
    } else {
        t.x = &flat;
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, PICK_NS * 4, take_loop, &t);
    }
    if (!t.pick.places.faulty) return RL_OK;
    return rl_fail(k, RL_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)t.pick.places.fault, (long long)x->numel);
}

/* ---- elements that go to places of the flat tensor ---- */
/* the offset of element i of a view of any strides */
static int64_t flat_offset(const rl_iter *w, int64_t i) {
    char *p[RL_ITER_OPS] = {w->base[0]};
    rl_iter_seek(w, i, p);
    return p[0] - w->base[0];
}

static rl_iter flat_iter(const rl_view *v, int mode) {
    rl_iter w;
    rl_iter_begin(&w, v, mode);
    rl_iter_merge(&w);
    return w;
}

typedef struct {
    rl_iter to, index, source;
    rl_indices places;
    rl_indices_joiner join; /* NULL: the source replaces */
    int64_t item;
} putting;

static void put_run(putting *p, int64_t at, int64_t n) {
    static const rl_numbers once = {.d = {1}, .i = {1}};
    int64_t offset[RL_INDEX_RUN];
    const rl_run to = {p->to.base[0], 0};
    const rl_run from = {p->source.base[0] + flat_offset(&p->source, at), p->source.stride[0][0]};
    n = rl_indices_read(&p->places, p->index.base[0] + flat_offset(&p->index, at), p->index.stride[0][0], n,
                        offset);
    for (int64_t i = 0; p->to.ndim > 1 && i < n; i++) offset[i] = flat_offset(&p->to, offset[i]);
    if (p->join)
        p->join(to, offset, from, n, &once);
    else
        rl_indices_put(p->item, to, offset, from, n);
}

RL_KERNEL(ref_put) {
    const rl_view *out = k->out[0], *index = k->arg[1].u.t, *source = k->arg[2].u.t;
    rl_view_start(k);
    if (index->numel == 0) return RL_OK;
    putting p = {.to = flat_iter(out, RL_WRITE),
                 .index = flat_iter(index, RL_READ),
                 .source = flat_iter(source, RL_READ),
                 .places = {.size = out->numel, .wide = true, .wraps = true},
                 .join = k->arg[3].u.i ? rl_indices_join(RL_JOIN_ADD, out->dtype) : NULL,
                 .item = rl_itemsize(out->dtype)};
    p.places.step = p.to.ndim > 1 ? 1 : p.to.stride[0][0];
    const int64_t run = p.index.ndim > 1 || p.source.ndim > 1 ? 1 : RL_INDEX_RUN;
    for (int64_t i = 0; i < index->numel && !p.places.faulty; i += run)
        put_run(&p, i, index->numel - i < run ? index->numel - i : run);
    if (!p.places.faulty) return RL_OK;
    return rl_fail(k, RL_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)p.places.fault, (long long)out->numel);
}

/* ---- A tensor with another one in a part's place: select_scatter and its kin ---- */
/* (input, src, ...): out's dims and strides without attr[1] and attr[2], with a step of attr[4] along attr[3]
 */
RL_KERNEL(ref_part_scatter) {
    const rl_view *src = k->arg[1].u.t, *out = k->out[0];
    const int64_t one = k->attr[1], two = k->attr[2];
    int64_t strides[RL_MAX_DIMS];
    rl_view part = *out;
    int n = 0;
    rl_view_start(k);
    for (int d = 0; d < out->ndim; d++) {
        if (d == one || d == two) continue;
        const bool steps = d == k->attr[3] && src->shape[n] > 1; /* else it may be of any size */
        strides[n++] = out->strides[d] * (steps ? k->attr[4] : 1);
    }
    if (two >= 0) strides[n++] = out->strides[one] + out->strides[two];
    if (src->numel == 0) return RL_OK;
    part.offset += k->attr[0];
    part.ndim = (uint8_t)n;
    part.shape = src->shape;
    part.strides = strides;
    part.numel = src->numel;
    rl_view_cast(k, &part, src);
    return RL_OK;
}

/* ---- as_strided_scatter ---- */
/* how far the last element lies from the first */
static int64_t reach_of(const rl_view *v) {
    int64_t far = 0;
    for (int d = 0; d < v->ndim; d++) far += (v->shape[d] - 1) * v->strides[d];
    return far;
}

/* `memory`: where the first element of one of the views lies; NULL: in its own */
static void cast_at(rl_call *k, const rl_view *to, void *to_memory, const rl_view *from, void *from_memory) {
    rl_cast_pair pair = {to->dtype, from->dtype};
    const rl_inner_loop loop = rl_inner_loop_between(to->dtype, from->dtype);
    rl_iter w;
    rl_iter_begin(&w, to, RL_WRITE);
    rl_iter_add(&w, from);
    if (to_memory) w.base[0] = to_memory;
    if (from_memory) w.base[1] = from_memory;
    if (!rl_view_overlaps(to)) {
        rl_iter_each(k, &w, RL_REF_NS, loop, &pair);
    } else { /* in order: the last one wins */
        rl_iter_merge(&w);
        rl_iter_range(&w, 0, w.numel, loop, &pair);
    }
}

/* The memory between the first and the last element of both is laid out anew: parts may reach what the input
 * steps over. */
RL_KERNEL(ref_strided_scatter) {
    const rl_view *x = k->arg[0].u.t, *src = k->arg[1].u.t, *out = k->out[0];
    rl_view part = *out, whole = *out;
    if (out->numel == 0 || src->numel == 0) {
        rl_view_start(k);
        return RL_OK;
    }
    part.ndim = src->ndim;
    part.shape = src->shape;
    part.numel = src->numel;
    part.strides = k->arg[3].u.ints;
    whole.strides = x->strides;
    const int64_t all = reach_of(x), end = k->attr[0] + reach_of(&part);
    const int64_t offset = k->attr[0], low = offset < 0 ? offset : 0, item = rl_itemsize(out->dtype);
    const int64_t high = end > all ? end : all;
    char *memory = k->svc->scratch(k, RL_COUNT(high - low + 1, item), 1);
    if (!memory) return RL_FAIL;
    cast_at(k, &whole, memory - low * item, x, NULL);
    cast_at(k, &part, memory + (offset - low) * item, src, NULL);
    cast_at(k, out, NULL, &whole, memory - low * item);
    return RL_OK;
}
