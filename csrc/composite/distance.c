/* Distances and similarity of vectors. */
#include "compose.h"
#include "core/dtype.h"
#include "core/view.h"
#include <string.h>

COMPOSED(dist) {
    V gap = OP(sub, X(0), X(1));
    if (!FAILED && !rl_is_float(rl_value_tensor(gap)->dtype))
        return RAISE(PyExc_RuntimeError,
                     "norm(): input dtype should be either floating point or complex. Got %s instead.",
                     rl_dtype_title(rl_value_tensor(gap)->dtype));
    return OP(linalg_vector_norm, gap, X(2), NONE, BOOLEAN(false));
}

COMPOSED(pairwise_distance) {
    V moved = OP(add, OP(sub, X(0), X(1)), X(3));
    return OP(linalg_vector_norm, moved, X(2), INT(NDIM(moved) ? NDIM(moved) - 1 : 0), X(4));
}

/* at least `least`, in place and outside the history: PyTorch's gradient does not know of it */
static void raise_quietly(rl_values *g, V x, double least) {
    const bool grad = rl_tls.grad;
    rl_tls.grad = false;
    IN_PLACE(clamp, x, NUM(least));
    rl_tls.grad = grad;
}

/* x / max(|x|, least) along dim */
static V unit_vectors(rl_values *g, V x, int64_t dim, double least) {
    V length =
        OP(clone, OP(linalg_vector_norm, x, INT(2), INT(dim), BOOLEAN(true))); /* it keeps its result */
    raise_quietly(g, length, least);
    return OP(div, x, length);
}

/* integers as dtype; they have no history to keep */
static V float_of(rl_values *g, V x, int dtype) {
    const rl_view *v = rl_value_tensor(x);
    if (FAILED || rl_is_float(v->dtype)) return x;
    rl_tensor *made = rl_tensor_new(dtype, v->device, v->device_index, v->shape, v->ndim);
    V floats = rl_values_own_steal(g, (PyObject *)made);
    FAILED = FAILED || rl_tensor_copy(made, RL_TENSOR_OF(x.u.t)) < 0;
    return floats;
}

COMPOSED(cosine_similarity) {
    int64_t shape[RL_MAX_DIMS], dim = X(2).u.i;
    const rl_view *one = rl_value_tensor(X(0)), *two = rl_value_tensor(X(1));
    const int dtype = rl_dtype_promote(one->dtype, two->dtype);
    int n;
    if (!rl_is_float(dtype))
        return RAISE(PyExc_RuntimeError, "expected common dtype to be floating point, yet common dtype is %s",
                     rl_dtype_title(dtype));
    if (rl_dims_broadcast(one, two, shape, &n) != RL_OK || rl_dim_wrap(&dim, n) != RL_OK) {
        FAILED = true;
        rl_raise("cosine_similarity");
        return NONE;
    }
    V unit[2];
    for (int i = 0; i < 2; i++)
        unit[i] = unit_vectors(g, float_of(g, OP(expand, X(i), INTS(shape, n)), dtype), dim, rl_number(X(3)));
    return OP(sum, OP(mul, unit[0], unit[1]), INT(dim));
}

/* ---- all rows to all rows ---- */
static bool floats_alone(rl_values *g, V x, int which) {
    if (rl_is_float(rl_value_tensor(x)->dtype)) return true;
    RAISE(PyExc_RuntimeError, "cdist only supports floating-point dtypes, X%d got: %s", which,
          rl_dtype_title(rl_value_tensor(x)->dtype));
    return false;
}

/* Order 2 of many rows is another function in PyTorch, by matrix products: its gradient has a gradient, and
 * it takes halves. */
COMPOSED(cdist) {
    V a = X(0), c = X(1);
    const int64_t mode = GIVEN(3) ? X(3).u.i : 0;
    const bool many = SIZE(a, -2) > 25 || SIZE(c, -2) > 25;
    if (NDIM(a) < 2 || NDIM(c) < 2 || SIZE(a, -1) != SIZE(c, -1))
        return OP(_cdist_forward, a, c, X(2), X(3)); /* which says what is wrong */
    if (!floats_alone(g, a, 1) || !floats_alone(g, c, 2)) return NONE;
    if (mode < 0 || mode > 2)
        return RAISE(PyExc_RuntimeError, "possible modes: 0, 1, 2, but was: %lld", (long long)mode);
    if (rl_number(X(2)) != 2 || mode == 2 || (mode == 0 && !many))
        return OP(_cdist_forward, a, c, X(2), X(3));
    int64_t shape[RL_MAX_DIMS];
    V made = OP(_euclidean_dist, a, c);
    return OP(view, made, SHAPE(made, shape));
}

COMPOSED(pdist) {
    V x = X(0);
    if (NDIM(x) != 2) return OP(_pdist_forward, x, X(1));
    if (!rl_is_float(rl_value_tensor(x)->dtype))
        return RAISE(PyExc_RuntimeError, "pdist only supports floating-point dtypes");
    return OP(_pdist_forward, x, X(1));
}
