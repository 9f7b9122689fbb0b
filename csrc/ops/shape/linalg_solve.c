/* Shape rules of what is solved, and of products with Q. */
#include "linalg.h"

static int64_t from_end(const rl_view *v, int d) {
    return v->shape[v->ndim - d];
}

static rl_status equation_fits(const rl_view *a, const rl_view *b, bool left, const char *who) {
    if (left ? from_end(a, 2) == from_end(b, 2) : from_end(a, 1) == from_end(b, 1)) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "%s: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx%lld)",
                        who, left ? "AX = B" : "XA = B", (long long)from_end(a, 2), (long long)from_end(a, 1),
                        (long long)from_end(b, 2), (long long)from_end(b, 1));
}

/* result 0: the dims that A and B have in common, then B's */
static rl_status solution_out(rl_call *k, const rl_view *a, const rl_view *b, bool columns, int64_t rows) {
    int64_t lead[RL_MAX_DIMS];
    int n = rl_lead_common(a, 2, b, 2, lead);
    if (n < 0) return RL_FAIL;
    if (columns) return rl_out_columns(k, 0, lead, n, rows, from_end(b, 1));
    lead[n] = rows;
    lead[n + 1] = from_end(b, 1);
    return rl_out_dims(k, 0, lead, n + 2);
}

/* attr[0]: which result is LU; attr[1]: is B a vector, or a batch of them? */
RL_SHAPE(solve) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const bool left = k->arg[2].u.i != 0, ex = k->name[strlen(k->name) - 1] == 'x';
    const int at = ex ? 2 : 1, n = a->ndim - 2;
    if (rl_matrix_square(a, "linalg.solve") != RL_OK ||
        rl_matrix_dtype(a, "linalg.solve", "lu_cpu") != RL_OK ||
        rl_matrix_same(a, b, "linalg.solve") != RL_OK)
        return RL_FAIL;
    const bool vector = b->ndim == 1 || (b->ndim == n + 1 &&
                                         memcmp(a->shape, b->shape, (size_t)b->ndim * sizeof *a->shape) == 0);
    k->attr[0] = at;
    k->attr[1] = vector;
    if (vector) {
        if (left ? from_end(b, 1) != from_end(a, 2) : from_end(a, 1) != 1)
            return rl_error_set(
                RL_RUNTIME,
                "linalg.solve: Incompatible shapes of A and B for the equation %s (%lldx%lld and %lldx1)",
                left ? "AX = B" : "XA = B", (long long)from_end(a, 2), (long long)from_end(a, 1),
                (long long)from_end(b, 1));
        if (!left)
            return rl_error_set(
                RL_RUNTIME, "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
        rl_status s =
            n ? rl_out_columns(k, 0, a->shape, n - 1, a->shape[n - 1], from_end(a, 1)) /* as PyTorch's */
              : rl_out_beside(k, 0, a->shape, n, from_end(a, 1), -1);
        if (s != RL_OK) return s;
    } else {
        if (rl_matrix_dims(b, "linalg.solve") != RL_OK ||
            equation_fits(a, b, left, "linalg.solve") != RL_OK ||
            solution_out(k, a, b, left, from_end(b, 2)) != RL_OK)
            return RL_FAIL;
    }
    if (ex && rl_out_beside(k, 1, a->shape, n, -1, RL_I32) != RL_OK) return RL_FAIL;
    if (k->n_out == at) return RL_OK;
    if (rl_out_columns(k, at, a->shape, n, from_end(a, 2), from_end(a, 1)) != RL_OK) return RL_FAIL;
    return rl_out_beside(k, at + 1, a->shape, n, from_end(a, 1), RL_I32);
}

static rl_status pivots_fit(const rl_view *a, const rl_view *pivots, const char *who, const char *what) {
    if (pivots->dtype != RL_I32)
        return rl_error_set(RL_RUNTIME, "%s: pivots should be a tensor of scalar type torch.int32", who);
    if (pivots->ndim == a->ndim - 1 &&
        memcmp(pivots->shape, a->shape, (size_t)pivots->ndim * sizeof *a->shape) == 0)
        return RL_OK;
    return rl_error_set(RL_RUNTIME, "%s: Expected %s and pivots to have the same batch dimensions and length",
                        who, what);
}

