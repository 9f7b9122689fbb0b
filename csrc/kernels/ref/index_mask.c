/* nonzero, masked_select, masked_fill and masked_scatter. */
#include "index.h"
#include <string.h>

/* Masks, counted before they are used.
 *
 * Note [Counting first]
 *     elements   [ block 0 | block 1 | block 2 ... ]
 *     counts     [    n0   |    n1   |    n2   ... ]     of those not zero; added up: where a block's own
 * begin Blocks are counted by several threads, then searched by several threads. None finds more than was
 * counted: a mask that another thread changes meanwhile may leave places unfilled, but nothing is written
 * elsewhere. */
typedef struct {
    int64_t (*count)(const char *p, int64_t step, int64_t n, uint64_t telling);
    /* the numbers of those that are not zero, from `first` on; at most `room` */
    int64_t (*find)(const char *p, int64_t step, int64_t n, uint64_t telling, int64_t first, int64_t *to,
                    int64_t room);
    uint64_t telling; /* the bits that tell: all but the signs of floats */
} rl_truths;

typedef struct {
    const rl_iter *iter; /* operand 0 is asked */
    rl_truths asked;
    int64_t *begin; /* of each block, and of what would follow them */
} rl_counting;

/* Elements [begin, end) of the walk, of which those in [found, room) may be found. */
typedef struct {
    int64_t begin, end, found, room;
} rl_block;
enum { RL_BLOCK = 16384 };

/* ---- elements that are not zero, and those that a mask picks: Note [Counting first] ---- */
/* ---- which are not zero ---- */
enum { SHORT = 255, GROUP = 16 }; /* SHORT: counts in the elements' own type do not wrap */
#define TRUTHS(bits)                                                                                         \
    static int64_t count_##bits(const char *p, int64_t step, int64_t n, uint64_t telling) {                  \
        typedef uint##bits##_t T;                                                                            \
        const T mask = (T)telling;                                                                           \
        int64_t all = 0;                                                                                     \
        for (int64_t i = 0; i < n; i += SHORT) {                                                             \
            const int m = n - i < SHORT ? (int)(n - i) : SHORT;                                              \
            T some = 0;                                                                                      \
            if (step == sizeof(T))                                                                           \
                for (int j = 0; j < m; j++) some += (((const T *)p)[i + j] & mask) != 0;                     \
            else                                                                                             \
                for (int j = 0; j < m; j++) some += (*(const T *)(p + (i + j) * step) & mask) != 0;          \
            all += some;                                                                                     \
        }                                                                                                    \
        return all;                                                                                          \
    }                                                                                                        \
    /* the numbers of those that are not zero, from `first` on; at most `room` */                            \
    static int64_t find_##bits(const char *p, int64_t step, int64_t n, uint64_t telling, int64_t first,      \
                               int64_t *to, int64_t room) {                                                  \
        typedef uint##bits##_t T;                                                                            \
        const T mask = (T)telling;                                                                           \
        int64_t found = 0, i = 0;                                                                            \
        while (i < n && found < room) {                                                                      \
            const int64_t end = i + GROUP < n ? i + GROUP : n;                                               \
            if (step == sizeof(T) && end == i + GROUP) { /* none of many is the usual case of few */         \
                T some = 0;                                                                                  \
                for (int j = 0; j < GROUP; j++) some |= ((const T *)p)[i + j] & mask;                        \
                if (!some) {                                                                                 \
                    i = end;                                                                                 \
                    continue;                                                                                \
                }                                                                                            \
            }                                                                                                \
            for (; i < end && found < room; i++) {                                                           \
                to[found] = first + i;                                                                       \
                found += (*(const T *)(p + i * step) & mask) != 0;                                           \
            }                                                                                                \
        }                                                                                                    \
        return found;                                                                                        \
    }
TRUTHS(8)
TRUTHS(16)
TRUTHS(32)
TRUTHS(64)

static rl_truths rl_truths_of(int dtype) {
    static const rl_truths of_size[] = {[1] = {count_8, find_8, 0},
                                        [2] = {count_16, find_16, 0},
                                        [4] = {count_32, find_32, 0},
                                        [8] = {count_64, find_64, 0}};
    rl_truths t = of_size[rl_itemsize(dtype)];
    t.telling = dtype == RL_F32      ? INT32_MAX
                : dtype == RL_F64    ? INT64_MAX
                : rl_is_float(dtype) ? INT16_MAX
                                     : UINT64_MAX;
    return t;
}

/* ---- Note [Counting first] ---- */
typedef struct {
    const rl_truths *asked;
    int64_t n;
} block_count;

