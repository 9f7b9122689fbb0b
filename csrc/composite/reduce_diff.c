/* Differences of neighbours and what lies below a line through samples. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"

static int64_t wrapped(rl_values *g, V x, int64_t dim) {
    if (rl_dim_wrap(&dim, NDIM(x)) == RL_OK) return dim;
    FAILED = true;
    rl_raise(NULL);
    return 0;
}

/* x without its first, or its last, along dim */
static V later(rl_values *g, V x, int64_t dim) {
    return OP(slice, x, INT(dim), INT(1));
}
static V earlier(rl_values *g, V x, int64_t dim) {
    return OP(slice, x, INT(dim), INT(0), INT(-1));
}

/* One step, which drops what it made on the way: there may be many. */
static PyObject *step(const rl_values *whole, PyObject *tensor, int64_t dim) {
    rl_values own = {.what = whole->what}, *g = &own;
    V x = {.tag = RL_TENSOR, .u.t = &((rl_tensor *)tensor)->v}, next = later(g, x, dim),
      last = earlier(g, x, dim);
    V gap = rl_value_tensor(x)->dtype == RL_BOOL ? OP(logical_xor, next, last) : OP(sub, next, last);
    PyObject *made = FAILED ? NULL : Py_NewRef((PyObject *)RL_TENSOR_OF(gap.u.t));
    rl_values_drop(g);
    return made;
}

COMPOSED(diff) {
    V x = X(0);
    int64_t n = X(1).u.i;
    if (NDIM(x) == 0) return RAISE(PyExc_RuntimeError, "diff expects input to be at least one-dimensional");
    if (n < 0) return RAISE(PyExc_RuntimeError, "order must be non-negative but got %lld", (long long)n);
    int64_t dim = wrapped(g, x, X(2).u.i);
    for (int i = 3; i < 5; i++)
        if (GIVEN(i) && NDIM(X(i)) != NDIM(x))
            return RAISE(PyExc_RuntimeError,
                         "diff expects prepend or append to be the same dimension as input");
    if (GIVEN(3)) x = JOIN(X(3), x, dim);
    if (GIVEN(4)) x = JOIN(x, X(4), dim);
    if (n == 0) return OP(clone, x);
    if (n > SIZE(x, dim)) n = SIZE(x, dim);
    if (NUMEL(x) == 0) return OP(clone, OP(slice, x, INT(dim), INT(n)));
    RL_OWNED PyObject *kept = FAILED ? NULL : Py_NewRef((PyObject *)RL_TENSOR_OF(x.u.t));
    for (int64_t i = 0; kept && i < n; i++) Py_SETREF(kept, step(g, kept, dim));
    return rl_values_own_steal(g, rl_give(&kept));
}

/* neighbours of y added up, times the distance of each pair */
static V trapezoids(rl_values *g, V y, V dx, int64_t dim) {
    V pairs = OP(add, later(g, y, dim), earlier(g, y, dim));
    return dx.tag == RL_NONE ? pairs : OP(mul, dx, pairs);
}

/* the distances of x along dim of y; where x is one row, along dim of nothing else */
static V distances(rl_values *g, V y, V x, int64_t dim, const char *name) {
    int64_t shape[RL_MAX_DIMS];
    const int ndim = NDIM(y), more = ndim - NDIM(x);
    if (NDIM(x) == 1) {
        if (SIZE(x, 0) != SIZE(y, dim))
            return RAISE(PyExc_RuntimeError, "%s: There must be one `x` value for each sample point", name);
        for (int d = 0; d < ndim; d++) shape[d] = d == dim ? SIZE(x, 0) : 1;
        x = OP(view, OP(contiguous, x), INTS(shape, ndim));
    } else if (more > 0) {
        for (int d = 0; d < ndim; d++) shape[d] = d < more ? 1 : SIZE(x, d - more);
        x = OP(reshape, x, INTS(shape, ndim));
    }
    return OP(sub, later(g, x, dim), earlier(g, x, dim));
}

static bool is_bool(V x) {
    return rl_value_tensor(x)->dtype == RL_BOOL;
}

static V no_area(rl_values *g, V y, int64_t dim) {
    return OP(sum, y, INT(dim)); /* of nothing: zeros */
}

