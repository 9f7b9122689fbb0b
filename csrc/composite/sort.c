/* Elements in order: sorting, quantiles, counts, binary search. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <stdio.h>
#include <string.h>

COMPOSED(msort) {
    return OP(sort, X(0), INT(0), BOOLEAN(false));
}

/* ---- quantiles ---- */
static const char *const interpolations[] = {"linear", "lower", "higher", "midpoint", "nearest"};
enum { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST };

static int interpolation_read(rl_values *g, const char *name, const char *word) {
    for (int i = LINEAR; i <= NEAREST; i++)
        if (strcmp(word, interpolations[i]) == 0) return i;
    RAISE(PyExc_RuntimeError,
          "%s() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s", name,
          word);
    return LINEAR;
}

static V quantile_check(rl_values *g, const char *name, V x, V q) {
    if (NUMEL(x) == 0) return RAISE(PyExc_RuntimeError, "%s() input tensor must be non-empty", name);
    if (NDIM(q) > 1) return RAISE(PyExc_RuntimeError, "%s() q must be a scalar or 1D tensor", name);
    if (rl_value_tensor(x)->dtype != RL_F32 && rl_value_tensor(x)->dtype != RL_F64)
        return RAISE(PyExc_RuntimeError, "%s() input tensor must be either float or double dtype", name);
    if (q.tag == RL_TENSOR && rl_value_tensor(q)->dtype != rl_value_tensor(x)->dtype)
        return RAISE(PyExc_RuntimeError, "%s() q tensor must be same dtype as the input tensor", name);
    if (q.tag == RL_TENSOR) {
        V inside = OP(all, OP(logical_and, OP(ge, q, INT(0)), OP(le, q, INT(1))));
        if (!FAILED && !rl_values_boolean(g, inside))
            return RAISE(PyExc_RuntimeError, "%s() q values must be in the range [0, 1]", name);
    } else if (!(rl_number(q) >= 0 && rl_number(q) <= 1)) {
        char text[32];
        snprintf(text, sizeof text, "%g", rl_number(q));
        return RAISE(PyExc_RuntimeError, "%s() q must be in the range [0, 1] but got %s", name, text);
    }
    return x;
}

/* q as places in sorted lines: (lines ..., number of q) */
static V ranks_of(rl_values *g, V sorted, V q, bool ignores_nan) {
    const V last = INT(-1), kept = BOOLEAN(true);
    if (ignores_nan) { /* 0 where all are NaN */
        V numbers = OP(sum, OP(logical_not, OP(isnan, sorted)), last, kept);
        return OP(clamp, OP(mul, q, OP(sub, numbers, INT(1))), INT(0));
    }
    const int64_t end = SIZE(sorted, -1) - 1;
    V ranks = OP(mul, q, INT(end)); /* the last one, where there is NaN */
    return OP(where, OP(any, OP(isnan, sorted), last, kept), NUM((double)end), ranks);
}

