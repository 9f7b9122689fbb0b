/* Elements that are not zero, and those that a mask picks: Note [Counting first]. */
#include "index_mask.h"
#include <string.h>

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

rl_truths rl_truths_of(int dtype) {
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

static void count_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_count *c = (block_count *)ctx;
    c->n += c->asked->count(p[0], step[0], n, c->asked->telling);
}

int64_t rl_blocks(const rl_counting *c) {
    return (c->walk->numel + RL_BLOCK - 1) / RL_BLOCK;
}

rl_block rl_block_at(const rl_counting *c, int64_t block, int64_t most) {
    rl_block b = {.begin = block * RL_BLOCK, .found = c->begin[block], .room = c->begin[block + 1]};
    b.end = b.begin + RL_BLOCK < c->walk->numel ? b.begin + RL_BLOCK : c->walk->numel;
    if (b.room > most) b.room = most;
    return b;
}

static void count_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_counting *c = ctx;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_count count = {&c->asked, 0};
        const int64_t from = n * RL_BLOCK, last = from + RL_BLOCK;
        rl_walk_range(c->walk, from, last < c->walk->numel ? last : c->walk->numel, count_strip, &count);
        c->begin[n] = count.n;
    }
}

int64_t rl_count_all(rl_call *k, rl_counting *c) {
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
    rl_walk w;
    rl_counting c = {.walk = &w, .asked = rl_truths_of(x->dtype)};
    *to = 0;
    if (x->numel == 0) return RL_OK;
    rl_walk_begin(&w, x, RL_READ);
    rl_walk_merge(&w);
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
static void search_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_search *search = (block_search *)ctx;
    const searching *s = search->s;
    const rl_truths *asked = &s->c.asked;
    const int last = s->c.walk->ndim - 1;
    int64_t *index = search->index, buffer[RL_PLACES];
    for (int64_t i = 0; i < n && search->b.found < search->b.room; i += RL_PLACES) {
        const int64_t m = n - i < RL_PLACES ? n - i : RL_PLACES, room = search->b.room - search->b.found;
        const int64_t found = asked->find(p[0] + i * step[0], step[0], m, asked->telling, index[last] + i,
                                          buffer, room < m ? room : m);
        int64_t *to = s->to + search->b.found * s->place;
        for (int d = 0; d < last; d++)
            for (int64_t j = 0; j < found; j++) to[d * s->step + j * s->place] = index[d];
        for (int64_t j = 0; j < found; j++) to[last * s->step + j * s->place] = buffer[j];
        search->b.found += found;
    }
    index[last] += n;
    for (int d = last; d > 0 && index[d] == s->c.walk->size[d]; d--) {
        index[d] = 0;
        index[d - 1]++;
    }
}

static void search_blocks(void *ctx, int64_t begin, int64_t end, int thread) {
    const searching *s = ctx;
    const rl_walk *w = s->c.walk;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        block_search search = {.s = s, .b = rl_block_at(&s->c, n, s->room)};
        int64_t at = search.b.begin;
        for (int d = w->ndim - 1; d >= 0; at /= w->size[d--]) search.index[d] = at % w->size[d];
        if (search.b.found < search.b.room)
            rl_walk_range(w, search.b.begin, search.b.end, search_strip, &search);
    }
}

/* (input, int size, int fill_value): as many places as there is room for, then the fill value */
RL_KERNEL(ref_nonzero_static) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    rl_walk w;
    if (out->numel == 0) return RL_OK;
    searching s = {.c = {.walk = &w, .asked = rl_truths_of(x->dtype)},
                   .to = rl_data(out, RL_WRITE),
                   .place = out->strides[0],
                   .step = out->strides[1],
                   .room = out->shape[0]};
    rl_walk_begin(&w, x, RL_READ);
    const int64_t found = x->numel ? rl_count_all(k, &s.c) : 0;
    if (found < 0) return RL_FAIL;
    for (int64_t i = found; i < s.room; i++)
        for (int d = 0; d < x->ndim; d++) s.to[i * s.place + d * s.step] = k->arg[2].u.i;
    if (found) k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, search_blocks, &s);
    return RL_OK;
}
