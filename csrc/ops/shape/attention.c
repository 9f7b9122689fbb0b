/* Shape rules of attention: all but the last two dimensions are batches, which query, key and value share. */
#include "shape.h"

static rl_status differ(const rl_call *k, const char *what) {
    return rl_error_set(RL_RUNTIME, "%s: %s", k->name, what);
}

/* the mask stretches over batches, rows and keys */
static rl_status mask_fits(const rl_call *k, const rl_view *mask, const rl_view *q, int64_t keys) {
    if (mask->dtype != RL_BOOL && !rl_is_float(mask->dtype))
        return differ(k, "attn_mask must be boolean or floating");
    if (mask->ndim > q->ndim) return differ(k, "attn_mask has more dimensions than query");
    for (int d = 1; d <= mask->ndim; d++) {
        const int64_t size = mask->shape[mask->ndim - d], want = d == 1 ? keys : q->shape[q->ndim - d];
        if (size != 1 && size != want) return differ(k, "attn_mask does not broadcast to the scores");
    }
    return RL_OK;
}

/* query, key and value from argument `at` on, dropout and the mask */
static rl_status attention_check(const rl_call *k, int at, int dropout, const rl_view *mask) {
    const rl_view *q = k->arg[at].u.t, *key = k->arg[at + 1].u.t, *v = k->arg[at + 2].u.t;
    if (rl_num(k, dropout) != 0)
        return rl_error_set(
            RL_RUNTIME, "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0");
    if (key->dtype != q->dtype || v->dtype != q->dtype)
        return differ(k, "query, key and value must have one dtype");
    if (q->ndim < 2 || key->ndim != q->ndim || v->ndim != q->ndim)
        return differ(k, "query, key and value must have as many dimensions, 2 or more");
    for (int d = 0; d < q->ndim - 2; d++)
        if (key->shape[d] != q->shape[d] || v->shape[d] != q->shape[d])
            return differ(k, "query, key and value must have the same batches");
    if (key->shape[q->ndim - 1] != q->shape[q->ndim - 1] || key->shape[q->ndim - 2] != v->shape[q->ndim - 2])
        return differ(k, "query and key must be as wide, key and value as long");
    return mask ? mask_fits(k, mask, q, key->shape[q->ndim - 2]) : RL_OK;
}

/* The shape of the answer: rows of query, as wide as value. Its dimensions lie in memory as those of query
 * where there are heads, so that what joins the heads again copies nothing. */
static rl_status like_rows(rl_call *k, int out, const rl_view *q, const rl_view *v) {
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, q->shape, (size_t)q->ndim * sizeof *shape);
    shape[q->ndim - 1] = v->shape[v->ndim - 1];
    const bool dense = q->strides[q->ndim - 1] == 1;
    return q->ndim < 4 || !dense ? rl_out_dims(k, out, shape, q->ndim)
                                 : rl_out_permuted(k, out, shape, q->ndim, &q, 1);
}

RL_SHAPE(flash_attention) {
    const rl_view *q = k->arg[0].u.t, *v = k->arg[2].u.t;
    if (attention_check(k, 0, 3, rl_in(k, 5)) != RL_OK || like_rows(k, 0, q, v) != RL_OK) return RL_FAIL;
    if (q->dtype != RL_F64) k->out[1]->dtype = RL_F32;
    return rl_out_dims(k, 1, q->shape, q->ndim - 1);
}

RL_SHAPE(flash_attention_backward) {
    const rl_view *grad = k->arg[0].u.t, *q = k->arg[1].u.t, *v = k->arg[3].u.t, *out = k->arg[4].u.t,
                  *lse = k->arg[5].u.t;
    if (attention_check(k, 1, 6, rl_in(k, 8)) != RL_OK || like_rows(k, 0, q, v) != RL_OK) return RL_FAIL;
    if (!rl_dims_same(grad, k->out[0])) return rl_gradient_differs(k, k->out[0]);
    if (!rl_dims_same(out, grad) || grad->dtype != q->dtype || out->dtype != q->dtype)
        return differ(k, "grad_out and out must look like the answer of the forward pass");
    const rl_view rows = {.ndim = (uint8_t)(q->ndim - 1), .shape = q->shape};
    if (!rl_dims_same(lse, &rows) || !rl_is_float(lse->dtype))
        return differ(k, "logsumexp must be that of the forward pass");
    for (int i = 0; i < 3; i++)
        if (like_rows(k, i, k->arg[1 + i].u.t, k->arg[1 + i].u.t) != RL_OK) return RL_FAIL;
    return RL_OK;
}
