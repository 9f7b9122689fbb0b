/* Resizing by factors: PyTorch's second overloads, which F.interpolate() calls. */
#include "compose.h"
#include <math.h>

/* output_size as it is, or the sizes of the input times its factors; how many, 0 after a failure */
static int sizes_of(rl_values *g, rl_op_call *b, int factors, int spatial, int64_t *size, V *scale) {
    const V x = X(0), list = X(factors);
    for (int i = 0; i < spatial; i++) scale[i] = NONE;
    if (GIVEN(1) == GIVEN(factors)) {
        RAISE(PyExc_RuntimeError, "Must specify exactly one of output_size and scale_factors");
        return 0;
    }
    if (GIVEN(1)) return rl_value_list(X(1), size, RL_MAX_DIMS);
    if (list.n != spatial) {
        RAISE(
            PyExc_RuntimeError,
            "Expected static_cast<int64_t>(scale_factors->size()) == spatial_dimensions to be true, but got "
            "false.  (Could this error message be improved?  If so, please report an enhancement request to "
            "PyTorch.)");
        return 0;
    }
    for (int i = 0; i < spatial; i++) {
        const double factor = PyFloat_AsDouble(PyTuple_GET_ITEM((PyObject *)list.u.o, i));
        const double product = (double)SIZE(x, i + 2) * factor;
        if (!(fabs(product) < 0x1p63)) {
            RAISE(PyExc_RuntimeError, "value cannot be converted to type int64_t without overflow");
            return 0;
        }
        size[i] = (int64_t)product;
        scale[i] = NUM(factor);
    }
    return spatial;
}

static V resized(rl_values *g, rl_op_call *b, int op, int spatial) {
    const int factors = b->schema->n - 1; /* behind the sizes, and align_corners if there is one */
    int64_t size[RL_MAX_DIMS];
    V args[6] = {X(0), NONE, X(2)};
    const int n = sizes_of(g, b, factors, spatial, size, args + factors);
    if (FAILED) return NONE;
    args[1] = INTS(size, n);
    return rl_values_op(g, op, args, factors + spatial, 0);
}

#define RESIZED(id, spatial)                                                                                 \
    COMPOSED(id##_vec) {                                                                                     \
        return resized(g, b, RL_OP_##id, spatial);                                                           \
    }
RESIZED(upsample_nearest1d, 1)
RESIZED(upsample_nearest2d, 2)
RESIZED(upsample_nearest3d, 3)
RESIZED(upsample_nearest_exact1d, 1)
RESIZED(upsample_nearest_exact2d, 2)
RESIZED(upsample_nearest_exact3d, 3)
RESIZED(upsample_linear1d, 1)
RESIZED(upsample_bilinear2d, 2)
RESIZED(upsample_trilinear3d, 3)
RESIZED(upsample_bicubic2d, 2)
RESIZED(upsample_bilinear2d_aa, 2)
RESIZED(upsample_bicubic2d_aa, 2)
RESIZED(upsample_lanczos2d_aa, 2)
