/* The same elements under another shape, or summed to a smaller one. */
#include "compose.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

COMPOSED(adjoint) {
    const int ndim = NDIM(X(0));
    if (ndim == 1)
        return RAISE(
            PyExc_RuntimeError,
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
    if (ndim) return OP(transpose, X(0), INT(-2), INT(-1));
    FAILED = PyErr_WarnEx(PyExc_UserWarning,
                          "adjoint() is deprecated on 0-D tensors. Consider using x.conj().", 1) < 0;
    return OP(alias, X(0));
}

COMPOSED(ravel) {
    const int64_t all = -1;
    return OP(reshape, OP(contiguous, X(0)), INTS((int64_t[]){all}, 1));
}

COMPOSED(broadcast_to) {
    return OP(expand, X(0), X(1));
}

COMPOSED(sum_to_size) {
    const rl_view *x = X(0).u.t;
    int64_t want[RL_MAX_DIMS], dims[RL_MAX_DIMS];
    int n = rl_value_list(X(1), want, RL_MAX_DIMS), more = x->ndim - n, reduced = 0;
    char wanted[RL_DIMS_TEXT], have[RL_DIMS_TEXT];
    bool fits = more >= 0, any = false;
    for (int d = 0; fits && d < x->ndim; d++) {
        int64_t to = d < more ? 1 : want[d - more];
        fits = to == 1 || to == x->shape[d];
        if (d < more || (to == 1 && x->shape[d] != 1)) dims[reduced++] = d, any = true;
    }
    if (!fits)
        return RAISE(PyExc_RuntimeError, "size {%s} is not expandable to size {%s}.",
                     rl_dims_text(wanted, want, n), rl_dims_text(have, x->shape, x->ndim));
    V sum = any ? OP(sum, X(0), INTS(dims, reduced), TRUTH(true)) : X(0);
    return more ? OP(view, sum, INTS(want, n)) : any ? sum : OP(alias, X(0));
}

COMPOSED(diagflat) {
    const int64_t all = -1;
    return OP(diag, OP(reshape, OP(contiguous, X(0)), INTS((int64_t[]){all}, 1)), X(1));
}

COMPOSED(diag_embed) {
    const int ndim = NDIM(X(0)) + 1;
    int64_t dims[2] = {X(2).u.i, X(3).u.i}, shape[RL_MAX_DIMS], offset = X(1).u.i, width;
    int last = ndim - 2, at = 0;
    for (int i = 0; i < 2; i++)
        if (rl_dim_wrap(&dims[i], ndim) != RL_OK) {
            FAILED = true;
            rl_raise(NULL);
            return NONE;
        }
    if (dims[0] == dims[1])
        return RAISE(PyExc_RuntimeError, "diagonal dimensions cannot be identical %lld, %lld",
                     (long long)X(2).u.i, (long long)X(3).u.i);
    if (__builtin_add_overflow(SIZE(X(0), last), offset < 0 ? -(offset + 1) : offset, &width) ||
        __builtin_add_overflow(width, offset < 0, &width) || ndim > RL_MAX_DIMS)
        return RAISE(PyExc_RuntimeError, "diag_embed: the result is too large");
    for (int d = 0; d < ndim; d++)
        shape[d] = d == dims[0] || d == dims[1] ? width : rl_value_tensor(X(0))->shape[at++];
    const rl_view *x = X(0).u.t;
    V whole =
        rl_values_own_steal(g, (PyObject *)rl_tensor_new(x->dtype, x->device, x->device_index, shape, ndim));
    IN_PLACE(fill_, whole, INT(0));
    IN_PLACE(copy_, OP(diagonal, whole, INT(offset), INT(dims[0]), INT(dims[1])), X(0));
    return whole;
}

COMPOSED(trace) {
    if (NDIM(X(0)) != 2)
        return RAISE(PyExc_RuntimeError, "trace: expected a matrix, but got tensor with dim %d", NDIM(X(0)));
    if (rl_value_tensor(X(0))->dtype == RL_BOOL)
        return RAISE(PyExc_NotImplementedError, "\"trace\" not implemented for 'Bool'");
    return OP(sum, OP(diagonal, X(0)));
}
