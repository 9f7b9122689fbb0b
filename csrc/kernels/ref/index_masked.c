/* Elements that a mask picks, fills, or pours others into. */
#include "index_mask.h"
#include <string.h>

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

static void select_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
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
            rl_walk_range(s->c.walk, select.b.begin, select.b.end, select_strip, &select);
    }
}

/* into a vector without gaps; what the mask no longer finds is 0 */
static rl_status select_all(rl_call *k, rl_walk *w, const rl_view *out) {
    selecting s = {.c = {.walk = w, .asked = rl_truths_of(RL_BOOL)},
                   .to = rl_data(out, RL_WRITE),
                   .item = rl_itemsize(out->dtype),
                   .room = out->numel};
    rl_walk_merge(w);
    const int64_t found = rl_count_all(k, &s.c);
    if (found < 0) return RL_FAIL;
    if (found < s.room) memset(s.to + found * s.item, 0, (size_t)((s.room - found) * s.item));
    k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, select_blocks, &s);
    return RL_OK;
}

/* the dims that two views stretch to together; both are read */
static void walk_together(rl_walk *w, const rl_view *a, const rl_view *b) {
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    w->nops = 0;
    w->ndim = ndim;
    w->numel = 1;
    for (int d = 0; d < ndim; d++) {
        const int in_a = d - (ndim - a->ndim), in_b = d - (ndim - b->ndim);
        w->size[d] = in_a >= 0 && a->shape[in_a] != 1 ? a->shape[in_a] : in_b >= 0 ? b->shape[in_b] : 1;
        w->numel *= w->size[d];
    }
    rl_walk_add(w, a);
    rl_walk_add(w, b);
}

RL_KERNEL(ref_masked_select) {
    rl_walk w;
    if (k->out[0]->numel == 0) return RL_OK;
    walk_together(&w, k->arg[1].u.t, k->arg[0].u.t);
    return select_all(k, &w, k->out[0]);
}

/* x[mask], the mask over all of x: the same */
RL_CHOOSER
RL_KERNEL(ref_index_mask) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0], *mask = k->arg[1].n == 1 ? k->arg[1].u.ts[0] : NULL;
    rl_walk w;
    if (!mask || !rl_is_mask(mask) || mask->ndim != x->ndim || out->ndim != 1 || out->numel == 0)
        return RL_UNSUPPORTED;
    rl_walk_begin(&w, mask, RL_READ);
    rl_walk_add(&w, x);
    return select_all(k, &w, out);
}

/* ---- filling ---- */
/* In place, elements that share memory go in order: what one thread keeps another may have filled. */
static void fill_masked(rl_call *k, const rl_view *x, const rl_view *mask, uint64_t element) {
    const rl_view *out = k->out[0];
    const rl_strip select = rl_strip_select(rl_itemsize(out->dtype));
    rl_walk w;
    rl_walk_begin(&w, out, RL_WRITE);
    rl_walk_add(&w, mask);
    w.nops = 3;
    w.base[2] = (char *)&element;
    for (int d = 0; d < w.ndim; d++) w.stride[2][d] = 0;
    rl_walk_add(&w, x);
    if (out->storage != x->storage || w.numel == 0 || !rl_view_overlaps(out)) {
        rl_walk_each(k, &w, RL_REF_NS, select, NULL);
    } else {
        rl_walk_merge(&w);
        rl_walk_range(&w, 0, w.numel, select, NULL);
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
    if (rl_element_from(k, 2, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    fill_masked(k, x, mask, element);
    return RL_OK;
}

/* ---- pouring; operands: mask, result, input ---- */
typedef struct {
    rl_counting c;
    rl_walk source;
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

static void pour_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    block_pour *pour = (block_pour *)ctx;
    const pouring *s = pour->s;
    const int64_t run = s->step ? n : 1; /* of a source of other strides each element is sought */
    for (int64_t i = 0; i < n; i += run) {
        char *const at[3] = {p[0] + i * step[0], p[1] + i * step[1], p[2] + i * step[2]};
        char *from[RL_WALK_OPS] = {s->source.base[0] + pour->b.found * s->step};
        if (!s->step && pour->b.found < pour->b.room) rl_walk_seek(&s->source, pour->b.found, from);
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
        rl_walk_range(s->c.walk, pour.b.begin, pour.b.end, pour_strip, &pour);
    }
}

RL_KERNEL(ref_masked_scatter) {
    const rl_view *out = k->out[0], *source = k->arg[2].u.t;
    rl_walk w;
    pouring s = {.c = {.walk = &w, .asked = rl_truths_of(RL_BOOL)}, .item = rl_itemsize(out->dtype)};
    if (out->numel == 0) return RL_OK;
    rl_walk_begin(&s.source, source, RL_READ);
    rl_walk_merge(&s.source);
    if (s.source.ndim == 1) s.step = s.source.stride[0][0];
    rl_walk_begin(&w, out, RL_WRITE);
    w.nops = 0;
    rl_walk_add(&w, k->arg[1].u.t);
    rl_walk_add(&w, out);
    rl_walk_add(&w, k->arg[0].u.t);
    w.base[1] = rl_data(out, RL_WRITE);
    rl_walk_merge(&w);
    const int64_t found = rl_count_all(k, &s.c);
    if (found < 0) return RL_FAIL;
    if (found > source->numel)
        return rl_fail(k, RL_RUNTIME, "Number of elements of source < number of ones in mask");
    k->svc->parallel(k, rl_blocks(&s.c), RL_REF_NS * 4 * RL_BLOCK, pour_blocks, &s);
    return RL_OK;
}
