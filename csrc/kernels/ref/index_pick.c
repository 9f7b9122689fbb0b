/* Elements found by an index along one dimension, or in the flat tensor: gather, index_select, take. */
#include "index.h"
#include <string.h>

/* what a thread takes to find an element that may lie anywhere */
static const double PICK_NS = 0.5;

/* to, index, and x with no step along `dim`, which the index names places of */
static void pick_begin(rl_walk *w, rl_picking *pick, const rl_view *x, int64_t dim) {
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
    rl_walk w;
    if (index->numel == 0) return RL_OK;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, index);
    pick_begin(&w, &pick, k->arg[0].u.t, dim);
    rl_walk_merge(&w);
    rl_walk_parallel(k, &w, PICK_NS, rl_pick_strip, &pick);
    if (!pick.places.faulty) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "index %lld is out of bounds for dimension %lld with size %lld",
                   (long long)pick.places.fault, (long long)dim, (long long)pick.places.size);
}

/* PyTorch has another path, and another text, for dim 1 and for tensors without elements */
static rl_status select_fault(rl_call *k, const rl_places *places) {
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

static void rows_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const row_pick *row = ctx;
    for (int64_t i = 0; i < n; i++)
        rl_places_take(row->item, (rl_run){p[0] + i * step[0], row->step}, (rl_run){p[2] + i * step[2], 0},
                       row->offset, row->n);
}

static rl_status select_in_rows(rl_call *k, rl_walk *w, rl_picking *pick) {
    const int last = w->ndim - 1;
    const int64_t n = w->size[last], step = w->stride[1][last];
    int64_t *offset = k->svc->scratch(k, RL_COUNT(n), sizeof *offset);
    row_pick row = {offset, n, w->stride[0][last], pick->item};
    if (!offset) return RL_FAIL;
    if (rl_places_read(&pick->places, w->base[1], step, n, offset) < n) return RL_OK;
    rl_walk_drop(w, 1ull << last);
    rl_walk_merge(w);
    rl_walk_parallel(k, w, RL_REF_NS * (double)n, rows_strip, &row);
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
    int64_t offset[RL_PLACES];
    (void)thread;
    for (int64_t i = begin, read; i < end && !__atomic_load_n(&c->pick->places.faulty, __ATOMIC_RELAXED);
         i += read) {
        read = rl_places_read(&c->pick->places, c->index + i * c->step, c->step,
                              end - i < RL_PLACES ? end - i : RL_PLACES, offset);
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

static void select_rows(rl_call *k, const rl_walk *w, rl_picking *pick) {
    const int64_t n = w->size[0], row = w->numel / n;
    row_copy copy = {pick, w->base[1], w->base[2], w->base[0], w->stride[1][0], row * pick->item};
    k->svc->parallel(k, n, RL_REF_NS * (double)row, copy_rows, &copy);
}

RL_KERNEL(ref_index_select) {
    const rl_view *index = k->arg[2].u.t, *out = k->out[0];
    const int64_t dim = k->attr[0], step = index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    rl_picking pick = {.places.wide = index->dtype == RL_I64};
    rl_walk w;
    int64_t unused;
    rl_walk_begin(&w, out, RL_WRITE);
    w.base[w.nops] = rl_data(index, RL_READ);
    for (int d = 0; d < w.ndim; d++) w.stride[w.nops][d] = d == dim ? step : 0;
    w.nops++;
    pick_begin(&w, &pick, k->arg[0].u.t, dim);
    if (out->numel == 0) { /* there is nothing to pick, but what is named must be there */
        const int64_t n = step || !index->numel ? index->numel : 1; /* of one number, one look will do */
        for (int64_t i = 0; i < n && !pick.places.faulty; i++)
            rl_places_read(&pick.places, w.base[1] + i * step, 0, 1, &unused);
    } else if (dim == w.ndim - 1 && out->numel >= 4 * index->numel) {
        if (select_in_rows(k, &w, &pick) != RL_OK) return RL_FAIL;
    } else if (dim == 0 && w.ndim > 1 && has_rows(k->arg[0].u.t)) {
        select_rows(k, &w, &pick);
    } else {
        const double ns = dim == w.ndim - 1 ? PICK_NS : RL_REF_NS;
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, ns, rl_pick_strip, &pick);
    }
    return pick.places.faulty ? select_fault(k, &pick.places) : RL_OK;
}

/* ---- the flat tensor ---- */
/* operands: result, offsets of the elements in a tensor without strides */
typedef struct {
    const rl_walk *x;
    rl_picking pick;
} taking;

static void take_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    taking *t = (taking *)ctx;
    int64_t at;
    for (int64_t i = 0; i < n && rl_places_read(&t->pick.places, p[1] + i * step[1], 0, 1, &at); i++) {
        char *from[RL_WALK_OPS] = {t->x->base[0]};
        rl_walk_seek(t->x, at, from);
        memcpy(p[0] + i * step[0], from[0], (size_t)t->pick.item);
    }
}

RL_KERNEL(ref_take) {
    const rl_view *x = k->arg[0].u.t;
    taking t = {.pick = {.item = rl_itemsize(x->dtype),
                         .places = {.size = x->numel, .step = 1, .wide = true, .wraps = true}}};
    rl_walk w, flat;
    if (k->out[0]->numel == 0) return RL_OK;
    rl_walk_begin(&flat, x, RL_READ);
    rl_walk_merge(&flat);
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    rl_walk_add(&w, k->arg[1].u.t);
    if (flat.ndim == 1) {
        t.pick.places.step = flat.stride[0][0];
        w.base[w.nops] = flat.base[0];
        for (int d = 0; d < w.ndim; d++) w.stride[w.nops][d] = 0;
        w.nops++;
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, PICK_NS, rl_pick_strip, &t.pick);
    } else {
        t.x = &flat;
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, PICK_NS * 4, take_strip, &t);
    }
    if (!t.pick.places.faulty) return RL_OK;
    return rl_fail(k, RL_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                   (long long)t.pick.places.fault, (long long)x->numel);
}