static void count_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_count *c = (block_count *)ctx;
    c->n += c->asked->count(p[0], step[0], n, c->asked->telling);
}

static int64_t rl_blocks(const rl_counting *c) {
    return (c->iter->numel + RL_BLOCK - 1) / RL_BLOCK;
}

/* most: there is room for, in all */
static rl_block rl_block_at(const rl_counting *c, int64_t block, int64_t most) {
    rl_block b = {.begin = block * RL_BLOCK, .found = c->begin[block], .room = c->begin[block + 1]};
    b.end = b.begin + RL_BLOCK < c->iter->numel ? b.begin + RL_BLOCK : c->iter->numel;
    if (b.room > most) b.room = most;
    return b;
}

static void count_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_counting *c = ctx;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_count count = {&c->asked, 0};
        const int64_t from = n * RL_BLOCK, last = from + RL_BLOCK;
        rl_iter_range(c->iter, from, last < c->iter->numel ? last : c->iter->numel, count_loop, &count);
        c->begin[n] = count.n;
    }
}

/* how many in all; -1: no memory */
static int64_t rl_count_all(rl_call *k, rl_counting *c) {
    const int64_t blocks = rl_blocks(c);
    int64_t all = 0;
    c->begin = k->svc->scratch(k, rl_count_plus(RL_COUNT(blocks), 1), sizeof *c->begin);
    if (!c->begin) return -1;
    k->svc->parallel(k, blocks, RL_REF_NS * RL_BLOCK, count_blocks, c);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t n = c->begin[b];
        c->begin[b] = all;
        all += n;
    }
    return c->begin[blocks] = all;
}

RL_KERNEL(ref_nonzero_count) {
    const rl_view *x = k->arg[0].u.t;
    int64_t *to = rl_data(k->out[0], RL_WRITE);
    rl_iter w;
    rl_counting c = {.iter = &w, .asked = rl_truths_of(x->dtype)};
    *to = 0;
    if (x->numel == 0) return RL_OK;
    rl_iter_begin(&w, x, RL_READ);
    rl_iter_merge(&w);
    *to = rl_count_all(k, &c);
    return *to < 0 ? RL_FAIL : RL_OK;
}

/* ---- the places of those that are not zero ---- */
typedef struct {
    rl_counting c;
    int64_t *to, place, step; /* of the result: from place to place, from dimension to dimension */
    int64_t room;
} searching;

typedef struct {
    const searching *s;
    rl_block b;
    int64_t index[RL_MAX_DIMS];
} block_search;

/* one row of the innermost dimension, or a part of it */
static void search_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_search *search = (block_search *)ctx;
    const searching *s = search->s;
    const rl_truths *asked = &s->c.asked;
    const int last = s->c.iter->ndim - 1;
    int64_t *index = search->index, buffer[RL_INDEX_RUN];
    for (int64_t i = 0; i < n && search->b.found < search->b.room; i += RL_INDEX_RUN) {
        const int64_t m = n - i < RL_INDEX_RUN ? n - i : RL_INDEX_RUN,
                      room = search->b.room - search->b.found;
        const int64_t found = asked->find(p[0] + i * step[0], step[0], m, asked->telling, index[last] + i,
                                          buffer, room < m ? room : m);
        int64_t *to = s->to + search->b.found * s->place;
        for (int d = 0; d < last; d++)
            for (int64_t j = 0; j < found; j++) to[d * s->step + j * s->place] = index[d];
        for (int64_t j = 0; j < found; j++) to[last * s->step + j * s->place] = buffer[j];
        search->b.found += found;
    }
    index[last] += n;
    for (int d = last; d > 0 && index[d] == s->c.iter->size[d]; d--) {
        index[d] = 0;
        index[d - 1]++;
    }
}

static void search_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const searching *s = ctx;
    const rl_iter *w = s->c.iter;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_search search = {.s = s, .b = rl_block_at(&s->c, n, s->room)};
        int64_t at = search.b.begin;
        for (int d = w->ndim - 1; d >= 0; at /= w->size[d--]) search.index[d] = at % w->size[d];
        if (search.b.found < search.b.room)
            rl_iter_range(w, search.b.begin, search.b.end, search_loop, &search);
    }
}

/* (input, int size, int fill_value): as many places as there is room for, then the fill value */
RL_KERNEL(ref_nonzero_static) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    rl_iter w;
    if (out->numel == 0) return RL_OK;
    searching s = {.c = {.iter = &w, .asked = rl_truths_of(x->dtype)},
                   .to = rl_data(out, RL_WRITE),
                   .place = out->strides[0],
                   .step = out->strides[1],
                   .room = out->shape[0]};
    rl_iter_begin(&w, x, RL_READ);
    const int64_t found = x->numel ? rl_count_all(k, &s.c) : 0;
    if (found < 0) return RL_FAIL;
    for (int64_t i = found; i < s.room; i++)
        for (int d = 0; d < x->ndim; d++) s.to[i * s.place + d * s.step] = k->arg[2].u.i;
    if (found) k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, search_blocks, &s);
    return RL_OK;
}