RL_SHAPE(lu_solve) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[2].u.t;
    const char *who = "torch.linalg.lu_solve";
    const bool left = k->arg[3].u.i != 0;
    if (rl_matrix_dtype(a, who, "lu_solve_cpu") != RL_OK || rl_matrix_square(a, who) != RL_OK ||
        rl_matrix_same(a, b, who) != RL_OK || rl_matrix_dims(b, who) != RL_OK ||
        equation_fits(a, b, left, who) != RL_OK || pivots_fit(a, k->arg[1].u.t, who, "LU") != RL_OK)
        return RL_FAIL;
    return solution_out(k, a, b, left, from_end(b, 2));
}

RL_SHAPE(ldl_solve) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[2].u.t;
    const char *who = "torch.linalg.ldl_solve";
    if (rl_matrix_dtype(a, who, "ldl_solve_cpu") != RL_OK || rl_matrix_square(a, who) != RL_OK ||
        rl_matrix_same(a, b, who) != RL_OK || rl_matrix_dims(b, who) != RL_OK ||
        equation_fits(a, b, true, who) != RL_OK || pivots_fit(a, k->arg[1].u.t, who, "LD") != RL_OK)
        return RL_FAIL;
    return solution_out(k, a, b, true, from_end(b, 2));
}

/* the older functions' words */
static rl_status old_equation(const rl_view *b, const rl_view *a, const char *who) {
    if (b->dtype != a->dtype)
        return rl_error_set(
            RL_RUNTIME,
            "Expected b and A to have the same dtype, but found b of type %s and A of type %s instead.",
            rl_dtype_title(b->dtype), rl_dtype_title(a->dtype));
    if (from_end(a, 1) != from_end(a, 2))
        return rl_error_set(RL_RUNTIME,
                            "A must be batches of square matrices, but they are %lld by %lld matrices",
                            (long long)from_end(a, 2), (long long)from_end(a, 1));
    if (from_end(a, 1) != from_end(b, 2))
        return rl_error_set(RL_RUNTIME,
                            "Incompatible matrix sizes for %s: each A matrix is %lld by %lld but each b "
                            "matrix is %lld by %lld",
                            who, (long long)from_end(a, 1), (long long)from_end(a, 1),
                            (long long)from_end(b, 2), (long long)from_end(b, 1));
    return RL_OK;
}

RL_SHAPE(cholesky_solve) {
    const rl_view *b = k->arg[0].u.t, *a = k->arg[1].u.t;
    for (int i = 0; i < 2; i++)
        if (rl_tensor_arg(k, i)->ndim < 2)
            return rl_error_set(RL_RUNTIME,
                                "%c should have at least 2 dimensions, but has %d dimensions instead",
                                i ? 'u' : 'b', rl_tensor_arg(k, i)->ndim);
    if (old_equation(b, a, "cholesky_solve") != RL_OK ||
        rl_matrix_dtype(a, NULL, "cholesky_solve_cpu") != RL_OK)
        return RL_FAIL;
    return solution_out(k, a, b, true, from_end(b, 2));
}

/* attr[0]: which argument is the triangle; attr[1 ..]: left, upper, turned, unit */
RL_SHAPE(solve_triangular) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const char *who = "linalg.solve_triangular";
    const bool left = k->arg[3].u.i != 0;
    if (rl_matrix_square(a, who) != RL_OK || rl_matrix_dims(b, who) != RL_OK ||
        rl_matrix_same(a, b, who) != RL_OK || equation_fits(a, b, left, who) != RL_OK ||
        rl_matrix_dtype(a, NULL, "triangular_solve_cpu") != RL_OK)
        return RL_FAIL;
    k->attr[0] = 0;
    k->attr[1] = left;
    k->attr[2] = k->arg[2].u.i != 0;
    k->attr[3] = 0;
    k->attr[4] = k->arg[4].u.i != 0;
    return solution_out(k, a, b, true, from_end(b, 2));
}

