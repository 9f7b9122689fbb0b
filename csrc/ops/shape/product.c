/* Shape rules of products, of the factorisation and of sums of products. */
#include "shape.h"

rl_status shape_matmul(rl_call *k); /* ops/shape/nn.c */

/* ---- products: the checks that matmul does not make ---- */
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
    if (k->arg[0].u.t->ndim != 2) return rl_error_set(RL_RUNTIME, "self must be a matrix");
    if (k->arg[1].u.t->ndim != 2) return rl_error_set(RL_RUNTIME, "mat2 must be a matrix");
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

/* ---- qr ---- */
RL_SHAPE(qr) { /* attr[0]: columns of Q, attr[1]: is Q wanted? */
    const rl_view *a = k->arg[0].u.t;
    const char *mode = k->arg[1].u.s;
    int64_t shape[RL_MAX_DIMS], none = 0;
    int n = a->ndim;
    bool complete = strcmp(mode, "complete") == 0, just_r = strcmp(mode, "r") == 0;
    if (n < 2)
        return rl_error_set(RL_RUNTIME, "linalg.qr: The input tensor A must have at least 2 dimensions.");
    if (!rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME,
                            "linalg.qr: Expected a floating point or complex tensor as input. Got %s",
                            rl_dtype_title(a->dtype));
    if (!complete && !just_r && strcmp(mode, "reduced") != 0)
        return rl_error_set(
            RL_RUNTIME,
            "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', "
            "or 'complete'",
            mode);
    if (a->dtype != RL_F32 && a->dtype != RL_F64)
        return rl_error_set(RL_NOTIMPL, "\"geqrf_cpu\" not implemented for '%s'", rl_dtype_title(a->dtype));
    int64_t rows = a->shape[n - 2], cols = a->shape[n - 1], least = rows < cols ? rows : cols;
    k->attr[0] = complete ? rows : least;
    k->attr[1] = !just_r;
    for (int d = 0; d < n; d++) shape[d] = a->shape[d];
    shape[n - 2] = k->attr[0];
    if (rl_out_dims(k, 1, shape, n) != RL_OK) return RL_FAIL;
    if (just_r) return rl_out_dims(k, 0, &none, 1);
    shape[n - 2] = rows;
    shape[n - 1] = k->attr[0];
    return rl_out_dims(k, 0, shape, n);
}

/* ---- three operands ---- */
RL_SHAPE(broadcast3) {
    int64_t shape[RL_MAX_DIMS], whole[RL_MAX_DIMS];
    int n;
    if (rl_dims_broadcast(k->arg[0].u.t, k->arg[1].u.t, shape, &n) != RL_OK) return RL_FAIL;
    rl_view both = {.shape = shape, .ndim = (uint8_t)n};
    const rl_view *third = rl_in(k, 2);
    if (!third) return rl_out_dims(k, 0, shape, n);
    if (rl_dims_broadcast(&both, third, whole, &n) != RL_OK) return RL_FAIL;
    return rl_out_dims(k, 0, whole, n);
}

RL_SHAPE(lerp) {
    const rl_view *x = k->arg[0].u.t, *end = k->arg[1].u.t, *weight = rl_in(k, 2);
    if (end->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected dtype %s for `end` but got dtype %s",
                            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(end->dtype));
    if (weight && weight->ndim && weight->dtype != x->dtype)
        return rl_error_set(RL_RUNTIME, "expected dtype %s for `weight` but got dtype %s",
                            rl_dtype_cpp_name(x->dtype), rl_dtype_cpp_name(weight->dtype));
    return shape_broadcast3(k);
}

RL_SHAPE(addcdiv) {
    if (!rl_is_float(k->arg[0].u.t->dtype)) /* all have the common dtype by now */
        return rl_error_set(
            RL_RUNTIME,
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
            "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
            "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
            "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
            "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
            "dtypes.");
    return shape_broadcast3(k);
}
