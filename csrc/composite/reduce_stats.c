/* Means without NaN, covariances, norms that are named after what they leave. */
#include "compose.h"
#include "core/dtype.h"

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
    else if (n && !rl_values_truth(g, OP(ge, OP(min, w), INT(0))) && !FAILED)
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
        if (!rl_values_truth(g, total) && !FAILED)
            return RAISE(PyExc_RuntimeError, "cov(): weights sum to zero, can't be normalized");
        left = freedom(g, weights, total, aweights, correction);
        if (rl_values_truth(g, OP(le, left, INT(0)))) {
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
