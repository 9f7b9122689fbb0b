/* Elements that an index names: along one dimension, in the flat tensor, and by x[indices], read and written.
 */
#include "index.cuh"
#include "scatter.cuh"

/* ==== along one dimension, or in the flat tensor ==== */
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pick_elements(cuda_iter w, T *to, cuda_indices places, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[3], place;
        cuda_iter_seek(w, i, at);
        to[at[0]] = cuda_place(places, at[1], &place) ? from[at[2] + place] : T();
    }
}

rl_status cuda_pick(rl_call *k, const cuda_iter &w, void *to, const cuda_indices &p, const void *from,
                    int64_t item) {
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pick_elements<T>), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, (T *)to,   \
                    p, (const T *)from);                                                                     \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

rl_status cuda_indices_of(rl_call *k, cuda_indices *p, const rl_view *index, const rl_view *v, int64_t dim) {
    *p = {};
    p->at = rl_const_data(index);
    p->is_wide = index->dtype == RL_I64;
    p->size = v->ndim ? v->shape[dim] : 1;
    p->step = v->ndim ? v->strides[dim] : 0;
    p->fault = rl_cuda_fault(k);
    return p->fault ? RL_OK : RL_FAIL;
}

rl_status cuda_indices_flat(rl_call *k, cuda_indices *p, const void *index, int64_t size) {
    *p = {};
    p->at = index;
    p->is_wide = true;
    p->size = size;
    p->step = 1;
    p->fault = rl_cuda_fault(k);
    return p->fault ? RL_OK : RL_FAIL;
}

/* out[0], whose dims these are, takes elements of x */
static rl_status pick_out(rl_call *k, cuda_dims *dims, const cuda_indices &p, const rl_view *x) {
    const rl_view *out = k->out[0];
    cuda_iter w;
    if (!cuda_dims_iter(&w, dims, 3)) return RL_UNSUPPORTED;
    return cuda_pick(k, w, rl_data(out, RL_WRITE), p, rl_const_data(x), rl_itemsize(x->dtype));
}

CUDA_KERNEL(cuda_gather) {
    const rl_view *x = rl_in(k, 0), *index = rl_in(k, 2), *out = k->out[0];
    const int64_t dim = k->attr[0];
    cuda_dims dims = cuda_dims_none();
    cuda_indices p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_indices_of(k, &p, index, x, dim) != RL_OK) return RL_FAIL;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], index->strides[d],
                      d == dim || !x->ndim ? 0 : x->strides[d]);
    return pick_out(k, &dims, p, x);
}

CUDA_KERNEL(cuda_index_select) {
    const rl_view *x = rl_in(k, 0), *index = rl_in(k, 2), *out = k->out[0];
    const int64_t dim = k->attr[0];
    cuda_dims dims = cuda_dims_none();
    cuda_indices p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_indices_of(k, &p, index, x, dim) != RL_OK) return RL_FAIL;
    for (int d = 0; d < out->ndim; d++) {
        const bool named = d == dim;
        cuda_dims_add(&dims, out->shape[d], out->strides[d], named && index->ndim ? index->strides[0] : 0,
                      named || !x->ndim ? 0 : x->strides[d]);
    }
    return pick_out(k, &dims, p, x);
}

/* the rows of a table */
CUDA_KERNEL(cuda_embedding) {
    const rl_view *table = rl_in(k, 0), *index = rl_in(k, 1), *out = k->out[0];
    cuda_dims dims = cuda_dims_none();
    cuda_indices p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_indices_of(k, &p, index, table, 0) != RL_OK) return RL_FAIL;
    for (int d = 0; d < index->ndim; d++)
        cuda_dims_add(&dims, index->shape[d], out->strides[d], index->strides[d], 0);
    cuda_dims_add(&dims, table->shape[1], out->strides[index->ndim], 0, table->strides[1]);
    return pick_out(k, &dims, p, table);
}

CUDA_KERNEL(cuda_take) {
    const rl_view *x = rl_in(k, 0), *index = rl_in(k, 1), *out = k->out[0];
    cuda_dims dims = cuda_dims_none();
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const void *from = x->numel ? cuda_gapless(k, x) : nullptr;
    if ((x->numel && !from) || rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    cuda_indices p;
    cuda_iter w;
    if (cuda_indices_flat(k, &p, rl_const_data(index), x->numel) != RL_OK) return RL_FAIL;
    p.wraps = true;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], index->strides[d], 0);
    if (!cuda_dims_iter(&w, &dims, 3)) return RL_UNSUPPORTED;
    return cuda_pick(k, w, rl_data(out, RL_WRITE), p, from, rl_itemsize(x->dtype));
}

