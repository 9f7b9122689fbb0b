/* The rule of view(dtype): the same bytes, counted in other elements. */
#include "shape.h"
#include <stdio.h>

/* what view(dtype) asks of sizes, strides and the offset where elements get another size */
static rl_status bytes_refused(const rl_view *x, int dtype, const char *what, int64_t ratio, int64_t got) {
    return rl_error_set(
        RL_RUNTIME,
        "self.%s must be divisible by %lld to view %s as %s (different element sizes), but got %lld", what,
        (long long)ratio, rl_dtype_title(x->dtype), rl_dtype_title(dtype), (long long)got);
}

/* ratio 0: elements become smaller */
static rl_status bytes_check(const rl_view *x, int dtype, int64_t ratio) {
    const char *from = rl_dtype_title(x->dtype), *to = rl_dtype_title(dtype);
    int last = x->ndim - 1;
    char text[32];
    if (last < 0)
        return rl_error_set(RL_RUNTIME, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                            from, to);
    if (ratio && x->shape[last] % ratio) return bytes_refused(x, dtype, "size(-1)", ratio, x->shape[last]);
    if (ratio && x->offset % ratio) return bytes_refused(x, dtype, "storage_offset()", ratio, x->offset);
    if (x->strides[last] != 1)
        return rl_error_set(
            RL_RUNTIME, "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
            from, to, (long long)x->strides[last]);
    for (int i = 0; ratio && i < last; i++)
        if (x->strides[i] % ratio) {
            snprintf(text, sizeof text, "stride(%d)", i);
            return bytes_refused(x, dtype, text, ratio, x->strides[i]);
        }
    return RL_OK;
}

RL_SHAPE(view_dtype) {
    const rl_view *x = k->arg[0].u.t;
    rl_view *v = k->out[0];
    int dtype = (int)k->arg[1].u.i, last = x->ndim - 1;
    int64_t had = rl_itemsize(x->dtype), wanted = rl_itemsize(dtype), grow = had / wanted,
            shrink = wanted / had;
    if (had != wanted && bytes_check(x, dtype, shrink) != RL_OK) return RL_FAIL;
    if (rl_view_dims(v, x->ndim) != RL_OK) return RL_FAIL;
    v->offset = x->offset;
    v->dtype = (uint8_t)dtype;
    for (int i = 0; i <= last; i++) {
        v->shape[i] = x->shape[i];
        v->strides[i] = x->strides[i];
        if (i < last || had == wanted)
            v->strides[i] = grow ? rl_stride_scaled(x->strides[i], grow) : x->strides[i] / shrink;
    }
    if (grow > 1 && (__builtin_mul_overflow(v->offset, grow, &v->offset) ||
                     __builtin_mul_overflow(v->shape[last], grow, &v->shape[last])))
        return rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow");
    if (shrink > 1) v->offset /= shrink, v->shape[last] /= shrink;
    v->numel = rl_dims_numel(v->shape, v->ndim);
    return v->numel < 0 ? rl_error_set(RL_RUNTIME, "numel: integer multiplication overflow") : RL_OK;
}
