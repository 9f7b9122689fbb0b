/* Elements that go to places along one dimension: an index for each, or a vector of them for slices. */
#include "scatter.h"
#include <math.h>

/* ---- an index for each element; argument 2 ---- */
static rl_status by_index(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 2);
    const int64_t dim = k->attr[0];
    int64_t slot[RL_MAX_DIMS], claim[RL_MAX_DIMS];
    cuda_gapless_like(to, to->dtype, slot);
    cuda_gapless_like(index, index->dtype, claim);
    s->all = cuda_dims_none();
    for (int d = 0; d < index->ndim; d++) {
        const bool moves = d != dim && to->ndim;
        cuda_dims_add(&s->all, index->shape[d], moves ? to->strides[d] : 0, index->strides[d],
                      source && source->ndim ? source->strides[d] : 0, moves ? slot[d] : 0, claim[d]);
    }
    s->claims = s->all;
    s->first = 0;
    const bool alone = index->numel == 1 || (index->ndim && index->shape[dim] == 1);
    s->n_slots = alone ? 0 : to->numel;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_places_of(k, &s->places, index, to, dim) != RL_OK)
        return RL_FAIL;
    s->slots = s->places;
    s->slots.step = to->ndim ? slot[dim] : 0;
    return RL_OK;
}

/* ---- a vector of indices for slices ---- */
static rl_status by_vector(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_view *index = rl_in(k, 2), *shaped = source ? source : to;
    const int64_t dim = k->attr[0], n = index->numel, step = index->ndim ? index->strides[0] : 0;
    s->all = cuda_dims_none();
    for (int d = 0; d < shaped->ndim; d++) {
        const int64_t from = source ? source->strides[d] : 0;
        if (d == dim)
            cuda_dims_add(&s->all, n, 0, step, from, 0, 1);
        else if (to->ndim && (source || to->strides[d] != 0)) /* what shares memory is filled once */
            cuda_dims_add(&s->all, shaped->shape[d], to->strides[d], 0, from);
        else if (shaped->shape[d] == 0)
            s->all.numel = 0;
    }
    if (shaped->ndim == 0) cuda_dims_add(&s->all, n, 0, step, 0, 0, 1);
    s->claims = cuda_dims_none();
    cuda_dims_add(&s->claims, n, 0, step, 0, 0, 1);
    s->first = 0;
    s->n_slots = n == 1 ? 0 : to->ndim ? to->shape[dim] : 1;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || cuda_places_of(k, &s->places, index, to, dim) != RL_OK)
        return RL_FAIL;
    s->slots = s->places;
    s->slots.step = to->ndim && to->strides[dim] != 0; /* what shares memory is one place */
    return RL_OK;
}

static rl_status wrapped_by_vector(rl_call *k, cuda_scattering *s, const rl_view *to, const rl_view *source) {
    const rl_status status = by_vector(k, s, to, source);
    s->places.wraps = s->slots.wraps = true;
    return status;
}

/* ---- setting and adding ---- */
CUDA_KERNEL(cuda_scatter) {
    const rl_view *source = rl_in(k, 3);
    const int join = (int)k->attr[1];
    if (!cuda_all_here(k, 3)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || rl_in(k, 2)->numel == 0) return status;
    if (source && source->device == RL_CPU) source = nullptr;
    const void *from = source ? rl_const_data(source) : cuda_element_there(k, 3, k->out[0]->dtype);
    return join == RL_JOIN_SET ? cuda_scatter_set(k, by_index, source, from)
                               : cuda_scatter_join(k, by_index, source, from, join, -1);
}

CUDA_KERNEL(cuda_index_add) {
    const rl_view *source = rl_in(k, 3);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0) return status;
    return cuda_scatter_join(k, by_vector, source, rl_const_data(source), RL_JOIN_ADD, 4);
}

CUDA_KERNEL(cuda_index_copy) {
    const rl_view *source = rl_in(k, 3);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || source->numel == 0) return status;
    return cuda_scatter_set(k, by_vector, source, rl_const_data(source));
}

CUDA_KERNEL(cuda_index_fill) {
    if (!cuda_all_here(k, 3)) return RL_UNSUPPORTED;
    const rl_status status = cuda_start(k);
    if (status != RL_OK || k->out[0]->numel == 0) return status;
    return cuda_scatter_set(k, wrapped_by_vector, nullptr, cuda_element_there(k, 3, k->out[0]->dtype));
}

/* ---- reductions, with the elements of the target or without them ---- */
static rl_status divide(rl_call *k, cuda_scatter_way way, const rl_view *source, bool include_self) {
    const rl_view *out = k->out[0];
    const uint64_t first[2] = {include_self, 0};
    int64_t strides[RL_MAX_DIMS];
    const rl_view shaped = cuda_gapless_like(out, RL_I64, strides);
    int64_t *counts = (int64_t *)k->svc->scratch(k, RL_COUNT(out->numel), sizeof *counts);
    cuda_dims vector = cuda_dims_none();
    const rl_view *views[2] = {out, &shaped};
    cuda_walk w, whole;
    cuda_dims_add(&vector, out->numel, 1);
    if (!counts || !cuda_dims_walk(&whole, &vector, 1) ||
        cuda_fill_walk(k, whole, counts, sizeof *counts, first) != RL_OK ||
        cuda_scatter_count(k, way, source, counts) != RL_OK)
        return RL_FAIL;
    if (!cuda_walk_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    return cuda_divide(k, w, rl_data(out, RL_WRITE), out->dtype, counts);
}

/* what joining leaves as it is */
static uint64_t neutral_bits(int join, int dtype) {
    const bool most = join == RL_JOIN_MAX, least = join == RL_JOIN_MIN;
    const int bits = 8 * (int)rl_itemsize(dtype);
    const bool has_sign = dtype != RL_U8 && dtype != RL_BOOL;
    if (rl_is_float(dtype))
        return cuda_number_bits(dtype, most ? -INFINITY : least ? INFINITY : join == RL_JOIN_MUL);
    if (most) return has_sign ? UINT64_C(1) << (bits - 1) : 0;
    if (least) return dtype == RL_BOOL ? 1 : UINT64_MAX >> (64 - bits + has_sign);
    return join == RL_JOIN_MUL;
}

static rl_status reduce(rl_call *k, cuda_scatter_way way) {
    const rl_view *source = rl_in(k, 3), *out = k->out[0];
    const int join = (int)k->attr[1];
    const bool include_self = rl_int(k, 5);
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    rl_status status = cuda_start(k);
    if (status != RL_OK || rl_in(k, 2)->numel == 0 || source->numel == 0 || out->numel == 0) return status;
    if (!include_self) status = cuda_scatter_fill(k, way, source, neutral_bits(join, out->dtype));
    if (status == RL_OK) status = cuda_scatter_join(k, way, source, rl_const_data(source), join, -1);
    return status == RL_OK && join == RL_JOIN_MEAN ? divide(k, way, source, include_self) : status;
}
CUDA_KERNEL(cuda_scatter_reduce) {
    return reduce(k, by_index);
}
CUDA_KERNEL(cuda_index_reduce) {
    return reduce(k, by_vector);
}