/* x[indices] read and written: integers of the device that broadcast with one another. The dispatcher has
 * made them of masks.
 *
 *     x       [ before | indexed | after ]
 *     result  [ before | picks   | after ]    the picks stand first when the indexed dims are no neighbours
 *
 * One index is used as it is. Of several a table is made first, of offsets in x for each pick, -1 for none.
 */
/* The index of one dim joins the tables: offsets, and slots where elements are written. */
__global__ void __launch_bounds__(CUDA_THREADS)
    sum_places(cuda_iter w, cuda_indices places, int64_t step, int64_t slot_step, bool is_first,
               int64_t *offsets, int64_t *slots) {
    CUDA_EACH(i, w) {
        int64_t at[2], place;
        cuda_iter_seek(w, i, at);
        const int64_t sum = is_first ? 0 : offsets[at[0]];
        const bool known = cuda_place(places, at[1], &place) && sum >= 0;
        offsets[at[0]] = known ? sum + place * step : -1;
        slots[at[0]] = known ? (is_first ? 0 : slots[at[0]]) + place * slot_step : -1;
    }
}

typedef struct {
    int ndim; /* of the picks */
    int64_t count, size[RL_MAX_DIMS], gapless[RL_MAX_DIMS];
    int n_indices, dim[RL_MAX_DIMS]; /* the dims of x that are indexed */
    const rl_view *index[RL_MAX_DIMS];
} picks;

static bool picks_read(const rl_call *k, picks *p) {
    const rl_value *list = &k->arg[1];
    *p = {};
    p->count = 1;
    for (int i = 0; i < list->n; i++) {
        const rl_view *index = list->u.ts[i];
        if (!index) continue;
        if (!cuda_same_place(index, k->out[0]) || (index->dtype != RL_I64 && index->dtype != RL_I32))
            return false;
        p->index[p->n_indices] = index;
        p->dim[p->n_indices++] = i;
        if (index->ndim > p->ndim) p->ndim = index->ndim;
    }
    for (int d = p->ndim - 1; d >= 0; d--) {
        p->size[d] = 1;
        for (int i = 0; i < p->n_indices; i++) {
            const int at = d - (p->ndim - p->index[i]->ndim);
            if (at >= 0 && p->index[i]->shape[at] != 1) p->size[d] = p->index[i]->shape[at];
        }
        p->gapless[d] = p->count;
        p->count *= p->size[d];
    }
    return true;
}

/* the step of v along dim d of n that it stretches to */
static int64_t stretched_step(const rl_view *v, int d, int n) {
    const int at = d - (n - v->ndim);
    return at < 0 || v->shape[at] == 1 ? 0 : v->strides[at];
}

/* operands: the table, the index */
static rl_status sum_index(rl_call *k, const picks *p, int i, const rl_view *x, int64_t slot_step,
                           int64_t *offsets, int64_t *slots) {
    cuda_dims dims = cuda_dims_none();
    cuda_indices places;
    cuda_iter w;
    for (int d = 0; d < p->ndim; d++)
        cuda_dims_add(&dims, p->size[d], p->gapless[d], stretched_step(p->index[i], d, p->ndim));
    if (!cuda_dims_iter(&w, &dims, 2)) return RL_UNSUPPORTED;
    if (cuda_indices_of(k, &places, p->index[i], x, p->dim[i]) != RL_OK) return RL_FAIL;
    places.wraps = true;
    places.step = 1;
    CUDA_LAUNCH((sum_places), cuda_iter_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, places,
                x->strides[p->dim[i]], slot_step, i == 0, offsets, slots);
    return rl_cuda_end(k);
}

/* places of x that all indices name together */
static rl_status places_join(rl_call *k, const picks *p, const rl_view *x, cuda_scattering *s) {
    s->n_slots = 1;
    if (p->n_indices == 1) {
        if (cuda_indices_of(k, &s->places, p->index[0], x, p->dim[0]) != RL_OK) return RL_FAIL;
        s->places.wraps = true;
        s->slots = s->places;
        s->slots.step = x->strides[p->dim[0]] != 0;
        s->n_slots = x->shape[p->dim[0]];
        return RL_OK;
    }
    int64_t *tables = (int64_t *)k->svc->scratch(k, RL_COUNT(p->count, 2), sizeof *tables);
    if (!tables) return RL_FAIL;
    for (int i = 0; i < p->n_indices; i++) {
        const bool shared = x->strides[p->dim[i]] == 0;
        const rl_status status = sum_index(k, p, i, x, shared ? 0 : s->n_slots, tables, tables + p->count);
        if (status != RL_OK) return status;
        s->n_slots *= x->shape[p->dim[i]];
    }
    if (cuda_indices_flat(k, &s->places, tables, INT64_MAX) != RL_OK) return RL_FAIL;
    s->slots = s->places;
    s->slots.at = tables + p->count;
    return RL_OK;
}

