/* Tensors joined after they got the dimensions that it takes. */
#include "compose.h"

/* x with at least n dimensions: (), (n), (1, n), (1, n, 1) and (m, n, 1) */
static V at_least(rl_values *g, V x, int64_t n) {
    if (FAILED || NDIM(x) >= n) return x;
    if (NDIM(x) == 0) return at_least(g, OP(reshape, x, INT(1)), n);
    return at_least(g, OP(unsqueeze, x, INT(NDIM(x) == 1 ? 0 : -1)), n);
}

COMPOSED(atleast_1d) {
    return at_least(g, X(0), 1);
}
COMPOSED(atleast_2d) {
    return at_least(g, X(0), 2);
}
COMPOSED(atleast_3d) {
    return at_least(g, X(0), 3);
}
COMPOSED(atleast_1d_each) {
    return EACH(X(0), at_least, 1);
}
COMPOSED(atleast_2d_each) {
    return EACH(X(0), at_least, 2);
}
COMPOSED(atleast_3d_each) {
    return EACH(X(0), at_least, 3);
}

static V joined(rl_values *g, rl_bound *b, rl_each make, int64_t number, int64_t dim) {
    if (X(0).n == 0)
        return RAISE(PyExc_RuntimeError, "%s expects a non-empty TensorList", b->schema->op->name);
    V list = EACH(X(0), make, number);
    if (FAILED) return NONE;
    return OP(cat, list, INT(dim < 0 ? NDIM(NTH(list, 0)) > 1 : dim));
}

COMPOSED(hstack) { /* vectors end to end, all else along dimension 1 */
    return joined(g, b, at_least, 1, -1);
}
COMPOSED(vstack) {
    return joined(g, b, at_least, 2, 0);
}
COMPOSED(dstack) {
    return joined(g, b, at_least, 3, 2);
}

static V as_column(rl_values *g, V x, int64_t number) {
    (void)number;
    if (NDIM(x) > 1) return x;
    int64_t shape[2] = {NUMEL(x), 1};
    return OP(reshape, x, INTS(shape, 2));
}
COMPOSED(column_stack) {
    return joined(g, b, as_column, 0, 1);
}

static V flattened(rl_values *g, V x, int64_t number) {
    (void)number;
    return OP(reshape, x, INT(-1));
}
COMPOSED(flatten_dense_tensors) {
    V list = EACH(X(0), flattened, 0);
    return FAILED ? NONE : OP(cat, list, INT(0));
}

COMPOSED(unflatten_dense_tensors) {
    const V like = X(1);
    int64_t at = 0, shape[RL_MAX_DIMS];
    rl_view **room = rl_values_room(g, like.n, sizeof *room);
    for (int i = 0; room && i < like.n; i++) {
        const V x = NTH(like, i);
        V part = OP(narrow, X(0), INT(0), INT(at), INT(NUMEL(x)));
        part = OP(view, part, SHAPE(x, shape));
        if (FAILED) return NONE;
        room[i] = part.u.t, at += NUMEL(x);
    }
    return room ? TENSORS(room, like.n) : NONE;
}