RL_SHAPE(triangular_solve) {
    const rl_view *b = k->arg[0].u.t, *a = k->arg[1].u.t;
    int64_t lead[RL_MAX_DIMS];
    for (int i = 0; i < 2; i++)
        if (rl_tensor_arg(k, i)->ndim < 2)
            return rl_error_set(
                RL_RUNTIME,
                "torch.triangular_solve: Expected %c to have at least 2 dimensions, but it has %d dimensions "
                "instead",
                i ? 'A' : 'b', rl_tensor_arg(k, i)->ndim);
    if (old_equation(b, a, "triangular_solve") != RL_OK ||
        rl_matrix_dtype(a, NULL, "triangular_solve_cpu") != RL_OK)
        return RL_FAIL;
    k->attr[0] = 1;
    k->attr[1] = 1;
    k->attr[2] = k->arg[2].u.i != 0;
    k->attr[3] = k->arg[3].u.i != 0;
    k->attr[4] = k->arg[4].u.i != 0;
    int n = rl_lead_common(a, 2, b, 2, lead);
    if (n < 0 || rl_out_columns(k, 0, lead, n, from_end(b, 2), from_end(b, 1)) != RL_OK) return RL_FAIL;
    return rl_out_columns(k, 1, lead, n, from_end(a, 2), from_end(a, 1));
}

/* ---- products with Q ---- */
static rl_status reflections_fit(const rl_view *a, const rl_view *tau, const char *who) {
    if (tau->ndim != a->ndim - 1)
        return rl_error_set(
            RL_RUNTIME,
            "%s: Expected tau to have one dimension less than input, but got tau.ndim equal to %d and "
            "input.ndim is equal to %d",
            who, tau->ndim, a->ndim);
    char have[RL_DIMS_TEXT];
    if (memcmp(a->shape, tau->shape, (size_t)(a->ndim - 2) * sizeof *a->shape) != 0)
        return rl_error_set(
            RL_RUNTIME, "%s: Expected batch dimensions of tau to be equal to input.shape[:-2], but got %s",
            who, rl_dims_text(have, tau->shape, tau->ndim - 1));
    if (tau->dtype != a->dtype)
        return rl_error_set(RL_RUNTIME, "%s: tau dtype %s does not match input dtype %s", who,
                            rl_dtype_title(tau->dtype), rl_dtype_title(a->dtype));
    return RL_OK;
}

RL_SHAPE(householder) {
    const rl_view *a = k->arg[0].u.t, *tau = k->arg[1].u.t;
    const char *who = "torch.linalg.householder_product";
    if (a->ndim < 2) return rl_error_set(RL_RUNTIME, "%s: input must have at least 2 dimensions.", who);
    if (from_end(a, 2) < from_end(a, 1))
        return rl_error_set(RL_RUNTIME,
                            "%s: input.shape[-2] must be greater than or equal to input.shape[-1]", who);
    if (tau->ndim && from_end(a, 1) < from_end(tau, 1))
        return rl_error_set(RL_RUNTIME, "%s: input.shape[-1] must be greater than or equal to tau.shape[-1]",
                            who);
    if (reflections_fit(a, tau, who) != RL_OK || rl_matrix_dtype(a, NULL, "orgqr_cpu") != RL_OK)
        return RL_FAIL;
    return rl_out_columns(k, 0, a->shape, a->ndim - 2, from_end(a, 2), from_end(a, 1));
}

RL_SHAPE(ormqr) {
    const rl_view *a = k->arg[0].u.t, *tau = k->arg[1].u.t, *other = k->arg[2].u.t;
    const char *who = "torch.ormqr";
    if (a->ndim < 2) return rl_error_set(RL_RUNTIME, "%s: input must have at least 2 dimensions.", who);
    if (other->ndim < 2) return rl_error_set(RL_RUNTIME, "%s: other must have at least 2 dimensions.", who);
    const int side = k->arg[3].u.i ? 2 : 1;
    if (tau->ndim && from_end(other, side) < from_end(tau, 1))
        return rl_error_set(RL_RUNTIME, "%s: other.shape[-%d] must be greater than or equal to tau.shape[-1]",
                            who, side);
    if (from_end(other, side) != from_end(a, 2))
        return rl_error_set(RL_RUNTIME, "%s: other.shape[-%d] must be equal to input.shape[-2]", who, side);
    if (tau->ndim &&
        from_end(tau, 1) != (from_end(other, side) < from_end(a, 1) ? from_end(other, side) : from_end(a, 1)))
        return rl_error_set(RL_RUNTIME,
                            "%s: tau.shape[-1] must be equal to min(other.shape[-%d], input.shape[-1])", who,
                            side);
    if (reflections_fit(a, tau, who) != RL_OK) return RL_FAIL;
    if (other->ndim != a->ndim ||
        memcmp(a->shape, other->shape, (size_t)(a->ndim - 2) * sizeof *a->shape) != 0)
        return rl_error_set(RL_RUNTIME,
                            "%s: Expected batch dimensions of other to be equal to input.shape[:-2]", who);
    if (other->dtype != a->dtype)
        return rl_error_set(RL_RUNTIME,
                            "%s: Expected input and other to have the same dtype, but input has dtype %s and "
                            "other has dtype %s",
                            who, rl_dtype_title(a->dtype), rl_dtype_title(other->dtype));
    if (rl_matrix_dtype(a, NULL, "ormqr_cpu") != RL_OK) return RL_FAIL;
    return rl_out_columns(k, 0, other->shape, other->ndim - 2, from_end(other, 2), from_end(other, 1));
}

