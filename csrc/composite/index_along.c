/* take_along_dim(). */
#include "compose.h"
#include "core/dtype.h"
#include "core/view.h"
#include <string.h>

static V flat(rl_values *g, V x) {
    static const int64_t all = -1;
    return OP(reshape, x, INTS((int64_t *)&all, 1));
}

/* x stretched to the dims of `to`, but for dim, where it keeps its size */
static V stretched_but(rl_values *g, V x, V to, int64_t dim) {
    int64_t shape[RL_MAX_DIMS], full[RL_MAX_DIMS];
    int n;
    if (FAILED) return NONE;
    rl_view like = *to.u.t;
    memcpy(full, like.shape, (size_t)like.ndim * sizeof *full);
    full[dim] = SIZE(x, dim);
    like.shape = full;
    if (rl_dims_broadcast(x.u.t, &like, shape, &n) == RL_OK) return OP(expand, x, INTS(shape, n));
    rl_raise("take_along_dim");
    VALUES->failed = true;
    return NONE;
}

COMPOSED(take_along_dim) {
    V x = X(0), index = X(1);
    int64_t dim = X(2).u.i;
    /* PyTorch takes negative indices only along a dim */
    if (!GIVEN(2)) return OP(gather, flat(g, x), INT(0), flat(g, index));
    if (rl_value_tensor(index)->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError, "torch.take_along_dim(): dtype of indices should be Long but got %s",
                     rl_dtype_title(rl_value_tensor(index)->dtype));
    if (NDIM(x) != NDIM(index))
        return RAISE(
            PyExc_RuntimeError,
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
            "got %d dimensions for input, and %d dimensions for indices",
            NDIM(x), NDIM(index));
    if (rl_dim_wrap(&dim, NDIM(x)) != RL_OK) {
        rl_raise("take_along_dim");
        VALUES->failed = true;
        return NONE;
    }
    if (NDIM(x) == 0) return OP(gather, flat(g, x), INT(0), flat(g, index));
    /* indices of any size wrap, as PyTorch's do */
    V wide = stretched_but(g, x, index, dim), places = stretched_but(g, index, x, dim);
    const int64_t size = SIZE(wide, dim);
    return OP(gather, wide, INT(dim), OP(remainder, places, INT(size ? size : 1)));
}
