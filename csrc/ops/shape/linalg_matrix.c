/* Shape rules of factorisations of one matrix, and what all rules of matrices share. */
#include "linalg.h"

/* Matrices without elements may be as many, as high and as wide as one likes, and take no memory: this says
 * how many are walked over. */
enum { MOST_EMPTY = 1 << 24 };
static rl_status empty_bounded(const int64_t *shape, int ndim) {
    bool empty = false, large = false;
    int64_t walked = 1;
    for (int d = 0; d < ndim; d++) {
        empty |= shape[d] == 0;
        large |= shape[d] > MOST_EMPTY;
        if (!large && shape[d]) walked *= shape[d], large |= walked > MOST_EMPTY;
    }
    return empty && large
               ? rl_error_set(RL_RUNTIME, "linalg: these matrices have no elements and are too large")
               : RL_OK;
}

rl_status rl_matrix_dims(const rl_view *a, const char *who) {
    if (a->ndim >= 2) return empty_bounded(a->shape, a->ndim);
    return rl_error_set(RL_RUNTIME, "%s: The input tensor A must have at least 2 dimensions.", who);
}
rl_status rl_matrix_square(const rl_view *a, const char *who) {
    if (rl_matrix_dims(a, who) != RL_OK) return RL_FAIL;
    int64_t rows = a->shape[a->ndim - 2], cols = a->shape[a->ndim - 1];
    if (rows == cols) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "%s: A must be batches of square matrices, but they are %lld by %lld matrices", who,
                        (long long)rows, (long long)cols);
}
rl_status rl_matrix_dtype(const rl_view *a, const char *who, const char *kernel) {
    const char *title = rl_dtype_title(a->dtype);
    if (a->dtype == RL_F32 || a->dtype == RL_F64) return RL_OK;
    if (who && !rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME, "%s: Expected a floating point or complex tensor as input. Got %s",
                            who, title);
    if (kernel) return rl_error_set(RL_NOTIMPL, "\"%s\" not implemented for '%s'", kernel, title);
    return rl_error_set(RL_RUNTIME, "%s: Low precision dtypes not supported. Got %s", who, title);
}
rl_status rl_matrix_same(const rl_view *a, const rl_view *b, const char *who) {
    if (a->dtype == b->dtype) return RL_OK;
    return rl_error_set(
        RL_RUNTIME,
        "%s: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead", who,
        rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
}

rl_status rl_out_columns(rl_call *k, int i, const int64_t *lead, int n, int64_t rows, int64_t cols) {
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, lead, (size_t)n * sizeof *shape);
    shape[n] = rows;
    shape[n + 1] = cols;
    if (empty_bounded(shape, n + 2) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, i, shape, n + 2) != RL_OK) return RL_FAIL;
    k->out[i]->strides[n] = 1;
    k->out[i]->strides[n + 1] = rows > 1 ? rows : 1;
    return RL_OK;
}
rl_status rl_out_beside(rl_call *k, int i, const int64_t *lead, int n, int64_t size, int dtype) {
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, lead, (size_t)n * sizeof *shape);
    shape[n] = size;
    if (dtype >= 0) k->out[i]->dtype = (uint8_t)dtype;
    return rl_out_dims(k, i, shape, n + (size >= 0));
}
int rl_lead_common(const rl_view *a, int a_own, const rl_view *b, int b_own, int64_t lead[RL_MAX_DIMS]) {
    int na = a->ndim - a_own, nb = b->ndim - b_own, n = na > nb ? na : nb;
    for (int d = n - 1; d >= 0; d--) {
        int ia = d - n + na, ib = d - n + nb;
        int64_t x = ia < 0 ? 1 : a->shape[ia], y = ib < 0 ? 1 : b->shape[ib];
        if (x != y && x != 1 && y != 1) {
            rl_error_set(
                RL_RUNTIME,
                "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
                "dimension %d",
                (long long)x, (long long)y, d);
            return -1;
        }
        lead[d] = x == 1 ? y : x;
    }
    return n;
}

/* the dims of argument 0 */
typedef struct {
    const rl_view *a;
    const int64_t *lead;
    int n; /* of lead */
    int64_t rows, cols, least;
} matrices;
static matrices matrices_of(const rl_call *k) {
    const rl_view *a = k->arg[0].u.t;
    int64_t rows = a->shape[a->ndim - 2], cols = a->shape[a->ndim - 1];
    return (matrices){a, a->shape, a->ndim - 2, rows, cols, rows < cols ? rows : cols};
}

