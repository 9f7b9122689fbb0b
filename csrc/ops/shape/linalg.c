/* Shape rules of the factorisation and of norms of vectors. */
#include "linalg.h"
#include <math.h>

RL_SHAPE(qr) { /* attr[0]: columns of Q, attr[1]: is Q wanted? */
    const rl_view *a = k->arg[0].u.t;
    const char *mode = k->arg[1].u.s;
    int64_t none = 0;
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
    if (rl_out_columns(k, 1, a->shape, n - 2, k->attr[0], cols) != RL_OK) return RL_FAIL;
    return just_r ? rl_out_dims(k, 0, &none, 1) : rl_out_columns(k, 0, a->shape, n - 2, rows, k->attr[0]);
}

/* ---- norms ---- */
/* an order for which nothing cannot have a norm */
static rl_status some_elements(rl_call *k, double order) {
    const rl_view *x = k->arg[0].u.t;
    uint64_t mask = (uint64_t)k->attr[0];
    if (x->numel || !(order < 0 || isinf(order))) return RL_OK;
    if (x->ndim == __builtin_popcountll(mask))
        return rl_error_set(RL_RUNTIME,
                            "linalg.vector_norm cannot compute the %g norm on an empty tensor because the "
                            "operation does not have an identity",
                            order);
    for (int d = 0; d < x->ndim; d++)
        if ((mask >> d & 1) && x->shape[d] == 0)
            return rl_error_set(RL_RUNTIME,
                                "linalg.vector_norm cannot compute the %g norm on the dimension %dbecause "
                                "this dimension is empty and the operation does not have an identity",
                                order, d);
    return RL_OK;
}

RL_SHAPE(vector_norm) { /* attr[0]: mask of reduced dims */
    const rl_view *x = k->arg[0].u.t;
    const rl_slot *dims = &k->arg[2];
    int64_t shape[RL_MAX_DIMS];
    uint64_t mask = 0;
    int n = dims->tag == RL_INTS ? dims->n : dims->tag == RL_INT ? 1 : 0, kept = 0;
    if (k->arg[1].tag == RL_TEXT && strcmp(k->arg[1].u.s, "fro") != 0)
        return rl_error_set(RL_RUNTIME, "linalg.matrix_norm: Order %s not supported.", k->arg[1].u.s);
    if (!rl_is_float(x->dtype) && k->arg[4].tag == RL_DTYPE)
        return rl_error_set(RL_RUNTIME,
                            "linalg.vector_norm: dtype should be floating point or complex, but got %s",
                            rl_dtype_title(x->dtype));
    if (!rl_is_float(x->dtype))
        return rl_error_set(
            RL_RUNTIME, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
            rl_dtype_title(x->dtype));
    for (int i = 0; i < n; i++) {
        int64_t d = dims->tag == RL_INT ? dims->u.i : dims->u.ints[i];
        if (rl_dim_wrap(&d, x->ndim) != RL_OK) return RL_FAIL;
        if (mask >> d & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)d);
        mask |= 1ull << d;
    }
    for (int d = 0; n == 0 && d < x->ndim; d++) mask |= 1ull << d;
    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1))
            shape[kept++] = x->shape[d];
        else if (k->arg[3].u.i)
            shape[kept++] = 1;
    }
    k->attr[0] = (int64_t)mask;
    if (some_elements(k, k->arg[1].tag == RL_INT || k->arg[1].tag == RL_FLOAT ? rl_num(k, 1) : 2) != RL_OK)
        return RL_FAIL;
    return rl_out_dims(k, 0, shape, kept);
}
