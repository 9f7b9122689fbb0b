/* Gradients of views: scatters the elements of a view's gradient into a tensor of zeros of the base's
 * shape. */
#include "loops.h"
#include <string.h>

#define ADD_LOOP(D, T, C, LOAD, STORE, name)                                                                 \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        (void)ctx;                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T *to = (T *)(p[0] + i * step[0]);                                                               \
            *to = STORE((C)(LOAD(*to) + LOAD(*(const T *)(p[1] + i * step[1]))));                            \
        }                                                                                                    \
    }
RL_EACH_FLOAT(ADD_LOOP, add)
static const rl_inner_loop add_loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, add)};

/* May two indices mean one element? Not when each stride steps over all that the smaller ones reach. */
bool rl_view_overlaps(const rl_view *v) {
    uint64_t done = 0;
    int64_t reach = 0;
    for (int i = 0; i < v->ndim; i++) {
        int best = -1;
        for (int d = 0; d < v->ndim; d++)
            if (!(done >> d & 1) && (best < 0 || v->strides[d] < v->strides[best])) best = d;
        done |= (uint64_t)1 << best;
        if (v->shape[best] == 1) continue;
        if (v->strides[best] <= reach) return true;
        reach += (v->shape[best] - 1) * v->strides[best];
    }
    return false;
}

/* (grad, input_size, size, stride, storage_offset) */
RL_KERNEL(ref_as_strided_back) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    rl_view part = *out;
    rl_iter w;
    memset(rl_data(out, RL_WRITE), 0, (size_t)(out->numel * rl_itemsize(out->dtype)));
    if (!grad->numel) return RL_OK;
    part.shape = grad->shape;
    part.ndim = grad->ndim;
    part.numel = grad->numel;
    part.strides = k->arg[3].u.ints;
    part.offset = out->offset + rl_int(k, 4);
    rl_iter_begin(&w, &part, RL_WRITE);
    rl_iter_add(&w, grad);
    rl_iter_merge(&w);
    if (rl_view_overlaps(&part))
        rl_iter_range(&w, 0, w.numel, add_loops[out->dtype], NULL);
    else
        rl_iter_parallel(k, &w, RL_REF_NS, rl_inner_loop_copy(rl_itemsize(out->dtype)), NULL);
    return RL_OK;
}
