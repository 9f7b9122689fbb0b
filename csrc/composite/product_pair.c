/* Products of two tensors, summed over dimensions: einsum() two by two, tensordot(), inner(). */
#include "product.h"
#include "core/error.h"
#include "core/view.h"
#include <string.h>

/* ---- dimensions by what they are ---- */
typedef struct {
    int64_t dim[RL_MAX_DIMS];
    int n;
} dims;
typedef struct {
    dims both, left, sum, right; /* of the result: from both, from one only; summed */
} roles;

static void put(dims *to, int64_t dim) {
    to->dim[to->n++] = dim;
}
static void append(dims *to, const dims *from) {
    memcpy(to->dim + to->n, from->dim, (size_t)from->n * sizeof *from->dim);
    to->n += from->n;
}
static bool has(const int64_t *list, int n, int64_t dim) {
    for (int i = 0; i < n; i++)
        if (list[i] == dim) return true;
    return false;
}

static roles roles_of(V left, V right, const int64_t *sums, int n_sums) {
    roles r;
    r.both.n = r.left.n = r.sum.n = r.right.n = 0;
    for (int64_t d = 0; d < NDIM(left); d++)
        put(has(sums, n_sums, d)  ? &r.sum
            : SIZE(left, d) == 1  ? &r.right
            : SIZE(right, d) == 1 ? &r.left
                                  : &r.both,
            d);
    return r;
}

/* a tensor with its dimensions in the order first, second, third, and those of size 1 */
static V turned(rl_values *g, V x, const dims *both, const dims *second, const dims *third, const dims *ones,
                int64_t *shape, int lead) {
    dims order = {.n = 0};
    append(&order, both);
    append(&order, second);
    append(&order, third);
    append(&order, ones);
    const dims *groups[] = {second, third};
    int n = 0;
    if (lead == 1) shape[n++] = 1;
    for (int i = 0; i < both->n; i++) {
        if (lead == 1)
            shape[0] *= SIZE(x, both->dim[i]);
        else
            shape[n++] = SIZE(x, both->dim[i]);
    }
    for (int i = 0; i < 2; i++) {
        shape[n] = 1;
        for (int j = 0; j < groups[i]->n; j++) shape[n] *= SIZE(x, groups[i]->dim[j]);
        n++;
    }
    return OP(reshape, OP(permute, x, INTS(order.dim, order.n)), INTS(shape, n));
}

V rl_product_pair(rl_values *g, V left, V right, const int64_t *sums, int n_sums) {
    if (n_sums == 0) return OP(mul, left, right);
    roles r = roles_of(left, right, sums, n_sums);
    if (r.left.n && r.right.n && r.right.dim[r.right.n - 1] < r.left.dim[0]) {
        /* the right one's dimensions come first: so does the tensor, and nothing is turned at the end */
        V other = left;
        dims others = r.left;
        left = right, right = other;
        r.left = r.right, r.right = others;
    }
    /* Each matrix of a batch lies where it lies: one dimension for each role needs no flattening, which may
     * have to copy. */
    const bool single = r.both.n > 1 && r.left.n <= 1 && r.sum.n == 1 && r.right.n <= 1 &&
                        rl_value_tensor(left)->dtype == rl_value_tensor(right)->dtype;
    const int lead = single ? r.both.n : 1;
    int64_t shape[RL_MAX_DIMS + 2], place[RL_MAX_DIMS];
    V a = turned(g, left, &r.both, &r.left, &r.sum, &r.right, shape, lead);
    V b = turned(g, right, &r.both, &r.sum, &r.right, &r.left, shape, lead);
    V made = single ? OP(matmul, a, b) : OP(bmm, a, b);
    dims order = {.n = 0};
    append(&order, &r.both);
    append(&order, &r.left);
    append(&order, &r.sum);
    append(&order, &r.right);
    if (FAILED) return NONE;
    for (int i = 0; i < order.n; i++) {
        const int64_t d = order.dim[i], n = SIZE(left, d);
        shape[i] = has(sums, n_sums, d) ? 1 : n == 1 ? SIZE(right, d) : n;
        place[d] = i;
    }
    return OP(permute, OP(view, made, INTS(shape, order.n)), INTS(place, order.n));
}

/* ---- dimensions that the caller names ---- */
static int64_t wrapped(rl_values *g, V x, int64_t dim) {
    if (!FAILED && rl_dim_wrap(&dim, NDIM(x)) != RL_OK) {
        FAILED = true;
        rl_raise(NULL);
    }
    return dim;
}

