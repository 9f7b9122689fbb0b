/* linear: input (..., K) times weight (N, K) transposed. One row is dot products with the weight as it
 * lies, and so are a few when no panels can be kept; the rest is the packed product, whose panels stay
 * with the weight while it is unchanged. */
#include "product_dot.h"
#include "product_gemm.h"
#include "kernels/shared/plain.h"
#include "common.h"

enum { KEY_LINEAR = 0x11 }; /* panels of kernels/simd/product_gemm.h; the panel width is added */

/* The weight's panels: its packed weights, or a copy for this call unless `keep_only`. */
static const float *linear_panels(rl_call *k, const rl_gemm_kit *kit, const rl_view *w, bool keep_only) {
    uint64_t key = KEY_LINEAR << 8 | (unsigned)kit->nr;
    int64_t n = w->shape[0], depth = w->shape[1];
    rl_count floats = rl_count_times(rl_count_round_up(RL_COUNT(n), kit->nr), depth);
    float *to = k->svc->packed_find(k, w, key);
    if (to) return to;
    to = k->svc->packed_new(k, w, key, floats, sizeof(float));
    bool kept = to != NULL;
    if (!kept && !keep_only) to = rl_gemm_scratch(k, floats);
    if (!to) return NULL;
    rl_gemm_pack_b_shared(k, to, kit->nr, rl_const_data(w), n, depth, w->strides[1], w->strides[0]);
    if (kept) k->svc->packed_ready(k, w, key);
    return to;
}

RL_KERNEL(simd_linear) {
    const rl_view *x = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    const rl_gemm_kit *kit = rl_gemm_kit_get(k);
    if (!kit || !x || !w || x->dtype != RL_F32 || w->dtype != RL_F32 || w->ndim != 2 || x->ndim < 1 ||
        !rl_is_plain(out) || out->numel == 0 || w->shape[1] == 0 || (bias && !rl_is_plain(bias)))
        return RL_UNSUPPORTED;
    int64_t n = w->shape[0], depth = w->shape[1], m = out->numel / n;
    const float *from = rl_plain_input(k, x), *b = bias ? rl_const_data(bias) : NULL;
    if (!from) return RL_FAIL;
    bool few = m <= RL_DOT_ROWS && w->strides[1] == 1;
    const float *panels = few && m == 1 ? NULL : linear_panels(k, kit, w, few);
    if (few && !panels) {
        rl_dot d = {.rows = m, .n = n, .k = depth, .x = from, .w = rl_const_data(w), .bias = b};
        d.x_row = depth, d.w_row = w->strides[0], d.c_row = n, d.c_col = 1;
        d.c = rl_data(out, RL_WRITE);
        return rl_dot_run(k, &d);
    }
    if (!panels) return RL_FAIL;
    rl_gemm g = {.m = m, .n = n, .k = depth, .a = from, .a_row = depth, .a_col = 1, .col_bias = b};
    g.b = panels;
    g.b_step = kit->nr, g.b_panel = kit->nr * depth;
    g.b_tail = g.b + n / kit->nr * g.b_panel;
    g.c = rl_data(out, RL_WRITE), g.c_step = n;
    return rl_gemm_run(k, kit, &g);
}