static V trapezoid(rl_values *g, V y, V x, int64_t dim) {
    dim = wrapped(g, y, dim);
    if (FAILED) return NONE;
    if (SIZE(y, dim) == 0) return no_area(g, y, dim);
    if (is_bool(x) || is_bool(y))
        return RAISE(PyExc_RuntimeError,
                     "trapezoid: received a bool input for `x` or `y`, but bool is not supported");
    V area = OP(sum, trapezoids(g, y, distances(g, y, x, dim, "trapezoid"), dim), INT(dim));
    return OP(div, area, NUM(2));
}

static V trapezoid_even(rl_values *g, V y, V dx, int64_t dim) {
    dim = wrapped(g, y, dim);
    if (FAILED) return NONE;
    if (SIZE(y, dim) == 0) return no_area(g, y, dim);
    if (is_bool(y))
        return RAISE(PyExc_RuntimeError,
                     "trapezoid: received a bool input for `y`, but bool is not supported");
    return OP(mul, OP(sum, trapezoids(g, y, NONE, dim), INT(dim)), NUM(rl_number(dx) / 2));
}

COMPOSED(trapezoid) {
    return trapezoid(g, X(0), X(1), X(2).u.i);
}
COMPOSED(trapezoid_even) {
    return trapezoid_even(g, X(0), X(1), X(2).u.i);
}
COMPOSED(trapz) {
    return trapezoid(g, X(0), X(1), X(2).u.i);
}
COMPOSED(trapz_even) {
    return trapezoid_even(g, X(0), X(1), X(2).u.i);
}

COMPOSED(cumulative_trapezoid) {
    V y = X(0), x = X(1);
    int64_t dim = wrapped(g, y, X(2).u.i);
    if (FAILED) return NONE;
    if (is_bool(x) || is_bool(y))
        return RAISE(PyExc_RuntimeError,
                     "cumulative_trapezoid: received a bool input for `x` or `y`, but bool is not supported");
    V areas = trapezoids(g, y, distances(g, y, x, dim, "cumulative_trapezoid"), dim);
    return OP(div, OP(cumsum, areas, INT(dim)), NUM(2));
}

COMPOSED(cumulative_trapezoid_even) {
    V y = X(0);
    int64_t dim = wrapped(g, y, X(2).u.i);
    if (FAILED) return NONE;
    if (is_bool(y))
        return RAISE(PyExc_RuntimeError,
                     "cumulative_trapezoid: received a bool input for `y`, but bool is not supported");
    return OP(mul, OP(cumsum, trapezoids(g, y, NONE, dim), INT(dim)), NUM(rl_number(X(1)) / 2));
}

COMPOSED(renorm) {
    V x = X(0);
    int64_t others[RL_MAX_DIMS], n = 0;
    if (rl_number(X(1)) <= 0) return RAISE(PyExc_RuntimeError, "renorm: non-positive-norm not supported");
    if (rl_number(X(3)) < 0) {
        char most[32];
        PyOS_snprintf(most, sizeof most, "%g", rl_number(X(3)));
        return RAISE(PyExc_RuntimeError, "renorm: expected maxnorm to be >= 0 but got %s", most);
    }
    if (NDIM(x) < 2)
        return RAISE(PyExc_RuntimeError, "renorm: input needs at least 2 dimensions, got %d dimensions",
                     NDIM(x));
    int64_t dim = wrapped(g, x, X(2).u.i);
    if (FAILED) return NONE;
    for (int64_t d = 0; d < NDIM(x); d++)
        if (d != dim) others[n++] = d;
    const int dtype = rl_value_tensor(x)->dtype;
    const bool half = dtype == RL_F16 || dtype == RL_BF16;
    V norm = OP(linalg_vector_norm, x, X(1), INTS(others, (int)n), TRUTH(true), half ? DTYPE(RL_F32) : NONE);
    V factor = OP(mul, OP(reciprocal, OP(add, norm, NUM(1e-7))), X(3));
    factor = OP(where, OP(gt, norm, X(3)), factor, NUM(1));
    return OP(contiguous, OP(mul, x, half ? OP(to_copy, factor, DTYPE(dtype)) : factor));
}
