/* Elements that go to places of the flat tensor. */
#include "index.h"
#include <string.h>

/* the offset of element i of a view of any strides */
static int64_t flat_offset(const rl_walk *w, int64_t i) {
    char *p[RL_WALK_OPS] = {w->base[0]};
    rl_walk_seek(w, i, p);
    return p[0] - w->base[0];
}

static rl_walk flat_walk(const rl_view *v, int mode) {
    rl_walk w;
    rl_walk_begin(&w, v, mode);
    rl_walk_merge(&w);
    return w;
}

typedef struct {
    rl_walk to, index, source;
    rl_places places;
    rl_places_joiner join; /* NULL: the source replaces */
    int64_t item;
} putting;

static void put_run(putting *p, int64_t at, int64_t n) {
    static const rl_numbers once = {.d = {1}, .i = {1}};
    int64_t offset[RL_PLACES];
    const rl_run to = {p->to.base[0], 0};
    const rl_run from = {p->source.base[0] + flat_offset(&p->source, at), p->source.stride[0][0]};
    n = rl_places_read(&p->places, p->index.base[0] + flat_offset(&p->index, at), p->index.stride[0][0], n,
                       offset);
    for (int64_t i = 0; p->to.ndim > 1 && i < n; i++) offset[i] = flat_offset(&p->to, offset[i]);
    if (p->join)
        p->join(to, offset, from, n, &once);
    else
        rl_places_put(p->item, to, offset, from, n);
}

RL_KERNEL(ref_put) {
    const rl_view *out = k->out[0], *index = k->arg[1].u.t, *source = k->arg[2].u.t;
    rl_view_start(k);
    if (index->numel == 0) return RL_OK;
    putting p = {.to = flat_walk(out, RL_WRITE),
                 .index = flat_walk(index, RL_READ),
                 .source = flat_walk(source, RL_READ),
                 .places = {.size = out->numel, .wide = true, .wraps = true},
                 .join = k->arg[3].u.i ? rl_places_join(RL_JOIN_ADD, out->dtype) : NULL,
                 .item = rl_itemsize(out->dtype)};
    p.places.step = p.to.ndim > 1 ? 1 : p.to.stride[0][0];
    const int64_t run = p.index.ndim > 1 || p.source.ndim > 1 ? 1 : RL_PLACES;
    for (int64_t i = 0; i < index->numel && !p.places.faulty; i += run)
        put_run(&p, i, index->numel - i < run ? index->numel - i : run);
    if (!p.places.faulty) return RL_OK;
    return rl_fail(k, RL_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)p.places.fault, (long long)out->numel);
}
