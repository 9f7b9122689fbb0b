/* A vector of indices along one dimension, and slices that go there: index_add, index_copy, index_fill,
 * index_reduce. */
#include "index_scatter.h"

rl_status rl_scatter_by_vector(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    const rl_view *index = k->arg[2].u.t, *shaped = source ? source : k->out[0];
    const int ndim = shaped->ndim ? shaped->ndim : 1; /* a number takes them one after the other */
    int64_t dims[RL_MAX_DIMS], dim = k->attr[0];
    for (int d = 0; d < shaped->ndim; d++) dims[d] = d == dim ? index->numel : shaped->shape[d];
    if (shaped->ndim == 0) dims[0] = index->numel;
    if (rl_count_product(dims, ndim).n < 0) /* of an expanded tensor */
        return rl_fail(k, RL_RUNTIME, "numel: integer multiplication overflow");
    rl_scatter_begin(k, s, dims, ndim);
    rl_scatter_element(s, rl_data(index, RL_READ));
    s->walk.stride[1][shaped->ndim ? dim : 0] =
        index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    if (element)
        rl_scatter_element(s, element);
    else
        rl_walk_add(&s->walk, source);
    return rl_scatter_run(k, s);
}

RL_KERNEL(ref_index_add) {
    rl_scattering s = {.join = RL_JOIN_ADD, .numbers = {.d = {rl_num(k, 4)}, .i = {rl_int(k, 4)}}};
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    if (s.places.faulty && k->out[0]->ndim <= 1) return rl_fail(k, RL_INDEX, "index out of range in self");
    return rl_scatter_fault(k, &s, RL_RUNTIME, "");
}

RL_KERNEL(ref_index_copy) {
    rl_scattering s = {.join = RL_JOIN_SET};
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, k->arg[3].u.t, NULL) != RL_OK) return RL_FAIL;
    return rl_scatter_fault(k, &s, RL_INDEX, "index_copy_(): ");
}

RL_KERNEL(ref_index_fill) {
    rl_scattering s = {.join = RL_JOIN_SET, .places.wraps = true};
    uint64_t element;
    if (rl_element_from(k, 3, k->out[0]->dtype, &element) != RL_OK) return RL_FAIL;
    rl_view_start(k);
    if (rl_scatter_by_vector(k, &s, NULL, &element) != RL_OK) return RL_FAIL;
    return rl_scatter_fault(k, &s, RL_INDEX, "");
}

static rl_status reduce_by_vector(rl_call *k, rl_scattering *s, const rl_view *source, void *element) {
    if (rl_scatter_by_vector(k, s, source, element) != RL_OK) return RL_FAIL;
    return s->places.faulty ? rl_fail(k, RL_INDEX, "index out of range in self") : RL_OK;
}

RL_KERNEL(ref_index_reduce) {
    return rl_scatter_reduce(k, reduce_by_vector, k->arg[5].u.i);
}
