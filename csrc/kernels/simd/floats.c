/* Halves to floats and back, by several threads. */
#include "floats.h"
#include "kernels/shared/strided_iterator.h"

static const double CAST_NS = 0.3; /* a number */

bool simd_makes_floats(const rl_call *k) {
    for (int i = 0; i < k->n_out; i++)
        if (!simd_is_floats(k->out[i]) || !rl_is_contiguous(k->out[i])) return false;
    return true;
}

static void cast_copy_loop(char *const *p, const int64_t *step, int64_t n, const void *cast_copy) {
    simd_cast_copy_run(cast_copy, p[0], step[0], p[1], step[1], n);
}

/* operand `op` of a walk over v becomes a block of elements of `item` bytes */
static void block_set(rl_iter *w, int op, const rl_view *v, const void *at, int64_t item) {
    int64_t step = item;
    w->base[op] = (char *)at;
    for (int d = v->ndim - 1; d >= 0; d--) {
        w->stride[op][d] = step;
        step *= v->shape[d];
    }
    rl_iter_merge(w);
}

const void *simd_block_of(rl_call *k, const rl_view *v, int dtype) {
    if (v->dtype == dtype && rl_is_contiguous(v)) return rl_const_data(v);
    void *to = k->svc->scratch(k, RL_COUNT(v->numel), rl_itemsize(dtype));
    const simd_cast_copy cast_copy = simd_cast_copy_between(k, dtype, v->dtype);
    rl_iter w;
    if (!to || v->numel == 0) return to;
    rl_iter_begin(&w, v, RL_READ);
    rl_iter_add(&w, v);
    block_set(&w, 0, v, to, rl_itemsize(dtype));
    rl_iter_parallel(k, &w, CAST_NS, cast_copy_loop, &cast_copy);
    return to;
}
const float *simd_floats_of(rl_call *k, const rl_view *v) {
    return simd_block_of(k, v, RL_F32);
}

void simd_block_put(rl_call *k, const rl_view *out, const void *from, int dtype) {
    const simd_cast_copy cast_copy = simd_cast_copy_between(k, out->dtype, dtype);
    rl_iter w;
    if (out->numel == 0) return;
    rl_iter_begin(&w, out, RL_WRITE);
    rl_iter_add(&w, out);
    block_set(&w, 1, out, from, rl_itemsize(dtype));
    rl_iter_parallel(k, &w, CAST_NS, cast_copy_loop, &cast_copy);
}

rl_status simd_results_begin(rl_call *k, int first, float **to) {
    for (int i = first; i < k->n_out; i++) {
        const rl_view *out = k->out[i];
        if (out->dtype == RL_F32)
            to[i] = rl_data(out, RL_WRITE);
        else if (!(to[i] = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(float))))
            return RL_FAIL;
    }
    return RL_OK;
}

rl_status simd_results_end(rl_call *k, int first, float *const *to) {
    for (int i = first; i < k->n_out; i++)
        if (k->out[i]->dtype != RL_F32) simd_block_put(k, k->out[i], to[i], RL_F32);
    return RL_OK;
}

simd_half_rows simd_half_rows_begin(const rl_call *k, const rl_view *v, int mode) {
    const bool reads = mode == RL_READ;
    return (simd_half_rows){rl_data(v, mode), (int)rl_itemsize(v->dtype),
                            simd_cast_copy_between(k, reads ? RL_F32 : v->dtype, reads ? v->dtype : RL_F32)};
}