/* ---- elements that a mask picks, fills, or pours others into ---- */
/* ---- picking; operands: mask, input ---- */
typedef struct {
    rl_counting c;
    char *to;
    int64_t item, room;
} selecting;

typedef struct {
    const selecting *s;
    rl_block b;
} block_select;

#define SELECT(bits)                                                                                         \
    static int64_t select_##bits(char *const *p, const int64_t *step, int64_t n, char *to, int64_t room) {   \
        typedef uint##bits##_t T;                                                                            \
        int64_t found = 0;                                                                                   \
        for (int64_t i = 0; i < n && found < room; i++) {                                                    \
            ((T *)to)[found] = *(const T *)(p[1] + i * step[1]);                                             \
            found += p[0][i * step[0]] != 0;                                                                 \
        }                                                                                                    \
        return found;                                                                                        \
    }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

static int64_t select_wide(char *const *p, const int64_t *step, int64_t n, char *to, int64_t room) {
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < room; i++)
        if (p[0][i * step[0]]) memcpy(to + found++ * 16, p[1] + i * step[1], 16);
    return found;
}

static void select_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_select *select = (block_select *)ctx;
    const int64_t item = select->s->item;
    select->b.found += (item == 4   ? select_32
                        : item == 8 ? select_64
                        : item == 1 ? select_8
                        : item == 2 ? select_16
                                    : select_wide)(p, step, n, select->s->to + select->b.found * item,
                                                   select->b.room - select->b.found);
}

static void select_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const selecting *s = ctx;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_select select = {.s = s, .b = rl_block_at(&s->c, n, s->room)};
        if (select.b.found < select.b.room)
            rl_iter_range(s->c.iter, select.b.begin, select.b.end, select_loop, &select);
    }
}

/* into a vector without gaps; what the mask no longer finds is 0 */
static rl_status select_all(rl_call *k, rl_iter *w, const rl_view *out) {
    selecting s = {.c = {.iter = w, .asked = rl_truths_of(RL_BOOL)},
                   .to = rl_data(out, RL_WRITE),
                   .item = rl_itemsize(out->dtype),
                   .room = out->numel};
    rl_iter_merge(w);
    const int64_t found = rl_count_all(k, &s.c);
    if (found < 0) return RL_FAIL;
    if (found < s.room) memset(s.to + found * s.item, 0, (size_t)((s.room - found) * s.item));
    k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, select_blocks, &s);
    return RL_OK;
}

/* the dims that two views stretch to together; both are read */
static void iter_together(rl_iter *w, const rl_view *a, const rl_view *b) {
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    w->nops = 0;
    w->ndim = ndim;
    w->numel = 1;
    for (int d = 0; d < ndim; d++) {
        const int in_a = d - (ndim - a->ndim), in_b = d - (ndim - b->ndim);
        w->size[d] = in_a >= 0 && a->shape[in_a] != 1 ? a->shape[in_a] : in_b >= 0 ? b->shape[in_b] : 1;
        w->numel *= w->size[d];
    }
    rl_iter_add(w, a);
    rl_iter_add(w, b);
}

RL_KERNEL(ref_masked_select) {
    rl_iter w;
    if (k->out[0]->numel == 0) return RL_OK;
    iter_together(&w, k->arg[1].u.t, k->arg[0].u.t);
    return select_all(k, &w, k->out[0]);
}

/* x[mask], the mask over all of x: the same */
RL_CHOOSER
RL_KERNEL(ref_index_mask) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0], *mask = k->arg[1].n == 1 ? k->arg[1].u.ts[0] : NULL;
    rl_iter w;
    if (!mask || !rl_is_mask(mask) || mask->ndim != x->ndim || out->numel == 0) return RL_UNSUPPORTED;
    rl_iter_begin(&w, mask, RL_READ);
    rl_iter_add(&w, x);
    return select_all(k, &w, out);
}

