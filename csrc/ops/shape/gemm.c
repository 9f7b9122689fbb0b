/* Shape rules of matmul and related products. */
#include "shape.h"

RL_SHAPE(matmul) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    int64_t shape[RL_MAX_DIMS];
    char ta[RL_DIMS_TEXT], tb[RL_DIMS_TEXT];
    if (a->ndim == 0 || b->ndim == 0)
        return rl_error_set(RL_RUNTIME,
                            "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                            a->ndim, b->ndim);
    int64_t m = a->ndim > 1 ? a->shape[a->ndim - 2] : 1, ka = a->shape[a->ndim - 1];
    int64_t kb = b->shape[b->ndim > 1 ? b->ndim - 2 : 0], n = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    if (ka != kb) {
        if (a->ndim == 1 && b->ndim == 1)
            return rl_error_set(
                RL_RUNTIME,
                "inconsistent tensor size, expected tensor %s and src %s to have the same number of "
                "elements, but got %lld and %lld elements respectively",
                rl_dims_text(ta, a->shape, 1), rl_dims_text(tb, b->shape, 1), (long long)ka, (long long)kb);
        if (a->ndim == 2 && b->ndim == 1)
            return rl_error_set(RL_RUNTIME, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                                (long long)m, (long long)m, (long long)ka, (long long)kb);
        if (a->ndim <= 2 || b->ndim <= 2) {
            for (int i = 0; i < a->ndim - 2; i++) m *= a->shape[i];
            return rl_error_set(RL_RUNTIME,
                                "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                                (long long)m, (long long)ka, (long long)kb, (long long)n);
        }
        return rl_error_set(RL_RUNTIME,
                            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
                            "got: [%lld, %lld].",
                            (long long)a->shape[a->ndim - 3], (long long)ka, (long long)b->shape[b->ndim - 3],
                            (long long)kb);
    }
    rl_view la = {.shape = a->shape, .ndim = (uint8_t)(a->ndim > 2 ? a->ndim - 2 : 0)};
    rl_view lb = {.shape = b->shape, .ndim = (uint8_t)(b->ndim > 2 ? b->ndim - 2 : 0)};
    int lead;
    if (rl_dims_broadcast(&la, &lb, shape, &lead) != RL_OK) return RL_FAIL;
    if (a->ndim > 1) shape[lead++] = m;
    if (b->ndim > 1) shape[lead++] = n;
    return rl_out_dims(k, 0, shape, lead);
}

RL_SHAPE(linear) {
    const rl_view *x = k->arg[0].u.t, *w = k->arg[1].u.t, *bias = rl_in(k, 2);
    int64_t shape[RL_MAX_DIMS], rows = 1;
    if (w->ndim > 2 || w->ndim < 1 || x->ndim < 1)
        return rl_error_set(
            RL_RUNTIME,
            "linear: expected input of at least 1 and weight of 1 or 2 dimensions, got %dD and %dD", x->ndim,
            w->ndim);
    int64_t in = x->shape[x->ndim - 1], k_w = w->shape[w->ndim - 1], n = w->ndim == 2 ? w->shape[0] : 1;
    for (int d = 0; d < x->ndim - 1; d++) rows *= shape[d] = x->shape[d];
    if (in != k_w) {
        return rl_error_set(RL_RUNTIME, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                            (long long)rows, (long long)in, (long long)k_w, (long long)n);
    }
    if (bias && (bias->ndim > 1 || (bias->ndim == 1 && bias->shape[0] != n && bias->shape[0] != 1)))
        return rl_error_set(
            RL_RUNTIME,
            "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
            "dimension %d.  Target sizes: [%lld, %lld].  Tensor sizes: [%lld]",
            (long long)n, (long long)bias->shape[0], x->ndim - 1, (long long)rows, (long long)n,
            (long long)bias->shape[0]);
    if (w->ndim == 1) return rl_out_dims(k, 0, shape, x->ndim - 1);
    shape[x->ndim - 1] = n;
    return rl_out_dims(k, 0, shape, x->ndim);
}

/* ---- the checks that matmul does not make ---- */
RL_SHAPE(dot) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    if (a->ndim != 1 || b->ndim != 1)
        return rl_error_set(RL_RUNTIME, "1D tensors expected, but got %dD and %dD tensors", a->ndim, b->ndim);
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME, "dot : expected both vectors to have same dtype, but found %s and %s",
                            rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
    return shape_matmul(k);
}

RL_SHAPE(mv) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    if (a->ndim != 2 || b->ndim != 1)
        return rl_error_set(RL_RUNTIME, "vector + matrix @ vector expected, got %d, %d, %d", b->ndim, a->ndim,
                            b->ndim);
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME,
                            "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                            rl_dtype_title(b->dtype), rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
    return shape_matmul(k);
}

RL_SHAPE(mm) {
    if (rl_tensor_arg(k, 0)->ndim != 2) return rl_error_set(RL_RUNTIME, "self must be a matrix");
    if (rl_tensor_arg(k, 1)->ndim != 2) return rl_error_set(RL_RUNTIME, "mat2 must be a matrix");
    return shape_matmul(k);
}