/* ---- the dims of the result: those of x that are not indexed, and the picks ---- */
typedef struct {
    const picks *p;
    const rl_view *x, *other; /* the result, or the values that stretch to it */
    int at, ndim;             /* of the result */
    bool once;                /* elements of x that share memory along a dim: only the last one counts */
} laying;

static void lay_rest(cuda_scattering *s, const laying *l, int d, int place) {
    const int64_t size = l->x->shape[d], step = l->x->strides[d];
    const int64_t other = l->other ? stretched_step(l->other, place, l->ndim) : 0;
    if (l->once && step == 0 && size > 0)
        s->first += (size - 1) * other;
    else
        cuda_dims_add(&s->all, size, step, 0, other);
}

static void lay_picks(cuda_scattering *s, const laying *l) {
    const picks *p = l->p;
    for (int d = 0; d < p->ndim; d++) {
        const int64_t index = p->n_indices == 1 ? stretched_step(p->index[0], d, p->ndim) : p->gapless[d];
        const int64_t other = l->other ? stretched_step(l->other, l->at + d, l->ndim) : 0;
        cuda_dims_add(&s->all, p->size[d], 0, index, other, 0, p->gapless[d]);
        cuda_dims_add(&s->claims, p->size[d], 0, index, 0, 0, p->gapless[d]);
    }
}

static rl_status by_picks(rl_call *k, cuda_scattering *s, const rl_view *x, const rl_view *other, bool once) {
    picks p;
    uint64_t indexed = 0;
    if (!picks_read(k, &p)) return RL_UNSUPPORTED;
    const laying l = {&p, x, other, (int)k->attr[0], x->ndim - p.n_indices + p.ndim, once};
    s->all = s->claims = cuda_dims_none();
    s->first = 0;
    for (int i = 0; i < p.n_indices; i++) indexed |= UINT64_C(1) << p.dim[i];
    int rest = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (indexed >> d & 1) continue;
        if (rest == l.at) lay_picks(s, &l);
        lay_rest(s, &l, d, rest < l.at ? rest : rest + p.ndim);
        rest++;
    }
    if (rest <= l.at) lay_picks(s, &l);
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    return s->all.numel == 0 ? RL_OK : places_join(k, &p, x, s);
}

CUDA_KERNEL(cuda_index) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    cuda_scattering s;
    cuda_iter w;
    if (!cuda_same_place(x, out)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    const rl_status status = by_picks(k, &s, x, out, false);
    if (status != RL_OK) return status;
    for (int d = 0; d < s.all.ndim; d++) { /* from x into the result */
        const int64_t step = s.all.step[SCATTER_TARGET][d];
        s.all.step[SCATTER_TARGET][d] = s.all.step[SCATTER_SOURCE][d];
        s.all.step[SCATTER_SOURCE][d] = step;
    }
    if (!cuda_dims_iter(&w, &s.all, 3)) return RL_UNSUPPORTED;
    return cuda_pick(k, w, rl_data(out, RL_WRITE), s.places, rl_const_data(x), rl_itemsize(x->dtype));
}

static rl_status by_picks_once(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    return by_picks(k, s, to, source, true);
}
static rl_status by_picks_each(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    return by_picks(k, s, to, source, false);
}

CUDA_KERNEL(cuda_index_put) {
    const rl_view *values = rl_in(k, 2), *out = k->out[0];
    picks p;
    if (!cuda_all_here(k, 2) || !picks_read(k, &p)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || out->numel == 0 || p.count == 0) return status;
    const bool is_number = values->device == RL_CPU || values->dtype != out->dtype;
    const void *from = is_number ? cuda_element_there(k, 2, out->dtype) : rl_const_data(values);
    if (is_number) values = nullptr;
    if (!rl_int(k, 3)) return cuda_scatter_set(k, by_picks_once, values, from);
    return cuda_scatter_join(k, by_picks_each, values, from, RL_JOIN_ADD, -1);
}