static V quantile(rl_values *g, rl_op_call *b, bool ignores_nan) {
    const char *name = ignores_nan ? "nanquantile" : "quantile";
    V x = X(0), q = X(1);
    int64_t dim = GIVEN(2) ? X(2).u.i : 0;
    const int how = interpolation_read(g, name, X(4).u.s);
    const bool kept = X(3).u.i != 0;
    quantile_check(g, name, x, q);
    if (FAILED) return NONE;
    const int ndim = NDIM(x);
    if (GIVEN(2) && rl_dim_wrap(&dim, ndim) != RL_OK) return rl_values_own_steal(g, rl_raise(name));
    int64_t ones[RL_MAX_DIMS + 1], flat = -1;
    for (int d = 0; d <= ndim; d++) ones[d] = 1;
    V lines = x;
    if (!GIVEN(2))
        lines = OP(reshape, x, INTS(&flat, 1));
    else if (ndim && dim != ndim - 1)
        lines = OP(transpose, OP(unsqueeze, x, INT(-1)), INT(dim), INT(-1));
    const bool many = NDIM(q) == 1;
    if (q.tag == RL_TENSOR && !many) q = OP(unsqueeze, q, INT(0));
    if (q.tag != RL_TENSOR)
        q = OP(full, INTS(ones, 1), q, DTYPE(rl_value_tensor(x)->dtype), NONE, DEVICE_OF(x));
    if (NDIM(lines) == 0) lines = OP(unsqueeze, lines, INT(0));
    V sorted = OP(sort, lines, INT(-1), BOOLEAN(false)), ranks = ranks_of(g, sorted, q, ignores_nan);
    if (how == LOWER) ranks = OP(floor, ranks);
    if (how == HIGHER) ranks = OP(ceil, ranks);
    if (how == NEAREST) ranks = OP(round, ranks);
    V below = OP(to_copy, ranks, DTYPE(RL_I64)), found = OP(gather, sorted, INT(-1), below);
    if (how == LINEAR || how == MIDPOINT) {
        V weight = how == MIDPOINT ? NUM(0.5) : OP(sub, ranks, below);
        V above = OP(to_copy, OP(ceil, ranks), DTYPE(RL_I64));
        found = OP(lerp, found, OP(gather, sorted, INT(-1), above), weight);
    }
    const bool last = dim == ndim - 1 || ndim == 0; /* else dim is still there, with length 1 */
    if (kept && !GIVEN(2)) {
        ones[ndim] = SIZE(found, 0);
        found = OP(reshape, found, INTS(ones, ndim + 1));
    } else if (GIVEN(2) && !last && !kept) {
        found = OP(squeeze_dim, found, INT(dim));
    } else if (kept && last && ndim) {
        found = OP(unsqueeze, found, INT(-2));
    }
    /* each q to the front */
    found = OP(squeeze_dim, OP(transpose, OP(unsqueeze, found, INT(0)), INT(0), INT(-1)), INT(-1));
    return many ? found : OP(squeeze_dim, found, INT(0));
}

COMPOSED(quantile) {
    return quantile(g, b, false);
}
COMPOSED(quantile_number) {
    return quantile(g, b, false);
}
COMPOSED(nanquantile) {
    return quantile(g, b, true);
}
COMPOSED(nanquantile_number) {
    return quantile(g, b, true);
}

/* ---- bincount ---- */
/* the one element of x; -1: failed */
static int64_t integer_number(rl_values *g, V x) {
    RL_OWNED PyObject *number = FAILED ? NULL : rl_scalar_get(x.u.t);
    const int64_t n = number ? PyLong_AsLongLong(number) : -1;
    if (!number || PyErr_Occurred()) VALUES->failed = true;
    return n;
}

COMPOSED(bincount) {
    V x = X(0), weights = X(1);
    int64_t bins = X(2).u.i;
    if (bins < 0) return RAISE(PyExc_RuntimeError, "minlength should be >= 0");
    const bool counts =
        NDIM(x) == 1 && !rl_is_float(rl_value_tensor(x)->dtype) && rl_value_tensor(x)->dtype != RL_BOOL;
    if (counts && NUMEL(x) == 0) {
        V device = INT(rl_value_tensor(x)->device * 256 + rl_value_tensor(x)->device_index + 1);
        return OP(full, INTS(&bins, 1), INT(0), DTYPE(RL_I64), NONE, device);
    }
    if (counts && integer_number(g, OP(min, x)) < 0 && !FAILED) x = NONE;
    if (NDIM(x) != 1)
        return RAISE(PyExc_RuntimeError, "bincount only supports 1-d non-negative integral inputs.");
    if (GIVEN(1) && (NDIM(weights) != 1 || NUMEL(weights) != NUMEL(x)))
        return RAISE(PyExc_RuntimeError, "weights should be 1-d and have the same length as input");
    const int64_t most = counts ? integer_number(g, OP(max, x)) : 0;
    if (most >= bins) bins = most == INT64_MAX ? most : most + 1;
    if (GIVEN(1) && rl_value_tensor(weights)->dtype != RL_F32) weights = OP(to_copy, weights, DTYPE(RL_F64));
    return OP(bin_counts, x, weights, INT(bins));
}