/* ---- filling ---- */
/* In place, elements that share memory go in order: what one thread keeps another may have filled. */
static void fill_masked(rl_call *k, const rl_view *x, const rl_view *mask, uint64_t element) {
    const rl_view *out = k->out[0];
    const rl_inner_loop select = rl_inner_loop_select(rl_itemsize(out->dtype));
    rl_iter w;
    rl_iter_begin(&w, out, RL_WRITE);
    rl_iter_add(&w, mask);
    w.nops = 3;
    w.base[2] = (char *)&element;
    for (int d = 0; d < w.ndim; d++) w.stride[2][d] = 0;
    rl_iter_add(&w, x);
    if (out->storage != x->storage || w.numel == 0 || !rl_view_overlaps(out)) {
        rl_iter_each(k, &w, RL_REF_NS, select, NULL);
    } else {
        rl_iter_merge(&w);
        rl_iter_range(&w, 0, w.numel, select, NULL);
    }
}

RL_KERNEL(ref_masked_fill) {
    uint64_t element;
    if (rl_element_from(k, 2, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    fill_masked(k, k->arg[0].u.t, k->arg[1].u.t, element);
    return RL_OK;
}

/* x[mask] = number, the mask over all of x: the same */
RL_CHOOSER
RL_KERNEL(ref_index_put_mask) {
    const rl_view *x = k->arg[0].u.t, *mask = k->arg[1].n == 1 ? k->arg[1].u.ts[0] : NULL;
    uint64_t element;
    if (!mask || !rl_is_mask(mask) || mask->ndim != x->ndim || rl_tensor_arg(k, 2)->numel != 1 ||
        k->arg[3].u.i)
        return RL_UNSUPPORTED;
    rl_element_from(k, 2, k->out[0]->dtype, &element); /* of a tensor, which cannot fail */
    fill_masked(k, x, mask, element);
    return RL_OK;
}

/* ---- pouring; operands: mask, result, input ---- */
typedef struct {
    rl_counting c;
    rl_iter source;
    int64_t item, step; /* step: of a source that has one from element to element, else 0 */
} pouring;

typedef struct {
    const pouring *s;
    rl_block b;
} block_pour;

#define POUR(bits)                                                                                           \
    static int64_t pour_##bits(char *const *p, const int64_t *step, int64_t n, const char *from,             \
                               int64_t from_step, int64_t most) {                                            \
        typedef uint##bits##_t T;                                                                            \
        int64_t used = 0;                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const bool poured = p[0][i * step[0]] && used < most;                                            \
            const char *at = poured ? from + used * from_step : p[2] + i * step[2];                          \
            *(T *)(p[1] + i * step[1]) = *(const T *)at;                                                     \
            used += poured;                                                                                  \
        }                                                                                                    \
        return used;                                                                                         \
    }
POUR(8)
POUR(16)
POUR(32)
POUR(64)

static void pour_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_pour *pour = (block_pour *)ctx;
    const pouring *s = pour->s;
    const int64_t run = s->step ? n : 1; /* of a source of other strides each element is sought */
    for (int64_t i = 0; i < n; i += run) {
        char *const at[3] = {p[0] + i * step[0], p[1] + i * step[1], p[2] + i * step[2]};
        char *from[RL_ITER_OPS] = {s->source.base[0] + pour->b.found * s->step};
        if (!s->step && pour->b.found < pour->b.room) rl_iter_seek(&s->source, pour->b.found, from);
        pour->b.found +=
            (s->item == 4   ? pour_32
             : s->item == 8 ? pour_64
             : s->item == 2 ? pour_16
                            : pour_8)(at, step, run, from[0], s->step, pour->b.room - pour->b.found);
    }
}

static void pour_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const pouring *s = ctx;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_pour pour = {.s = s, .b = rl_block_at(&s->c, n, s->source.numel)};
        rl_iter_range(s->c.iter, pour.b.begin, pour.b.end, pour_loop, &pour);
    }
}

RL_KERNEL(ref_masked_scatter) {
    const rl_view *out = k->out[0], *source = k->arg[2].u.t;
    rl_iter w;
    pouring s = {.c = {.iter = &w, .asked = rl_truths_of(RL_BOOL)}, .item = rl_itemsize(out->dtype)};
    if (out->numel == 0) return RL_OK;
    rl_iter_begin(&s.source, source, RL_READ);
    rl_iter_merge(&s.source);
    if (s.source.ndim == 1) s.step = s.source.stride[0][0];
    rl_iter_begin(&w, out, RL_WRITE);
    w.nops = 0;
    rl_iter_add(&w, k->arg[1].u.t);
    rl_iter_add(&w, out);
    rl_iter_add(&w, k->arg[0].u.t);
    w.base[1] = rl_data(out, RL_WRITE);
    rl_iter_merge(&w);
    const int64_t found = rl_count_all(k, &s.c);
    if (found < 0) return RL_FAIL;
    if (found > source->numel)
        return rl_fail(k, RL_RUNTIME, "Number of elements of source < number of ones in mask");
    k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, pour_blocks, &s);
    return RL_OK;
}
