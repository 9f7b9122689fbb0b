/* Attention: which way it is computed, and the way of separate operators. */
#include "compose.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/view.h"
#include <math.h>
#include <string.h>

/* what a call of attention is given */
typedef struct {
    V query, key, value, mask;
    double dropout, scale; /* scale: of the products */
    bool causal, grouped;
} attention;

static double scale_of(V scale, V query) {
    return scale.tag == RL_NONE ? 1 / sqrt((double)SIZE(query, -1)) : rl_number(scale);
}

/* ---- what PyTorch refuses ---- */
static bool refused(rl_values *g, const attention *a) {
    const rl_view *q = a->query.u.t, *k = a->key.u.t, *v = a->value.u.t;
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        RAISE(PyExc_RuntimeError,
              "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s "
              "and "
              "value.dtype: %s instead.",
              rl_dtype_cpp_name(q->dtype), rl_dtype_cpp_name(k->dtype), rl_dtype_cpp_name(v->dtype));
    else if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
        RAISE(PyExc_RuntimeError,
              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: %d "
              "key.dim: "
              "%d and value.dim: %d instead.",
              q->ndim, k->ndim, v->ndim);
    else if (a->mask.tag == RL_TENSOR && rl_value_tensor(a->mask)->dtype != RL_BOOL &&
             rl_value_tensor(a->mask)->dtype != RL_F32 && rl_value_tensor(a->mask)->dtype != q->dtype)
        RAISE(PyExc_RuntimeError,
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
              "attn_mask.dtype: %s "
              "and  query.dtype: %s instead.",
              rl_dtype_cpp_name(rl_value_tensor(a->mask)->dtype), rl_dtype_cpp_name(q->dtype));
    return FAILED;
}

/* ---- separate operators ---- */
/* each head of keys or values as often as there are queries' heads to one of them */
static V repeated(rl_values *g, V query, V x) {
    const int64_t heads = SIZE(query, -3), own = SIZE(x, -3);
    return own == heads || FAILED ? x : OP(repeat_interleave, x, INT(heads / own), INT(-3));
}
static bool heads_agree(rl_values *g, const attention *a) {
    int64_t dim = -3;
    const V all[3] = {a->query, a->key, a->value};
    for (int i = 0; i < 3; i++, dim = -3)
        if (rl_dim_wrap(&dim, NDIM(all[i])) != RL_OK) {
            rl_raise("scaled_dot_product_attention");
            FAILED = true;
            return false;
        }
    const int64_t heads = SIZE(a->query, -3), keys = SIZE(a->key, -3), values = SIZE(a->value, -3);
    if (keys == 0 || values == 0 || heads % keys || heads % values)
        RAISE(PyExc_RuntimeError, "Number of heads in key and value must divide the number of heads in ");
    return !FAILED;
}

/* 0 where a key takes part, -inf elsewhere */
static V added_mask(rl_values *g, V mask, int dtype) {
    if (KIND(mask) != RL_BOOL || !rl_is_float(dtype)) return mask;
    V zeros = OP(zeros_like, mask, DTYPE(dtype));
    return OP(masked_fill, zeros, OP(logical_not, mask), NUM(-INFINITY));
}

