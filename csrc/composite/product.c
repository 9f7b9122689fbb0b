/* Products of vectors and of blocks. */
#include "product.h"

static V outer(rl_values *g, rl_bound *b) {
    for (int i = 0; i < 2; i++)
        if (NDIM(X(i)) != 1)
            return FAULT("outer: Expected 1-D argument %s, but got %d-D", i ? "vec2" : "self", NDIM(X(i)));
    return OP(mul, OP(unsqueeze, X(0), INT(1)), X(1));
}
COMPOSED(outer) {
    return outer(g, b);
}
COMPOSED(ger) {
    static bool said;
    if (!said && PyErr_WarnEx(PyExc_UserWarning,
                              "torch.ger is deprecated and will be removed in a future PyTorch release. Use "
                              "torch.outer instead.",
                              1) < 0)
        FAILED = true;
    said = true;
    return outer(g, b);
}

/* Every dimension becomes two: the blocks, which are input's, and the places in them, which are other's. */
COMPOSED(kron) {
    V pair[2] = {X(0), X(1)};
    const int n = NDIM(pair[0]) > NDIM(pair[1]) ? NDIM(pair[0]) : NDIM(pair[1]);
    int64_t split[2][2 * RL_MAX_DIMS], shape[RL_MAX_DIMS];
    if (2 * n > RL_MAX_DIMS) return FAULT("kron: tensors have at most %d dimensions", RL_MAX_DIMS / 2);
    for (int d = 0; d < n; d++) {
        shape[d] = 1;
        for (int i = 0; i < 2; i++) {
            const int64_t at = d - (n - NDIM(pair[i])), size = at < 0 ? 1 : SIZE(pair[i], at);
            split[i][2 * d + i] = size, split[i][2 * d + !i] = 1;
            if (__builtin_mul_overflow(shape[d], size, &shape[d]))
                return FAULT("kron: the result is too large");
        }
    }
    for (int i = 0; i < 2; i++) pair[i] = OP(reshape, pair[i], INTS(split[i], 2 * n));
    return OP(reshape, OP(mul, pair[0], pair[1]), INTS(shape, n));
}

/* One product: the batch becomes a part of what is summed over. */
COMPOSED(addbmm) {
    V a = X(1), c = X(2), x = X(0);
    if (NDIM(a) != 3) return FAULT("batch1 must be a 3D tensor");
    if (NDIM(c) != 3) return FAULT("batch2 must be a 3D tensor");
    int64_t depth, wide[2] = {SIZE(a, 1), SIZE(c, 2)}, left[2] = {wide[0], 0}, right[2] = {0, wide[1]};
    x = OP(expand, x, INTS(wide, 2));
    if (FAILED) return NONE;
    if (SIZE(a, 0) != SIZE(c, 0))
        return FAULT("batch1 and batch2 must have same number of batches, got %lld and %lld",
                     (long long)SIZE(a, 0), (long long)SIZE(c, 0));
    if (SIZE(a, 2) != SIZE(c, 1))
        return FAULT("Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)", (long long)SIZE(a, 1),
                     (long long)SIZE(a, 2), (long long)SIZE(c, 1), (long long)SIZE(c, 2));
    if (__builtin_mul_overflow(SIZE(a, 0), SIZE(a, 2), &depth))
        return FAULT("addbmm: the batch is too large");
    left[1] = right[0] = depth;
    V turned = OP(permute, a, INTS(((int64_t[]){1, 0, 2}), 3));
    return OP(addmm, x, OP(reshape, turned, INTS(left, 2)), OP(reshape, c, INTS(right, 2)), X(3), X(4));
}
