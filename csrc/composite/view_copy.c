/* What views show, as copies: view_copy(x, size) is x.view(size).clone(). */
#include "compose.h"

static V copied(rl_values *g, V view) {
    return OP(clone, view, INT(RL_FORMAT_CONTIGUOUS));
}
static V copied_one(rl_values *g, V view, int64_t number) {
    (void)number;
    return copied(g, view);
}
static V copied_all(rl_values *g, V tuple) {
    if (FAILED) return NONE;
    PyObject *views = tuple.u.o;
    const Py_ssize_t n = PyTuple_GET_SIZE(views);
    rl_view **room = rl_values_room(g, n, sizeof *room);
    for (Py_ssize_t i = 0; room && i < n; i++) room[i] = PART(tuple, i).u.t;
    return room ? EACH(TENSORS(room, (int)n), copied_one, 0) : NONE;
}

#define COPIES(id, op, ...)                                                                                  \
    COMPOSED(id) {                                                                                           \
        return copied(g, OP(op, X(0) __VA_OPT__(, ) __VA_ARGS__));                                           \
    }
COPIES(alias_copy, alias)
COPIES(as_strided_copy, as_strided, X(1), X(2), X(3))
COPIES(diagonal_copy, diagonal, X(1), X(2), X(3))
COPIES(expand_copy, expand, X(1), X(2))
COPIES(narrow_copy, narrow, X(1), X(2), X(3))
COPIES(permute_copy, permute, X(1))
COPIES(select_copy, select, X(1), X(2))
COPIES(slice_copy, slice, X(1), X(2), X(3), X(4))
COPIES(squeeze_copy, squeeze)
COPIES(squeeze_copy_dim, squeeze_dim, X(1))
COPIES(squeeze_copy_dims, squeeze_dims, X(1))
COPIES(t_copy, t)
COPIES(transpose_copy, transpose, X(1), X(2))
COPIES(unfold_copy, unfold, X(1), X(2), X(3))
COPIES(unsqueeze_copy, unsqueeze, X(1))
COPIES(view_copy, reshape, X(1))
COPIES(view_copy_dtype, view_dtype, X(1))

#define COPIES_ALL(id, op, ...)                                                                              \
    COMPOSED(id) {                                                                                           \
        return copied_all(g, TUPLE(op, X(0), __VA_ARGS__));                                                  \
    }
COPIES_ALL(split_copy, split, X(1), X(2))
COPIES_ALL(split_with_sizes_copy, split_with_sizes, X(1), X(2))
COPIES_ALL(unbind_copy, unbind, X(1))

COMPOSED(detach_copy) {
    V copy = copied(g, X(0));
    return FAILED ? NONE : rl_values_own_steal(g, rl_tensor_detach((PyObject *)RL_TENSOR_OF(copy.u.t)));
}
