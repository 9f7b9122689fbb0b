/* layer_norm and rms_norm of floats: a thread takes whole rows. */
#include "norm_rows.h"
#ifdef RL_SIMD_X86
#include <float.h>
#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_rows_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_impl.inc"
#include "norm_sums_impl.inc"
#include "norm_rows_impl.inc"

static const double ROW_NS = 20; /* what a row takes beside its numbers */

RL_CHOOSER
rl_status rl_norm_rows_run(rl_call *k, rl_norm_rows *j, int64_t rows) {
    if (!(k->svc->isa & RL_ISA_AVX2)) return RL_UNSUPPORTED;
    k->svc->parallel(k, rows, ROW_NS + NORM_NS * (double)j->n,
                     k->svc->isa & RL_ISA_AVX512 ? norm_rows_avx512 : norm_rows_avx2, j);
    return RL_OK;
}

static rl_layout rows_layout(const rl_call *k, rl_norm_rows *j) {
    rl_layout l = rl_layout_begin(k);
    j->read_at = rl_layout_add(&l, RL_COUNT(j->n), sizeof(float));
    j->made_at = rl_layout_add(&l, RL_COUNT(j->n), sizeof(float));
    return l;
}

static rl_status rows_strips(rl_call *k, rl_norm_rows *j, const rl_view *x) {
    const rl_layout l = rows_layout(k, j);
    j->strips = true;
    j->in = simd_strip_begin(k, x, RL_READ), j->made = simd_strip_begin(k, k->out[0], RL_WRITE);
    return k->svc->rooms(k, &l, k->threads, &j->rooms) ? RL_OK : RL_FAIL;
}
static rl_status rows_floats(rl_call *k, rl_norm_rows *j, const rl_view *x) {
    j->x = simd_floats_of(k, x);
    return j->x ? RL_OK : RL_FAIL;
}

/* what the operators over the last dims share; RL_UNSUPPORTED where the reference does it */
RL_CHOOSER
static rl_status rows_run(rl_call *k, const rl_view *weight, const rl_view *bias, rl_norm_rows *j) {
    float *made[3];
    const rl_view *x = k->arg[0].u.t;
    if (!(k->svc->isa & RL_ISA_AVX2) || x->numel == 0 || !simd_is_floats(x) || !simd_is_floats(weight) ||
        !simd_is_floats(bias) || !simd_makes_floats(k))
        return RL_UNSUPPORTED;
    j->n = j->period = 1;
    for (int d = x->ndim - (int)k->attr[0]; d < x->ndim; d++) j->n *= x->shape[d];
    const bool strips = simd_is_strip(x) && simd_is_strip(k->out[0]);
    if ((strips ? rows_strips(k, j, x) : rows_floats(k, j, x)) != RL_OK ||
        simd_results_begin(k, strips, made) != RL_OK)
        return RL_FAIL;
    if ((weight || bias) && !(j->weight = rl_norm_vector(k, weight, j->n, 1))) return RL_FAIL;
    if (bias && !(j->bias = simd_floats_of(k, bias))) return RL_FAIL;
    if (!strips) j->to = made[0];
    if (k->n_out == 3) j->mean = made[1], j->scale = made[2];
    rl_norm_rows_run(k, j, x->numel / j->n);
    return simd_results_end(k, strips, made);
}

RL_KERNEL(simd_layer_norm) {
    rl_norm_rows j = {.eps = rl_num(k, 4)};
    return rows_run(k, rl_in(k, 2), rl_in(k, 3), &j);
}

RL_KERNEL(simd_rms_norm) {
    rl_norm_rows j = {.around_zero = true};
    j.eps = k->arg[3].tag != RL_NONE ? rl_num(k, 3) : (double)FLT_EPSILON;
    return rows_run(k, rl_in(k, 2), NULL, &j);
}
#else
RL_KERNEL(simd_layer_norm) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_rms_norm) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
