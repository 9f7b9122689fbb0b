/* Reductions that are made of others: means, covariances, norms, differences, integrals. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"

COMPOSED(nanmean) {
    V x = X(0);
    if (!rl_is_float(rl_value_tensor(x)->dtype))
        return RAISE(PyExc_RuntimeError,
                     "nanmean(): expected input to have floating point or complex dtype but got %s",
                     rl_dtype_title(rl_value_tensor(x)->dtype));
    V number = OP(sum, OP(logical_not, OP(isnan, x)), X(1), X(2));
    return OP(div, OP(nansum, x, X(1), X(2), X(3)), number);
}

/* ---- covariances ---- */
static bool weights_fit(rl_values *g, V w, const char *name, bool whole, int64_t n) {
    const int dtype = rl_value_tensor(w)->dtype;
    if (NDIM(w) > 1)
        RAISE(PyExc_RuntimeError,
              "cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions", name, name,
              NDIM(w));
    else if (whole ? rl_is_float(dtype) || dtype == RL_BOOL : !rl_is_float(dtype))
        RAISE(PyExc_RuntimeError, "cov(): expected %s to have %s dtype but got %s with %s dtype", name,
              whole ? "integral" : "floating point", name, rl_dtype_title(dtype));
    else if (NUMEL(w) != n)
        RAISE(PyExc_RuntimeError,
              "cov(): expected %s to have the same numel as there are observations in the input but got "
              "%lld != %lld",
              name, (long long)NUMEL(w), (long long)n);
    else if (n && !rl_values_boolean(g, OP(ge, OP(min, w), INT(0))) && !FAILED)
        RAISE(PyExc_RuntimeError, "cov(): %s cannot be negative", name);
    return !FAILED;
}

/* what products of deviations are divided by: the weights less the degrees that are taken */
static V freedom(rl_values *g, V weights, V total, V aweights, int64_t correction) {
    if (aweights.tag == RL_NONE || correction == 0) return OP(sub, total, INT(correction));
    V squares = OP(mul, OP(sum, OP(mul, weights, aweights)), INT(correction));
    return OP(sub, total, OP(div, squares, total));
}

static void warn_nothing_left(rl_values *g) {
    if (!FAILED &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
            "observations.",
            1) < 0)
        FAILED = true;
}

static V covariance(rl_values *g, V x, int64_t correction, V fweights, V aweights) {
    int64_t row[2] = {1, NUMEL(x)};
    if (NDIM(x) < 2) x = OP(view, OP(contiguous, x), INTS(row, 2));
    const int64_t n = SIZE(x, 1);
    V weights = NONE, total = INT(n), left = INT(n > correction ? n - correction : 0);
    if (fweights.tag != RL_NONE) {
        if (!weights_fit(g, fweights, "fweights", true, n)) return NONE;
        weights = fweights;
    }
    if (aweights.tag != RL_NONE) {
        if (!weights_fit(g, aweights, "aweights", false, n)) return NONE;
        weights = weights.tag == RL_NONE ? aweights : OP(mul, weights, aweights);
    }
    if (weights.tag != RL_NONE) {
        total = OP(sum, weights);
        if (!rl_values_boolean(g, total) && !FAILED)
            return RAISE(PyExc_RuntimeError, "cov(): weights sum to zero, can't be normalized");
        left = freedom(g, weights, total, aweights, correction);
        if (rl_values_boolean(g, OP(le, left, INT(0)))) {
            warn_nothing_left(g);
            left = OP(zeros_like, left);
        }
    } else if (left.u.i == 0) {
        warn_nothing_left(g);
    }
    V dims = INT(1), sums = OP(sum, weights.tag == RL_NONE ? x : OP(mul, x, weights), dims);
    V gap = OP(sub, x, OP(unsqueeze, OP(div, sums, total), dims));
    V weighted = weights.tag == RL_NONE ? gap : OP(mul, gap, weights);
    return OP(squeeze, OP(div, OP(matmul, gap, OP(t, weighted)), left));
}

static bool too_many_dims(rl_values *g, V x, const char *name) {
    if (NDIM(x) > 2)
        RAISE(PyExc_RuntimeError,
              "%s(): expected input to have two or fewer dimensions but got an input with %d dimensions",
              name, NDIM(x));
    else if (rl_value_tensor(x)->dtype == RL_BOOL)
        RAISE(PyExc_RuntimeError, "cov(): bool dtype is not supported for input");
    return FAILED;
}

COMPOSED(cov) {
    if (too_many_dims(g, X(0), "cov")) return NONE;
    return covariance(g, X(0), X(1).u.i, X(2), X(3));
}

COMPOSED(corrcoef) {
    if (too_many_dims(g, X(0), "corrcoef")) return NONE;
    V c = covariance(g, X(0), 1, NONE, NONE);
    int64_t column[] = {-1, 1}, row[] = {1, -1};
    if (NDIM(c) == 0) return OP(div, c, c);
    V spread = OP(sqrt, OP(diag, c));
    c = OP(div, OP(div, c, OP(view, spread, INTS(column, 2))), OP(view, spread, INTS(row, 2)));
    return OP(clamp, c, INT(-1), INT(1));
}

/* ---- norms ---- */
COMPOSED(frobenius_norm) {
    V dims = X(1);
    const int n = dims.tag == RL_INTS ? dims.n : 1;
    if (n > 2)
        return RAISE(PyExc_RuntimeError, "Expected at most 2 dimensions, but got %d dimensions instead.", n);
    return OP(linalg_vector_norm, X(0), INT(2), dims, X(2));
}

COMPOSED(norm_except_dim) {
    V v = X(0);
    int64_t dim = X(2).u.i, last = NDIM(v) - 1, flat[2] = {-1, -1}, kept[RL_MAX_DIMS];
    if (dim == -1) return OP(norm, v, X(1));
    if (dim < 0 || dim > last)
        return RAISE(PyExc_IndexError,
                     "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                     last < 0 ? -1 : (int)(-last - 1), last < 0 ? 0 : (int)last, (long long)dim);
    for (int64_t d = 0; d <= last; d++) kept[d] = 1;
    if (dim > 0 && dim < last) v = OP(transpose, v, INT(0), INT(dim));
    const bool front = dim < last || last == 0;
    const int64_t at = front ? 0 : last;
    flat[front ? 0 : 1] = kept[at] = SIZE(v, at);
    V norms = OP(norm, OP(view, OP(contiguous, v), INTS(flat, 2)), X(1), INT(front ? 1 : 0));
    norms = OP(view, norms, INTS(kept, (int)last + 1));
    return dim > 0 && dim < last ? OP(transpose, norms, INT(0), INT(dim)) : norms;
}

/* ---- differences of neighbours and what lies below a line through samples ---- */
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
    return rl_values_own_steal(g, rl_move(&kept));
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
    const bool half = rl_is_half(dtype);
    V norm =
        OP(linalg_vector_norm, x, X(1), INTS(others, (int)n), BOOLEAN(true), half ? DTYPE(RL_F32) : NONE);
    V factor = OP(mul, OP(reciprocal, OP(add, norm, NUM(1e-7))), X(3));
    factor = OP(where, OP(gt, norm, X(3)), factor, NUM(1));
    return OP(contiguous, OP(mul, x, half ? OP(to_copy, factor, DTYPE(dtype)) : factor));
}