/* ---- binary search ----
 * where elements belong, and whether they are there. */
static int rank(int dtype) {
    return dtype == RL_BOOL ? 0 : rl_is_float(dtype) ? 2 : 1;
}

/* the dtype in which a line and a value (a tensor or a number) are compared */
static int common_dtype(V line, V value) {
    const int a = rl_value_tensor(line)->dtype;
    if (value.tag != RL_TENSOR) {
        const int b = value.tag == RL_BOOLEAN ? RL_BOOL : value.tag == RL_INT ? RL_I64 : rl_dtype_default();
        return rank(b) > rank(a) ? b : a;
    }
    const int b = rl_value_tensor(value)->dtype;
    if (!NDIM(value) == !NDIM(line)) return rl_dtype_promote(a, b);
    const int dims = NDIM(line) ? a : b, none = NDIM(line) ? b : a;
    return rank(none) > rank(dims) ? rl_dtype_promote(a, b) : dims;
}

/* a number becomes a tensor where `like` is */
static V as_dtype(rl_values *g, V x, int dtype, V like) {
    if (FAILED || (x.tag == RL_TENSOR && rl_value_tensor(x)->dtype == dtype)) return x;
    if (x.tag == RL_TENSOR) return OP(to_copy, x, DTYPE(dtype));
    return OP(full, INTS(NULL, 0), x, DTYPE(dtype), NONE, DEVICE_OF(like));
}

/* ---- searchsorted, bucketize ---- */
static V search_places(rl_values *g, V line, V value, bool right, bool narrow) {
    if (FAILED) return NONE;
    if (value.tag == RL_TENSOR && NUMEL(value) == 0) /* of any dtype */
        return OP(zeros_like, value, DTYPE(narrow ? RL_I32 : RL_I64));
    const int dtype = common_dtype(line, value);
    V places =
        OP(search_places, as_dtype(g, value, dtype, line), as_dtype(g, line, dtype, line), BOOLEAN(right));
    return narrow ? OP(to_copy, places, DTYPE(RL_I32)) : places;
}

static V sorter_checked(rl_values *g, V line, V sorter) {
    char have[RL_DIMS_TEXT], got[RL_DIMS_TEXT];
    if (NDIM(line) != NDIM(sorter) || memcmp(rl_value_tensor(line)->shape, rl_value_tensor(sorter)->shape,
                                             (size_t)NDIM(line) * sizeof(int64_t)) != 0)
        return RAISE(PyExc_RuntimeError,
                     "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
                     "tensor %sand got sorter tensor %s",
                     rl_dims_text(have, rl_value_tensor(line)->shape, NDIM(line)),
                     rl_dims_text(got, rl_value_tensor(sorter)->shape, NDIM(sorter)));
    if (rl_value_tensor(sorter)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError,
                     "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s",
                     rl_dtype_title(rl_value_tensor(sorter)->dtype));
    if (NUMEL(sorter) == 0 || NDIM(line) == 0) return line;
    V inside = OP(logical_and, OP(ge, sorter, INT(0)), OP(lt, sorter, INT(SIZE(line, -1))));
    V all = OP(all, inside);
    if (!FAILED && !rl_values_boolean(g, all))
        return RAISE(PyExc_RuntimeError, "torch.searchsorted(): sorter index out of range");
    return OP(gather, line, INT(-1), sorter);
}

static bool dims_match(V line, V value) {
    bool match = NDIM(line) == NDIM(value);
    for (int d = 0; match && d < NDIM(line) - 1; d++) match = SIZE(line, d) == SIZE(value, d);
    return match;
}

