/* Older names and orders of arguments of what stands in linalg, and powers of matrices. */
#include "compose.h"
#include "core/dtype.h"
#include <math.h>

/* once, as PyTorch warns */
#define DEPRECATED(...)                                                                                      \
    do {                                                                                                     \
        static bool said;                                                                                    \
        if (!said && PyErr_WarnEx(PyExc_UserWarning, __VA_ARGS__, 1) < 0) g->failed = true;                  \
        said = true;                                                                                         \
    } while (0)

static void square_checked(rl_values *g, V a, const char *who) {
    if (NDIM(a) < 2)
        RAISE(PyExc_RuntimeError, "%s: The input tensor A must have at least 2 dimensions.", who);
    else if (SIZE(a, -1) != SIZE(a, -2))
        RAISE(PyExc_RuntimeError,
              "%s: A must be batches of square matrices, but they are %lld by %lld matrices", who,
              (long long)SIZE(a, -2), (long long)SIZE(a, -1));
}

COMPOSED(logdet) {
    V a = X(0), part[2];
    square_checked(g, a, "logdet");
    OPS(part, 2, linalg_slogdet, a);
    return OP(where, OP(eq, part[0], INT(-1)), NUM(NAN), part[1]);
}

COMPOSED(linalg_powsum) {
    const int dtype = GIVEN(4) ? (int)X(4).u.i : rl_value_tensor(X(0))->dtype;
    if (!rl_is_float(dtype))
        return RAISE(PyExc_NotImplementedError, "\"powsum_cpu\" not implemented for '%s'",
                     rl_dtype_title(GIVEN(4) ? dtype : RL_I64));
    V x = dtype == rl_value_tensor(X(0))->dtype ? X(0) : OP(to_copy, X(0), X(4));
    return OP(sum, OP(pow, OP(abs, x), X(1)), X(2), X(3));
}

COMPOSED(cholesky) {
    DEPRECATED(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future "
        "PyTorch "
        "release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis "
        "transform will produce equivalent results for all valid (symmetric positive definite) inputs.");
    return OP(_cholesky, X(0), X(1));
}

COMPOSED(triangular_solve) {
    DEPRECATED(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed "
        "in a "
        "future PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not "
        "return a "
        "copy of one of the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B).");
    return TUPLE(_triangular_solve, X(0), X(1), X(2), X(3), X(4));
}

COMPOSED(lu_solve) {
    DEPRECATED("torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a "
               "future PyTorch "
               "release.\nNote that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, "
               "LU, pivots)\n"
               "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)");
    return OP(linalg_lu_solve, X(1), X(2), X(0));
}

COMPOSED(_lu_with_info) {
    DEPRECATED(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
        "removed "
        "in a future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, "
        "compute_pivots, "
        "get_infos=True)\nshould be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, "
        "compute_pivots)");
    return TUPLE(linalg_lu_factor_ex, X(0), X(1), X(2));
}

COMPOSED(qr) {
    DEPRECATED("torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch "
               "release.\nThe "
               "boolean parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = "
               "torch.qr(A, some)\nshould "
               "be replaced with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')");
    return TUPLE(linalg_qr, X(0), STRING(X(1).u.i ? "reduced" : "complete"));
}

/* V is Vh turned over; without vectors there are zeros in their places */
COMPOSED(svd) {
    V a = X(0), part[3];
    if (NDIM(a) < 2)
        return RAISE(PyExc_RuntimeError,
                     "linalg.svd: input should have at least 2 dimensions, but has %d dimensions instead",
                     NDIM(a));
    if (X(2).u.i) {
        OPS(part, 3, linalg_svd, a, BOOLEAN(!X(1).u.i));
        return RESULTS(part[0], part[1], OP(transpose, part[2], INT(-2), INT(-1)));
    }
    int64_t dims[RL_MAX_DIMS], n = NDIM(a), sizes[2] = {SIZE(a, -2), SIZE(a, -1)};
    for (int i = 0; i < 2; i++) {
        SHAPE(a, dims);
        dims[n - 2] = dims[n - 1] = sizes[i];
        part[2 * i] = OP(zeros, INTS(dims, (int)n), DTYPE(rl_value_tensor(a)->dtype), NONE, DEVICE_OF(a));
    }
    return RESULTS(part[0], OP(linalg_svdvals, a), OP(transpose, part[2], INT(-2), INT(-1)));
}

COMPOSED(pinverse) {
    V a = X(0), limit = OP(full, INTS(NULL, 0), NUM(rl_number(X(1))), DTYPE(rl_value_tensor(a)->dtype), NONE,
                           DEVICE_OF(a));
    return OP(_linalg_pinv, a, NONE, limit);
}

/* squares, of which those are multiplied whose bits are in n */
static V power_of(rl_values *g, V a, int64_t n) {
    V result = NONE, square = a;
    for (uint64_t left = (uint64_t)n; left && !FAILED; left >>= 1) {
        if (left & 1) result = result.tag == RL_TENSOR ? OP(matmul, result, square) : square;
        if (left > 1) square = OP(matmul, square, square);
    }
    return result;
}

static V matrix_power(rl_values *g, V a, int64_t n) {
    square_checked(g, a, "linalg.matrix_power");
    if (FAILED) return NONE;
    if (n == 0) {
        int64_t size[RL_MAX_DIMS];
        V one = OP(eye, INT(SIZE(a, -1)), NONE, DTYPE(rl_value_tensor(a)->dtype), NONE, DEVICE_OF(a));
        return OP(clone, OP(expand, one, SHAPE(a, size)));
    }
    if (n < 0) a = OP(linalg_inv, a);
    if (n == 1) return OP(clone, a, INT(RL_FORMAT_CONTIGUOUS));
    if (n == INT64_MIN) return RAISE(PyExc_RuntimeError, "linalg.matrix_power: the power is too large");
    return n == -1 ? a : power_of(g, a, n < 0 ? -n : n);
}

COMPOSED(matrix_power) {
    return matrix_power(g, X(0), X(1).u.i);
}
COMPOSED(linalg_matrix_power) {
    return matrix_power(g, X(0), X(1).u.i);
}

COMPOSED(cross) {
    V a = X(0);
    if (GIVEN(2)) return OP(linalg_cross, a, X(1), X(2));
    DEPRECATED("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
               "explicitly or "
               "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of "
               "linalg.cross in "
               "a future release.");
    for (int d = 0; d < NDIM(a); d++)
        if (SIZE(a, d) == 3) return OP(linalg_cross, a, X(1), INT(d));
    return RAISE(PyExc_RuntimeError, "no dimension of size 3 in input");
}
