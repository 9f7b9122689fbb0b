/* Distances and similarity of vectors. */
#include "compose.h"
#include "slots.h"
#include "core/dtype.h"
#include "core/view.h"
#include <string.h>

static PyObject *norm_of(PyObject *x, rl_slot p, rl_slot dim, bool keepdim) {
    rl_slot args[4] = {tensor_slot(x), p, dim, truth_slot(keepdim)};
    return rl_op_run(RL_OP_linalg_vector_norm, args, 4);
}

COMPOSE(dist) {
    RL_OWNED PyObject *gap = rl_op_binary(RL_OP_sub, tensor_of(b, 0), tensor_of(b, 1));
    if (!gap) return NULL;
    if (!rl_is_float(view_of(gap)->dtype)) {
        PyErr_Format(PyExc_RuntimeError,
                     "norm(): input dtype should be either floating point or complex. Got %s instead.",
                     rl_dtype_title(view_of(gap)->dtype));
        return NULL;
    }
    return norm_of(gap, b->k.arg[2], (rl_slot){.tag = RL_NONE}, false);
}

COMPOSE(pairwise_distance) {
    RL_OWNED PyObject *gap = rl_op_binary(RL_OP_sub, tensor_of(b, 0), tensor_of(b, 1));
    if (!gap) return NULL;
    rl_slot args[2] = {tensor_slot(gap), float_slot(b->k.arg[3].u.d)};
    RL_OWNED PyObject *moved = rl_op_run(RL_OP_add, args, 2);
    return moved ? norm_of(moved, b->k.arg[2], int_slot(view_of(moved)->ndim ? view_of(moved)->ndim - 1 : 0),
                           b->k.arg[4].u.i != 0)
                 : NULL;
}

/* at least `least`, in place and outside the history: PyTorch's gradient does not know of it */
static int raise_quietly(PyObject *x, double least) {
    int grad = rl_here.grad;
    rl_slot args[2] = {tensor_slot(x), float_slot(least)};
    rl_here.grad = 0;
    RL_OWNED PyObject *done = rl_op_run_inplace(RL_OP_clamp, args, 2);
    rl_here.grad = grad;
    return done ? 0 : -1;
}

/* x / max(|x|, least) along dim */
static PyObject *unit_vectors(PyObject *x, int64_t dim, double least) {
    RL_OWNED PyObject *norm = norm_of(x, int_slot(2), int_slot(dim), true);
    RL_OWNED PyObject *length = norm ? rl_op_unary(RL_OP_clone, norm) : NULL; /* the norm keeps its result */
    return length && raise_quietly(length, least) == 0 ? rl_op_binary(RL_OP_div, x, length) : NULL;
}

static PyObject *stretched(PyObject *x, const int64_t *shape, int n) {
    rl_slot args[2] = {tensor_slot(x), {.tag = RL_INTS, .n = n, .u.ints = (int64_t *)shape}};
    return rl_op_run(RL_OP_expand, args, 2);
}

/* integers as dtype; they have no history to keep */
static PyObject *float_of(PyObject *x, int dtype) {
    const rl_view *v = view_of(x);
    if (rl_is_float(v->dtype)) return Py_NewRef(x);
    rl_tensor *made = rl_tensor_new(dtype, v->device, v->device_index, v->shape, v->ndim);
    if (made && rl_tensor_copy(made, (rl_tensor *)x) < 0) Py_CLEAR(made);
    return (PyObject *)made;
}

/* an argument stretched to the common shape, of length 1 along dim */
static PyObject *unit_argument(rl_bound *b, int arg, const int64_t *shape, int n, int64_t dim, int dtype) {
    RL_OWNED PyObject *wide = stretched(tensor_of(b, arg), shape, n);
    RL_OWNED PyObject *floats = wide ? float_of(wide, dtype) : NULL;
    return floats ? unit_vectors(floats, dim, b->k.arg[3].u.d) : NULL;
}

COMPOSE(cosine_similarity) {
    int64_t shape[RL_MAX_DIMS], dim = b->k.arg[2].u.i;
    int n, dtype = rl_dtype_promote(rl_tensor_arg(&b->k, 0)->dtype, rl_tensor_arg(&b->k, 1)->dtype);
    if (!rl_is_float(dtype)) {
        PyErr_Format(PyExc_RuntimeError, "expected common dtype to be floating point, yet common dtype is %s",
                     rl_dtype_title(dtype));
        return NULL;
    }
    if (rl_dims_broadcast(b->k.arg[0].u.t, b->k.arg[1].u.t, shape, &n) != RL_OK ||
        rl_dim_wrap(&dim, n) != RL_OK)
        return rl_raise("cosine_similarity");
    RL_OWNED PyObject *first = unit_argument(b, 0, shape, n, dim, dtype);
    RL_OWNED PyObject *second = first ? unit_argument(b, 1, shape, n, dim, dtype) : NULL;
    RL_OWNED PyObject *products = second ? rl_op_binary(RL_OP_mul, first, second) : NULL;
    if (!products) return NULL;
    rl_slot args[2] = {tensor_slot(products), int_slot(dim)};
    return rl_op_run(RL_OP_sum, args, 2);
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