static V searchsorted(rl_values *g, rl_op_call *b) {
    V line = X(0), value = X(1);
    char have[RL_DIMS_TEXT], got[RL_DIMS_TEXT];
    const bool right = X(3).u.i != 0;
    const char *side = GIVEN(4) ? X(4).u.s : right ? "right" : "left";
    if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0)
        return RAISE(PyExc_RuntimeError,
                     "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
    if (right && strcmp(side, "left") == 0)
        return RAISE(PyExc_RuntimeError,
                     "torch.searchsorted(): side and right can't be set to opposites, got side of left while "
                     "right was True");
    if (GIVEN(5)) line = sorter_checked(g, line, X(5));
    if (FAILED) return NONE;
    if (NDIM(value) == 0 && NDIM(line) != 1 && NDIM(line) != 0)
        return RAISE(
            PyExc_RuntimeError,
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension "
            "is 1, but we got boundaries tensor dim(%d) and input value's dim(0) numel(1)",
            NDIM(line));
    if (NDIM(line) == 0)
        return RAISE(PyExc_RuntimeError, "torch.searchsorted(): boundaries tensor should have positive "
                                         "dimension, but got 0 dimension");
    if (NDIM(line) != 1 && !dims_match(line, value))
        return RAISE(PyExc_RuntimeError,
                     "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                     "dimensions of boundaries tensor and input value tensor must match, but we got "
                     "boundaries tensor %s and input value tensor %s",
                     rl_dims_text(have, rl_value_tensor(line)->shape, NDIM(line)),
                     rl_dims_text(got, rl_value_tensor(value)->shape, NDIM(value)));
    return search_places(g, line, value, strcmp(side, "right") == 0, X(2).u.i != 0);
}

COMPOSED(searchsorted) {
    return searchsorted(g, b);
}
COMPOSED(searchsorted_scalar) {
    return searchsorted(g, b);
}

static V bucketize(rl_values *g, rl_op_call *b) {
    if (NDIM(X(1)) != 1)
        return RAISE(PyExc_RuntimeError, "boundaries tensor must be 1 dimension, but got dim(%d)",
                     NDIM(X(1)));
    return search_places(g, X(1), X(0), X(3).u.i != 0, X(2).u.i != 0);
}
COMPOSED(bucketize) {
    return bucketize(g, b);
}
COMPOSED(bucketize_scalar) {
    return bucketize(g, b);
}

/* ---- isin ---- */
static V isin(rl_values *g, V elements, V tests, bool invert) {
    int64_t flat = -1;
    const bool first = elements.tag == RL_TENSOR;
    const int dtype = first ? common_dtype(elements, tests) : common_dtype(tests, elements);
    V refused = first && rl_value_tensor(elements)->dtype == RL_BOOL ? elements : tests;
    if (refused.tag == RL_TENSOR && rl_value_tensor(refused)->dtype == RL_BOOL)
        return RAISE(PyExc_RuntimeError, "Unsupported input type encountered for isin(): Bool");
    V line = OP(reshape, as_dtype(g, tests, dtype, elements), INTS(&flat, 1));
    V sorted = OP(sort, line, INT(0), BOOLEAN(false));
    return OP(search_members, as_dtype(g, elements, dtype, tests), sorted, BOOLEAN(invert));
}
COMPOSED(isin) {
    return isin(g, X(0), X(1), X(3).u.i != 0);
}
COMPOSED(isin_number) {
    if (rl_value_tensor(X(0))->dtype == RL_BOOL)
        return RAISE(PyExc_RuntimeError, "Unsupported input type encountered for isin(): Bool");
    V found = X(3).u.i ? OP(ne, X(0), X(1)) : OP(eq, X(0), X(1));
    return FAILED || rl_is_contiguous(found.u.t) ? found : OP(clone, found, INT(RL_FORMAT_CONTIGUOUS));
}
COMPOSED(isin_of_number) {
    return isin(g, X(0), X(1), X(3).u.i != 0);
}
