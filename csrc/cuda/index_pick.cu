/* Elements found by an index along one dimension, or in the flat tensor. */
#include "index.h"

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pick_elements(cuda_walk w, T *to, cuda_places places, const T *from) {
    CUDA_EACH(i, w) {
        int64_t at[3], place;
        cuda_walk_seek(w, i, at);
        to[at[0]] = cuda_place(places, at[1], &place) ? from[at[2] + place] : T();
    }
}

rl_status cuda_pick(rl_call *k, const cuda_walk &w, void *to, const cuda_places &p, const void *from,
                    int64_t item) {
    switch (item) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pick_elements<T>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, (T *)to,   \
                    p, (const T *)from);                                                                     \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

rl_status cuda_places_of(rl_call *k, cuda_places *p, const rl_view *index, const rl_view *v, int64_t dim) {
    *p = {};
    p->at = rl_const_data(index);
    p->is_wide = index->dtype == RL_I64;
    p->size = v->ndim ? v->shape[dim] : 1;
    p->step = v->ndim ? v->strides[dim] : 0;
    p->fault = rl_cuda_fault(k);
    return p->fault ? RL_OK : RL_FAIL;
}

rl_status cuda_places_flat(rl_call *k, cuda_places *p, const void *index, int64_t size) {
    *p = {};
    p->at = index;
    p->is_wide = true;
    p->size = size;
    p->step = 1;
    p->fault = rl_cuda_fault(k);
    return p->fault ? RL_OK : RL_FAIL;
}

/* out[0], whose dims these are, takes elements of x */
static rl_status pick_out(rl_call *k, cuda_dims *dims, const cuda_places &p, const rl_view *x) {
    const rl_view *out = k->out[0];
    cuda_walk w;
    if (!cuda_dims_walk(&w, dims, 3)) return RL_UNSUPPORTED;
    return cuda_pick(k, w, rl_data(out, RL_WRITE), p, rl_const_data(x), rl_itemsize(x->dtype));
}

CUDA_KERNEL(cuda_gather) {
    const rl_view *x = rl_in(k, 0), *index = rl_in(k, 2), *out = k->out[0];
    const int64_t dim = k->attr[0];
    cuda_dims dims = cuda_dims_none();
    cuda_places p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_places_of(k, &p, index, x, dim) != RL_OK) return RL_FAIL;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], index->strides[d],
                      d == dim || !x->ndim ? 0 : x->strides[d]);
    return pick_out(k, &dims, p, x);
}

CUDA_KERNEL(cuda_index_select) {
    const rl_view *x = rl_in(k, 0), *index = rl_in(k, 2), *out = k->out[0];
    const int64_t dim = k->attr[0];
    cuda_dims dims = cuda_dims_none();
    cuda_places p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_places_of(k, &p, index, x, dim) != RL_OK) return RL_FAIL;
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
    cuda_places p;
    if (out->numel == 0) return RL_OK;
    if (!cuda_all_here(k)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK || cuda_places_of(k, &p, index, table, 0) != RL_OK) return RL_FAIL;
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
    cuda_places p;
    cuda_walk w;
    if (cuda_places_flat(k, &p, rl_const_data(index), x->numel) != RL_OK) return RL_FAIL;
    p.wraps = true;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], index->strides[d], 0);
    if (!cuda_dims_walk(&w, &dims, 3)) return RL_UNSUPPORTED;
    return cuda_pick(k, w, rl_data(out, RL_WRITE), p, from, rl_itemsize(x->dtype));
}
