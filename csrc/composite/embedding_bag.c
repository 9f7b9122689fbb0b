/* embedding_bag: reduces rows of a table by bags. */
#include "compose.h"

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset) */
static V bags_of(rl_values *g, const rl_op_call *b, V padding) {
    return TUPLE(embedding_bag_recorded, X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), padding);
}

COMPOSED(embedding_bag) {
    return bags_of(g, b, INT(-1));
}

COMPOSED(embedding_bag_padded) {
    const int64_t rows = SIZE(X(0), 0);
    if (!GIVEN(8)) return bags_of(g, b, INT(-1));
    const int64_t padding = X(8).u.i;
    if (padding < -rows || padding >= rows)
        return RAISE(PyExc_RuntimeError,
                     "padding_idx must be within the number of embeddings, -%lld through %lld, but got %lld",
                     (long long)rows, (long long)rows - 1, (long long)padding);
    return bags_of(g, b, INT(padding < 0 ? padding + rows : padding));
}