/* attr[0]: is B a vector? attr[1]: by QR; attr[2]: residuals, attr[3]: singular values are wanted. The rank
 * may show afterwards that there are no residuals. */
RL_SHAPE(lstsq) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const char *who = "torch.linalg.lstsq", *driver = k->arg[3].tag == RL_TEXT ? k->arg[3].u.s : "gelsy";
    int64_t lead[RL_MAX_DIMS], none = 0;
    if (a->ndim < 2) return rl_error_set(RL_RUNTIME, "%s: input must have at least 2 dimensions.", who);
    if (b->ndim < 1) return rl_error_set(RL_RUNTIME, "%s: other must have at least 1 dimension.", who);
    if (a->dtype != b->dtype)
        return rl_error_set(RL_RUNTIME,
                            "%s: Expected input and other to have the same dtype, but got input's dtype %s "
                            "and other's dtype %s",
                            who, rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
    if (a->dtype != RL_F32 && a->dtype != RL_F64)
        return rl_error_set(RL_RUNTIME, "This function doesn't handle types other than float and double");
    const bool vector = b->ndim == 1 || (b->ndim == a->ndim - 1 &&
                                         memcmp(a->shape, b->shape, (size_t)b->ndim * sizeof *a->shape) == 0);
    if (from_end(a, 2) != from_end(b, vector ? 1 : 2))
        return rl_error_set(RL_RUNTIME,
                            vector ? "%s: input.size(-2) should match other.size(-1)"
                                   : "%s: input.size(-2) should match other.size(-2)",
                            who);
    const char *known[] = {"gels", "gelsy", "gelsd", "gelss"};
    bool found = false;
    for (int i = 0; i < 4; i++) found |= strcmp(driver, known[i]) == 0;
    if (!found)
        return rl_error_set(RL_RUNTIME, "%s: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)",
                            who);
    int n = rl_lead_common(a, 2, b, vector ? 1 : 2, lead);
    if (n < 0) return RL_FAIL;
    const int64_t rows = from_end(a, 2), cols = from_end(a, 1), least = rows < cols ? rows : cols;
    const bool gelsy = driver[4] == 'y', gels = !driver[4];
    k->attr[0] = vector;
    k->attr[1] = gels;
    k->attr[2] = rows > cols && !gelsy;
    k->attr[3] = !gels && !gelsy;
    rl_status s =
        vector ? rl_out_beside(k, 0, lead, n, cols, -1) : rl_out_columns(k, 0, lead, n, cols, from_end(b, 1));
    if (s != RL_OK) return s;
    s = k->attr[2] ? rl_out_beside(k, 1, lead, n, vector ? 1 : from_end(b, 1), -1)
                   : rl_out_dims(k, 1, &none, 1);
    if (s != RL_OK) return s;
    k->out[2]->dtype = RL_I64;
    s = gels ? rl_out_dims(k, 2, &none, 1) : rl_out_beside(k, 2, lead, n, -1, RL_I64);
    if (s != RL_OK) return s;
    return k->attr[3] ? rl_out_beside(k, 3, lead, n, least, -1) : rl_out_dims(k, 3, &none, 1);
}