/* two batches of matrices, the first of them argument `at` */
static rl_status batches_agree(const rl_call *k, int at) {
    const rl_view *a = k->arg[at].u.t, *b = k->arg[at + 1].u.t;
    if (a->ndim != 3) return rl_error_set(RL_RUNTIME, "batch1 must be a 3D tensor");
    if (b->ndim != 3) return rl_error_set(RL_RUNTIME, "batch2 must be a 3D tensor");
    if (a->shape[0] == b->shape[0] && a->shape[2] == b->shape[1]) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
                        "got: [%lld, %lld].",
                        (long long)a->shape[0], (long long)a->shape[2], (long long)b->shape[0],
                        (long long)b->shape[1]);
}

RL_SHAPE(bmm) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    if (batches_agree(k, 0) != RL_OK) return RL_FAIL;
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME, "expected scalar type %s but found %s", rl_dtype_title(a->dtype),
                            rl_dtype_title(b->dtype));
    return shape_matmul(k);
}

/* the summand stretches to the product's shape */
static rl_status stretches(const rl_view *x, const int64_t *shape, int n) {
    char want[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    rl_dims_text(want, shape, n);
    rl_dims_text(have, x->shape, x->ndim);
    if (x->ndim > n)
        return rl_error_set(RL_RUNTIME,
                            "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be "
                            "greater or equal to the number of dimensions in the tensor (%d)",
                            rl_dtype_title(x->dtype), have, want, n, x->ndim);
    for (int d = n - 1; d >= n - x->ndim; d--) {
        int64_t size = x->shape[d - (n - x->ndim)];
        if (size != 1 && size != shape[d])
            return rl_error_set(RL_RUNTIME,
                                "The expanded size of the tensor (%lld) must match the existing size (%lld) "
                                "at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                                (long long)shape[d], (long long)size, d, want, have);
    }
    return RL_OK;
}

RL_SHAPE(addmm) {
    const rl_view *x = k->arg[0].u.t, *a = k->arg[1].u.t, *b = k->arg[2].u.t;
    if (a->ndim != 2) return rl_error_set(RL_RUNTIME, "mat1 must be a matrix, got %d-D tensor", a->ndim);
    if (b->ndim != 2) return rl_error_set(RL_RUNTIME, "mat2 must be a matrix, got %d-D tensor", b->ndim);
    if (a->shape[1] != b->shape[0])
        return rl_error_set(RL_RUNTIME, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                            (long long)a->shape[0], (long long)a->shape[1], (long long)b->shape[0],
                            (long long)b->shape[1]);
    if (b->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "self and mat2 must have the same dtype, but got %s and %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(b->dtype));
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME, "mat1 and mat2 must have the same dtype, but got %s and %s",
                            rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
    int64_t shape[2] = {a->shape[0], b->shape[1]};
    if (stretches(x, shape, 2) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, shape, 2);
}

RL_SHAPE(baddbmm) {
    const rl_view *x = k->arg[0].u.t, *a = k->arg[1].u.t, *b = k->arg[2].u.t;
    if (batches_agree(k, 1) != RL_OK) return RL_FAIL;
    if (a->dtype != x->dtype || b->dtype != x->dtype)
        return rl_error_set(
            RL_RUNTIME, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(a->dtype), rl_dtype_cpp_name(b->dtype));
    int64_t shape[3] = {a->shape[0], a->shape[1], b->shape[2]};
    if (stretches(x, shape, 3) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, shape, 3);
}

RL_SHAPE(addmv) {
    const rl_view *x = k->arg[0].u.t, *a = k->arg[1].u.t, *b = k->arg[2].u.t;
    if (a->ndim != 2 || b->ndim != 1 || x->ndim > 1)
        return rl_error_set(RL_RUNTIME, "vector + matrix @ vector expected, got %d, %d, %d", x->ndim, a->ndim,
                            b->ndim);
    const int64_t rows = a->shape[0], have = x->ndim ? x->shape[0] : 1;
    if (a->shape[1] != b->shape[0] || (have != rows && have != 1))
        return rl_error_set(RL_RUNTIME, "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                            (long long)have, (long long)rows, (long long)a->shape[1], (long long)b->shape[0]);
    if (a->dtype != x->dtype || b->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME,
                            "addmv input tensors must have the same dtype, but got %s, %s, and %s",
                            rl_dtype_title(x->dtype), rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
    return rl_out_dims(k, 0, &rows, 1);
}

static rl_status integer_number(const rl_call *k, int arg, const char *name, int dtype) {
    if (!rl_is_float(dtype) && k->arg[arg].tag == RL_FLOAT)
        return rl_error_set(
            RL_RUNTIME, "For integral input tensors, argument %s must not be a floating point number.", name);
    return RL_OK;
}

RL_SHAPE(addr) {
    const rl_view *x = k->arg[0].u.t;
    int64_t shape[2];
    for (int i = 0; i < 2; i++) {
        const rl_view *v = k->arg[i + 1].u.t;
        if (v->ndim != 1)
            return rl_error_set(RL_RUNTIME, "addr: Expected 1-D argument vec%d, but got %d-D", i + 1,
                                v->ndim);
        shape[i] = v->shape[0];
    }
    if (integer_number(k, 3, "beta", x->dtype) != RL_OK || integer_number(k, 4, "alpha", x->dtype) != RL_OK ||
        stretches(x, shape, 2) != RL_OK)
        return RL_FAIL;
    if (rl_out_dims(k, 0, shape, 2) != RL_OK) return RL_FAIL;
    if (rl_dims_same(x, k->out[0])) rl_strides_as(k->out[0], x);
    return RL_OK;
}
