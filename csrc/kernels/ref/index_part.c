/* A tensor with another one in a part's place: select_scatter and its kin. */
#include "loops.h"
#include <string.h>

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
    const rl_strip strip = rl_strip_between(to->dtype, from->dtype);
    rl_walk w;
    rl_walk_begin(&w, to, RL_WRITE);
    rl_walk_add(&w, from);
    if (to_memory) w.base[0] = to_memory;
    if (from_memory) w.base[1] = from_memory;
    if (!rl_view_overlaps(to)) {
        rl_walk_each(k, &w, RL_REF_NS, strip, &pair);
    } else { /* in order: the last one wins */
        rl_walk_merge(&w);
        rl_walk_range(&w, 0, w.numel, strip, &pair);
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
