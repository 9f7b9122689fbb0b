/* Matrices mirrored and turned. */
#include "compose.h"
#include <stdlib.h>

static V mirrored(rl_values *g, V x, int64_t dim) {
    return OP(flip, x, INT(dim));
}

COMPOSED(fliplr) {
    if (NDIM(X(0)) < 2) return RAISE(PyExc_RuntimeError, "Input must be >= 2-d.");
    return mirrored(g, X(0), 1);
}

COMPOSED(flipud) {
    if (NDIM(X(0)) < 1) return RAISE(PyExc_RuntimeError, "Input must be >= 1-d.");
    return mirrored(g, X(0), 0);
}

COMPOSED(rot90) {
    const int ndim = NDIM(X(0));
    int64_t dims[2] = {0, 0}, k = (X(1).u.i % 4 + 4) % 4;
    if (X(2).tag != RL_INTS || X(2).n != 2)
        return RAISE(PyExc_RuntimeError, "expected total rotation dims == 2, but got dims = %d",
                     X(2).tag == RL_INTS ? X(2).n : 1);
    if (ndim < 2) return RAISE(PyExc_RuntimeError, "expected total dims >= 2, but got total dims = %d", ndim);
    rl_value_list(X(2), dims, 2);
    if (dims[0] == dims[1] || llabs(dims[0] - dims[1]) == ndim)
        return RAISE(PyExc_RuntimeError,
                     "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                     (long long)dims[0], (long long)dims[1]);
    if (k % 2) return OP(transpose, mirrored(g, X(0), dims[k == 1]), INT(dims[0]), INT(dims[1]));
    if (k == 2) return OP(flip, X(0), INTS(dims, 2));
    return OP(clone, X(0), INT(RL_FORMAT_CONTIGUOUS));
}