RL_SHAPE(inv) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_square(a, "linalg.inv") != RL_OK || rl_matrix_dtype(a, "linalg.inv", NULL) != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? rl_out_beside(k, 1, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(cholesky) {
    const rl_view *a = k->arg[0].u.t;
    bool old = k->name[0] == '_';
    if (rl_matrix_square(a, old ? "cholesky" : "linalg.cholesky") != RL_OK ||
        rl_matrix_dtype(a, old ? NULL : "linalg.cholesky", "cholesky_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? rl_out_beside(k, 1, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(cholesky_inverse) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_square(a, "cholesky_inverse") != RL_OK ||
        rl_matrix_dtype(a, NULL, "cholesky_inverse_out_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    return rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols);
}

/* PyTorch says it so of the functions that are called lu */
static rl_status lu_input(const rl_call *k, const char *who) {
    const rl_view *a = k->arg[0].u.t;
    char dims[RL_DIMS_TEXT];
    if (a->ndim < 2)
        return rl_error_set(RL_RUNTIME, "%s: Expected tensor with 2 or more dimensions. Got size: %s instead",
                            who, rl_dims_text(dims, a->shape, a->ndim));
    if (rl_matrix_dtype(a, NULL, "lu_cpu") != RL_OK || rl_matrix_dims(a, who) != RL_OK) return RL_FAIL;
    if (k->arg[1].u.i) return RL_OK;
    return rl_error_set(RL_RUNTIME, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

RL_SHAPE(lu_factor) {
    if (lu_input(k, "torch.lu_factor") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK ||
        rl_out_beside(k, 1, m.lead, m.n, m.least, RL_I32) != RL_OK)
        return RL_FAIL;
    return k->n_out > 2 ? rl_out_beside(k, 2, m.lead, m.n, -1, RL_I32) : RL_OK;
}

static rl_status three_out(rl_call *k, matrices m) {
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, m.lead, (size_t)m.n * sizeof *shape);
    shape[m.n] = shape[m.n + 1] = m.rows;
    if (rl_out_dims(k, 0, shape, m.n + 2) != RL_OK) return RL_FAIL;
    shape[m.n + 1] = m.least;
    if (rl_out_dims(k, 1, shape, m.n + 2) != RL_OK) return RL_FAIL;
    shape[m.n] = m.least;
    shape[m.n + 1] = m.cols;
    return rl_out_dims(k, 2, shape, m.n + 2);
}

RL_SHAPE(lu) {
    return lu_input(k, "linalg.lu") == RL_OK ? three_out(k, matrices_of(k)) : RL_FAIL;
}

RL_SHAPE(lu_unpack) {
    const rl_view *a = k->arg[0].u.t, *pivots = k->arg[1].u.t;
    char dims[RL_DIMS_TEXT];
    int64_t none = 0;
    if (a->ndim < 2)
        return rl_error_set(
            RL_RUNTIME, "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: %s instead",
            rl_dims_text(dims, a->shape, a->ndim));
    matrices m = matrices_of(k);
    if (k->arg[3].u.i && pivots->dtype != RL_I32)
        return rl_error_set(
            RL_RUNTIME,
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor");
    bool fits = pivots->ndim == a->ndim - 1 && pivots->shape[pivots->ndim - 1] == m.least &&
                memcmp(pivots->shape, a->shape, (size_t)m.n * sizeof *a->shape) == 0;
    if (k->arg[3].u.i && !fits)
        return rl_error_set(RL_RUNTIME, "torch.lu_unpack: LU_pivots does not fit LU_data");
    if (three_out(k, m) != RL_OK) return RL_FAIL;
    if (!k->arg[3].u.i && rl_out_dims(k, 0, &none, 1) != RL_OK) return RL_FAIL;
    if (k->arg[2].u.i) return RL_OK;
    return rl_out_dims(k, 1, &none, 1) == RL_OK ? rl_out_dims(k, 2, &none, 1) : RL_FAIL;
}

static rl_status determinant(rl_call *k, const char *who, const char *kernel, int shown) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_square(a, who) != RL_OK || rl_matrix_dtype(a, who, kernel) != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    for (int i = 0; i < shown; i++)
        if (rl_out_beside(k, i, m.lead, m.n, -1, -1) != RL_OK) return RL_FAIL;
    if (k->n_out == shown) return RL_OK;
    if (rl_out_columns(k, shown, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return rl_out_beside(k, shown + 1, m.lead, m.n, m.rows, RL_I32);
}
RL_SHAPE(det) {
    return determinant(k, "linalg.det", "lu_cpu", 1);
}
RL_SHAPE(slogdet) {
    return determinant(k, "linalg.slogdet", NULL, 2);
}

RL_SHAPE(ldl_factor) {
    const rl_view *a = k->arg[0].u.t;
    const char *who = "torch.linalg.ldl_factor_ex";
    if (rl_matrix_square(a, who) != RL_OK || rl_matrix_dtype(a, who, "ldl_factor_kernel_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK ||
        rl_out_beside(k, 1, m.lead, m.n, m.rows, RL_I32) != RL_OK)
        return RL_FAIL;
    return k->n_out > 2 ? rl_out_beside(k, 2, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(geqrf) {
    const rl_view *a = k->arg[0].u.t;
    if (a->ndim < 2) return rl_error_set(RL_RUNTIME, "torch.geqrf: input must have at least 2 dimensions.");
    if (rl_matrix_dtype(a, NULL, "geqrf_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return rl_out_beside(k, 1, m.lead, m.n, m.least, -1);
}

RL_SHAPE(eigh) {
    const rl_view *a = k->arg[0].u.t;
    const char *uplo = k->arg[1].u.s;
    if (rl_matrix_square(a, "linalg.eigh") != RL_OK) return RL_FAIL;
    if (strlen(uplo) != 1 || !strchr("lLuU", *uplo))
        return rl_error_set(RL_RUNTIME, "Expected UPLO argument to be 'L' or 'U', but got %s", uplo);
    if (rl_matrix_dtype(a, NULL, "linalg_eigh_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (rl_out_beside(k, 0, m.lead, m.n, m.rows, -1) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? rl_out_columns(k, 1, m.lead, m.n, m.rows, m.cols) : RL_OK;
}

/* attr[0]: which result is S; attr[1]: all columns of U */
static rl_status svd_out(rl_call *k, int s, bool full, const rl_slot *driver) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_dims(a, "linalg.svd") != RL_OK ||
        rl_matrix_dtype(a, "linalg.svd", "linalg_svd_cpu") != RL_OK)
        return RL_FAIL;
    if (driver->tag == RL_TEXT)
        return rl_error_set(RL_RUNTIME,
                            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
                            "with cuSOLVER backend.");
    matrices m = matrices_of(k);
    k->attr[0] = s;
    k->attr[1] = full;
    if (rl_out_beside(k, s, m.lead, m.n, m.least, -1) != RL_OK) return RL_FAIL;
    if (k->n_out == 1) return RL_OK;
    if (rl_out_columns(k, 1 - s, m.lead, m.n, m.rows, full ? m.rows : m.least) != RL_OK) return RL_FAIL;
    return rl_out_columns(k, 2, m.lead, m.n, full ? m.cols : m.least, m.cols);
}
RL_SHAPE(svd) {
    return svd_out(k, 1, k->arg[1].u.i != 0, &k->arg[2]);
}
RL_SHAPE(svdvals) {
    return svd_out(k, 0, false, &k->arg[1]);
}

RL_SHAPE(eig) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_square(a, "linalg.eig") != RL_OK) return RL_FAIL;
    if (!rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME, "Unknown Complex ScalarType for %s", rl_dtype_title(a->dtype));
    if (rl_matrix_dtype(a, NULL, "linalg_eig_out_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    int dtype = a->dtype == RL_F64 ? RL_C128 : RL_C64;
    if (rl_out_beside(k, 0, m.lead, m.n, m.rows, dtype) != RL_OK) return RL_FAIL;
    if (k->n_out == 1) return RL_OK;
    k->out[1]->dtype = (uint8_t)dtype;
    return rl_out_columns(k, 1, m.lead, m.n, m.rows, m.cols);
}

RL_SHAPE(matrix_exp) {
    const rl_view *a = k->arg[0].u.t;
    if (rl_matrix_square(a, "linalg.matrix_exp") != RL_OK ||
        (!rl_is_float(a->dtype) && rl_matrix_dtype(a, "linalg.matrix_exp", NULL) != RL_OK))
        return RL_FAIL;
    return rl_out_as_input(k, 0);
}

RL_SHAPE(pinv) {
    const rl_view *a = k->arg[0].u.t;
    char dims[RL_DIMS_TEXT];
    if (a->ndim < 2 || (a->dtype != RL_F32 && a->dtype != RL_F64))
        return rl_error_set(
            RL_RUNTIME,
            "linalg.pinv(%s{%s}): expected a tensor with 2 or more dimensions of float, double, cfloat or "
            "cdouble types",
            rl_dtype_title(a->dtype), rl_dims_text(dims, a->shape, a->ndim));
    if ((k->arg[3].u.i ? rl_matrix_square : rl_matrix_dims)(a, "linalg.eigh") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    int64_t shape[RL_MAX_DIMS];
    for (int i = 1; i < 3; i++) {
        const rl_view *limit = rl_in(k, i);
        if (!limit) continue;
        if (limit->dtype != RL_F32 && limit->dtype != RL_F64)
            return rl_error_set(RL_RUNTIME, "linalg.pinv: a tolerance is expected to be float or double");
        int64_t common[RL_MAX_DIMS];
        int n = rl_lead_common(a, 2, limit, 0, common);
        if (n < 0) return RL_FAIL;
        if (n != m.n || memcmp(common, m.lead, (size_t)n * sizeof *common) != 0)
            return rl_error_set(RL_RUNTIME, "linalg.pinv: a tolerance has more matrices than the input");
    }
    memcpy(shape, m.lead, (size_t)m.n * sizeof *shape);
    shape[m.n] = m.cols;
    shape[m.n + 1] = m.rows;
    return rl_out_dims(k, 0, shape, m.n + 2);
}
