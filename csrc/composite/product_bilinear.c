/* Products of two vectors with a matrix in between. */
#include "product.h"

static V misfit(rl_values *g, const char *what, int64_t got, int64_t expected) {
    return FAULT("bilinear(): %s size does not match weight size: got %lld but expected %lld", what,
                 (long long)got, (long long)expected);
}

static V checked(rl_values *g, rl_bound *b) {
    const V one = X(0), two = X(1), weight = X(2);
    if (NDIM(one) != NDIM(two))
        return FAULT("bilinear(): input dimensions do not match: got %d and %d", NDIM(one), NDIM(two));
    for (int d = 0; d < NDIM(one) - 1; d++)
        if (SIZE(one, d) != SIZE(two, d))
            return FAULT("bilinear(): input batch dimensions do not match at dim %d: got %lld and %lld", d,
                         (long long)SIZE(one, d), (long long)SIZE(two, d));
    if (NDIM(weight) != 3) return FAULT("bilinear(): weight has to have 3 dimensions, got %d", NDIM(weight));
    if (NDIM(one) == 0) return FAULT("bilinear(): inputs have to have a dimension");
    if (SIZE(one, -1) != SIZE(weight, 1)) return misfit(g, "input1", SIZE(one, -1), SIZE(weight, 1));
    if (SIZE(two, -1) != SIZE(weight, 2)) return misfit(g, "input2", SIZE(two, -1), SIZE(weight, 2));
    if (GIVEN(3) && SIZE(X(3), 0) != SIZE(weight, 0))
        return misfit(g, "bias", SIZE(X(3), 0), SIZE(weight, 0));
    return one;
}

/* (rows, in1) @ (in1, out * in2), times input2, summed over in2 */
COMPOSED(bilinear) {
    const V x = checked(g, b), weight = X(2);
    if (FAILED) return NONE;
    const int64_t in1 = SIZE(weight, 1), in2 = SIZE(weight, 2), outs = SIZE(weight, 0);
    const int last = NDIM(x) - 1;
    int64_t shape[RL_MAX_DIMS], rows = 1, wide;
    for (int d = 0; d < last; d++) shape[d] = SIZE(x, d), rows *= shape[d]; /* fewer than its elements */
    if (__builtin_mul_overflow(outs, in2, &wide)) return FAULT("bilinear(): the weight is too large");
    shape[last] = outs;
    V turned = OP(permute, weight, INTS(((int64_t[]){1, 0, 2}), 3));
    V table = OP(reshape, turned, INTS(((int64_t[]){in1, wide}), 2));
    V left = OP(matmul, OP(reshape, x, INTS(((int64_t[]){rows, in1}), 2)), table);
    left = OP(reshape, left, INTS(((int64_t[]){rows, outs, in2}), 3));
    V right = OP(reshape, X(1), INTS(((int64_t[]){rows, 1, in2}), 3));
    V result =
        OP(reshape, OP(sum, OP(mul, left, right), INT(-1), TRUTH(false), DTYPE(rl_value_tensor(x)->dtype)),
           INTS(shape, last + 1));
    return GIVEN(3) ? OP(add, result, X(3)) : result;
}
