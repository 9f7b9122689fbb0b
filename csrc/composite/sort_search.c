/* Binary search: where elements belong, and whether they are there. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

static int rank(int dtype) {
    return dtype == RL_BOOL ? 0 : rl_is_float(dtype) ? 2 : 1;
}

/* the dtype in which a line and a value (a tensor or a number) are compared */
static int common_dtype(V line, V value) {
    const int a = rl_value_tensor(line)->dtype;
    if (value.tag != RL_TENSOR) {
        const int b = value.tag == RL_TRUTH ? RL_BOOL : value.tag == RL_INT ? RL_I64 : rl_dtype_default();
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
        OP(search_places, as_dtype(g, value, dtype, line), as_dtype(g, line, dtype, line), TRUTH(right));
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
    if (!FAILED && !rl_values_truth(g, all))
        return RAISE(PyExc_RuntimeError, "torch.searchsorted(): sorter index out of range");
    return OP(gather, line, INT(-1), sorter);
}

static bool dims_match(V line, V value) {
    bool match = NDIM(line) == NDIM(value);
    for (int d = 0; match && d < NDIM(line) - 1; d++) match = SIZE(line, d) == SIZE(value, d);
    return match;
}

static V searchsorted(rl_values *g, rl_bound *b) {
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

static V bucketize(rl_values *g, rl_bound *b) {
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
    V sorted = OP(sort, line, INT(0), TRUTH(false));
    return OP(search_members, as_dtype(g, elements, dtype, tests), sorted, TRUTH(invert));
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