static V causal_mask(rl_values *g, const attention *a, int dtype) {
    if (FAILED) return NONE;
    const rl_view *q = a->query.u.t;
    const int64_t shape[2] = {SIZE(a->query, -2), SIZE(a->key, -2)};
    if (a->mask.tag != RL_NONE)
        return RAISE(PyExc_RuntimeError,
                     "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                     "is_causal=True");
    PyObject *like = (PyObject *)rl_tensor_new(RL_BOOL, q->device, q->device_index, shape, 2);
    V seen = OP(tril, OP(ones_like, rl_values_own_steal(g, like)));
    return added_mask(g, seen, dtype);
}

static V weights_dropped(rl_values *g, V weights, double p, V keep) {
    if (p <= 0) return weights;
    if (keep.tag != RL_TENSOR) return OP(dropout, weights, NUM(p), BOOLEAN(true));
    return OP(masked_fill, weights, OP(logical_not, keep), NUM(0));
}

static V as_dtype(rl_values *g, V x, int dtype) {
    return FAILED || rl_value_tensor(x)->dtype == dtype ? x : OP(to_copy, x, DTYPE(dtype));
}

/* The weights, and what they make of the values. Query and key are scaled before they are multiplied: their
 * products are smaller then. Halves are computed in float, and under autocast floats in
 * halves. */
static V by_operators(rl_values *g, attention a, V keep, V *weights) {
    const int dtype = rl_value_tensor(a.query)->dtype, wide = rl_is_half(dtype) ? RL_F32 : dtype;
    const double root = sqrt(fabs(a.scale));
    if (!rl_is_float(dtype))
        return RAISE(PyExc_RuntimeError, "expected m1 and m2 to have the same dtype, but got: %s != %s",
                     rl_dtype_cpp_name(rl_dtype_default()), rl_dtype_cpp_name(dtype));
    V *const all[3] = {&a.query, &a.key, &a.value};
    for (int i = 0; i < 3; i++) *all[i] = as_dtype(g, *all[i], wide);
    V mask = a.causal ? causal_mask(g, &a, wide) : a.mask;
    if (FAILED || (a.grouped && !heads_agree(g, &a))) return NONE;
    V key = a.grouped ? repeated(g, a.query, a.key) : a.key;
    V value = a.grouped ? repeated(g, a.query, a.value) : a.value;
    V turned = OP(transpose, key, INT(-2), INT(-1));
    V scores = OP(matmul, TIMES(a.query, a.scale < 0 ? -root : root), TIMES(turned, root));
    if (mask.tag == RL_TENSOR && !FAILED) scores = IN_PLACE(add, scores, mask);
    *weights = weights_dropped(g, OP(_safe_softmax, scores, INT(-1)), a.dropout, keep);
    if (keep.tag == RL_TENSOR && a.dropout > 0) value = TIMES(value, 1 / (1 - a.dropout));
    V made = OP(matmul, *weights, value);
    *weights = as_dtype(g, *weights, dtype);
    return as_dtype(g, made, dtype);
}

/* ---- without a matrix of all weights ---- */
static bool wants_grad(V x) {
    return x.tag == RL_TENSOR && rl_tls.grad && rl_requires_grad(RL_TENSOR_OF(x.u.t));
}

typedef struct {
    int64_t dim[RL_MAX_DIMS + 3];
    int n;
} dims;

/* the dimensions in front of the last two, or three; what stands behind them stays there */
static dims batches_of(V x, int inner) {
    dims d = {.n = NDIM(x) > inner ? NDIM(x) - inner : 0};
    SHAPE(x, d.dim);
    return d;
}

/* Query, key and value with the same batches, those of all; false where they have none in common. */
static bool stretched(rl_values *g, attention *a, int inner) {
    V *const all[3] = {&a->query, &a->key, &a->value};
    dims common = {.n = 0}, each[3];
    for (int i = 0; i < 3; i++) {
        const dims before = common;
        each[i] = batches_of(*all[i], inner);
        const rl_view have = {.shape = (int64_t *)before.dim, .ndim = (uint8_t)before.n};
        const rl_view next = {.shape = each[i].dim, .ndim = (uint8_t)each[i].n};
        if (rl_dims_broadcast(&have, &next, common.dim, &common.n) == RL_OK) continue;
        rl_error_clear();
        return false;
    }
    const size_t size = (size_t)common.n * sizeof *common.dim;
    for (int i = 0; i < 3 && common.n + inner <= RL_MAX_DIMS; i++) {
        if (each[i].n == common.n && memcmp(each[i].dim, common.dim, size) == 0) continue;
        for (int d = 0; d < inner; d++) common.dim[common.n + d] = each[i].dim[each[i].n + d];
        *all[i] = OP(expand, *all[i], INTS(common.dim, common.n + inner));
    }
    return !FAILED && common.n + inner <= RL_MAX_DIMS;
}

static bool mask_suits(const attention *a) {
    if (a->mask.tag != RL_TENSOR) return true;
    if (wants_grad(a->mask) || NDIM(a->mask) > NDIM(a->query)) return false;
    for (int d = 1; d <= NDIM(a->mask); d++) {
        const int64_t size = SIZE(a->mask, -d), want = d == 1 ? SIZE(a->key, -2) : SIZE(a->query, -d);
        if (size != 1 && size != want) return false;
    }
    return true;
}

static bool shapes_suit(const attention *a) {
    if (!rl_is_float(rl_value_tensor(a->query)->dtype) || a->dropout > 0) return false;
    if (a->causal && a->mask.tag == RL_TENSOR && NDIM(a->query) != 4) return false;
    return SIZE(a->query, -1) == SIZE(a->key, -1) && SIZE(a->key, -2) == SIZE(a->value, -2);
}

/* Heads of queries in groups, one for each head of keys: (..., heads, L, E) to (..., groups, some, L, E), of
 * keys to (..., groups, 1, S, E). */
static void group(rl_values *g, attention *a) {
    const int64_t heads = SIZE(a->query, -3), groups = SIZE(a->key, -3);
    int64_t split[2] = {groups, groups ? heads / groups : 0};
    a->query = OP(unflatten, a->query, INT(-3), INTS(split, 2));
    a->key = OP(unsqueeze, a->key, INT(-3)), a->value = OP(unsqueeze, a->value, INT(-3));
    if (a->mask.tag != RL_TENSOR || NDIM(a->mask) < 3) return;
    a->mask = SIZE(a->mask, -3) == 1 ? OP(unsqueeze, a->mask, INT(-3))
                                     : OP(unflatten, a->mask, INT(-3), INTS(split, 2));
}

/* NONE where it must be computed by operators, which say what is wrong, if anything is. */
static V without_matrix(rl_values *g, attention a, V scale) {
    const int inner = a.grouped ? 3 : 2;
    if (!shapes_suit(&a)) return NONE;
    if (a.grouped && (!heads_agree(g, &a) || SIZE(a.key, -3) != SIZE(a.value, -3))) return NONE;
    if (!stretched(g, &a, inner) || !mask_suits(&a) || NDIM(a.query) >= RL_MAX_DIMS) return NONE;
    const bool grouped = a.grouped && SIZE(a.query, -3) != SIZE(a.key, -3);
    if (grouped) group(g, &a);
    if (grouped && !FAILED) stretched(g, &a, 2);
    V made = OP(flash_attention, a.query, a.key, a.value, NUM(a.dropout), BOOLEAN(a.causal), a.mask, scale);
    return grouped ? OP(flatten, made, INT(-4), INT(-3)) : made;
}

static attention attention_of(rl_op_call *b, int scale) {
    return (attention){
        X(0), X(1), X(2), X(3), rl_number(X(4)), scale_of(X(scale), X(0)), X(5).u.i, X(scale + 1).u.i};
}

COMPOSED(_scaled_dot_product_attention_math) {
    V weights = NONE, made = by_operators(g, attention_of(b, 7), X(6), &weights);
    return FAILED ? NONE : RESULTS(made, weights);
}

COMPOSED(scaled_dot_product_attention) {
    attention a = attention_of(b, 6);
    V weights = NONE;
    if (refused(g, &a)) return NONE;
    const rl_sdp_ways may = rl_sdp_may;
    if (!may.flash && !may.math)
        return RAISE(PyExc_RuntimeError,
                     "No viable backend for scaled_dot_product_attention was found. This is likely "
                     "due to turning off both the math kernel and the fused kernels.");
    V made = may.flash ? without_matrix(g, a, X(6)) : NONE;
    if (made.tag == RL_TENSOR || FAILED) return made;
    if (!may.math) return RAISE(PyExc_RuntimeError, "No available kernel.  Aborting execution.");
    a.mask = added_mask(g, a.mask, rl_value_tensor(a.query)->dtype);
    return by_operators(g, a, NONE, &weights);
}
