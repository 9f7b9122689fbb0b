/* linear: input (..., K) times weight (N, K) transposed. A few rows are dot products with the weight as it
 * lies; for more of them its panels stay with the weight while it is unchanged. */
#include "common.h"
#include "product_batch.h"

enum { KEY_LINEAR = 0x11 }; /* panels of kernels/simd/product_gemm.h; the panel width is added */

/* The weight's panels: its packed weights, or a copy for this call; NULL without memory. */
static const void *linear_panels(rl_call *k, const rl_view *w, const rl_gemm_plan *plan) {
    const uint64_t key = KEY_LINEAR << 8 | (unsigned)plan->kit->nr;
    const rl_count count = rl_gemm_panels_count(plan);
    const size_t size = (size_t)plan->size;
    void *to = k->svc->packed_find(k, w, key);
    if (to) return to;
    to = plan->in.convert ? NULL : k->svc->packed_new(k, w, key, count, size);
    const bool kept = to != NULL;
    if (!kept) to = k->svc->scratch(k, count, size);
    if (!to) return NULL;
    rl_gemm_pack_shared(k, plan, to);
    if (kept) k->svc->packed_ready(k, w, key);
    return to;
}

RL_CHOOSER
RL_KERNEL(simd_linear) {
    const rl_view *x = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    rl_gemm_batch t;
    rl_gemm_plan plan;
    if (w->ndim != 2 || !rl_is_float(out->dtype) || !rl_gemm_batch_takes(x, w, out)) return RL_UNSUPPORTED;
    const rl_view wt = {.shape = (int64_t[]){w->shape[1], w->shape[0]},
                        .strides = (int64_t[]){w->strides[1], w->strides[0]},
                        .storage = w->storage,
                        .offset = w->offset,
                        .dtype = w->dtype,
                        .ndim = 2};
    rl_gemm_batch_read(&t, x, &wt, out, x->ndim == 1, false);
    if (bias) rl_gemm_batch_add(&t, bias, out, false, 1, 1);
    rl_gemm_batch_fold(&t);
    if (!rl_gemm_plan_make(k, &t.g, &plan)) return RL_UNSUPPORTED;
    /* halves are packed as floats, twice the size: only for a batch, which uses them again and again */
    const bool keeps = w->dtype == RL_F32 || w->dtype == RL_F64 || t.dims > 0;
    if (keeps && plan.way == RL_WAY_TILES && !plan.swapped) {
        t.g.panels = linear_panels(k, w, &plan);
        if (!t.g.panels) return RL_FAIL;
    }
    return rl_gemm_batch_run(k, &t);
}