static void each_once(rl_values *g, const int64_t *list, int n) {
    for (int i = 0; i < n && !FAILED; i++)
        if (has(list, i, list[i]))
            FAULT("dim %lld appears multiple times in the list of dims", (long long)list[i]);
}

/* x with the dimensions `sums` last or first, as a matrix; what stays goes to `kept` */
static V as_matrix(rl_values *g, V x, const int64_t *sums, int n_sums, bool last, dims *kept) {
    int64_t order[RL_MAX_DIMS], shape[2] = {1, 1};
    int n = 0;
    for (int i = 0; i < n_sums; i++) shape[last] *= SIZE(x, sums[i]);
    for (int i = 0; !last && i < n_sums; i++) order[n++] = sums[i];
    for (int d = 0; d < NDIM(x); d++) {
        if (has(sums, n_sums, d)) continue;
        order[n++] = d;
        shape[!last] *= SIZE(x, d);
        put(kept, SIZE(x, d));
    }
    for (int i = 0; last && i < n_sums; i++) order[n++] = sums[i];
    return OP(reshape, OP(permute, x, INTS(order, n)), INTS(shape, 2));
}

static V flat(rl_values *g, V x) {
    return OP(reshape, x, INTS(&(int64_t){-1}, 1));
}

/* where the other tensor has size 1, the sum comes first */
static V early_sums(rl_values *g, V x, const int64_t *dim, V other, const int64_t *other_dim, int n,
                    bool first) {
    for (int i = 0; i < n; i++)
        if (SIZE(other, other_dim[i]) == 1 && (first || SIZE(x, dim[i]) != 1))
            x = OP(sum, x, INT(dim[i]), TRUTH(true), DTYPE(rl_value_tensor(x)->dtype));
    return x;
}

static V tensordot(rl_values *g, V left, V right, V left_dims, V right_dims) {
    int64_t sums[2][RL_MAX_DIMS];
    dims kept = {.n = 0};
    const int n = left_dims.n;
    if (n != right_dims.n) return FAULT("both dimension lists should have same length");
    if (rl_value_tensor(left)->dtype != rl_value_tensor(right)->dtype)
        return FAULT("both inputs should have same dtype");
    for (int i = 0; i < n; i++) {
        sums[0][i] = wrapped(g, left, left_dims.u.ints[i]);
        sums[1][i] = wrapped(g, right, right_dims.u.ints[i]);
        if (FAILED) return NONE;
        const int64_t a = SIZE(left, sums[0][i]), b = SIZE(right, sums[1][i]);
        if (a != b && a != 1 && b != 1)
            return FAULT(
                "contracted dimensions need to match, but first has size %lld in dim %lld and second has "
                "size %lld in dim %lld",
                (long long)a, (long long)left_dims.u.ints[i], (long long)b, (long long)right_dims.u.ints[i]);
    }
    each_once(g, sums[0], n);
    each_once(g, sums[1], n);
    if (FAILED) return NONE;
    if (NDIM(left) + NDIM(right) - 2 * n > RL_MAX_DIMS)
        return FAULT("tensordot: tensors have at most %d dimensions", RL_MAX_DIMS);
    V a = early_sums(g, left, sums[0], right, sums[1], n, true);
    V c = early_sums(g, right, sums[1], left, sums[0], n, false);
    a = as_matrix(g, a, sums[0], n, true, &kept);
    c = as_matrix(g, c, sums[1], n, false, &kept);
    if (FAILED) return NONE;
    V made = SIZE(a, 0) == 1 && SIZE(c, 1) == 1 ? OP(dot, flat(g, a), flat(g, c)) : OP(mm, a, c);
    return OP(view, made, INTS(kept.dim, kept.n));
}

COMPOSED(tensordot) {
    V first = X(2).tag == RL_INT ? INTS(&X(2).u.i, 1) : X(2);
    V second = X(3).tag == RL_INT ? INTS(&X(3).u.i, 1) : X(3);
    return tensordot(g, X(0), X(1), first, second);
}

COMPOSED(inner) {
    V a = X(0), c = X(1), last = INTS(&(int64_t){-1}, 1);
    char ta[RL_DIMS_TEXT], tc[RL_DIMS_TEXT];
    if (!NDIM(a) || !NDIM(c)) return OP(mul, a, c);
    if (SIZE(a, -1) != SIZE(c, -1))
        return FAULT("inner() the last dimension must match on both input tensors but got shapes %s and %s",
                     rl_dims_text(ta, rl_value_tensor(a)->shape, rl_value_tensor(a)->ndim),
                     rl_dims_text(tc, rl_value_tensor(c)->shape, rl_value_tensor(c)->ndim));
    return tensordot(g, a, c, last, last);
}
