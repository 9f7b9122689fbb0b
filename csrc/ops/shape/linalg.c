/* Shape rules of linear algebra. */
#include "shape.h"
#include <math.h>

/* ---- what all rules of matrices share, and factorisations of one matrix ---- */
/* Matrices without elements may be as many, as high and as wide as one likes, and take no memory: this says
 * how many are walked over. */
enum { MAX_EMPTY = 1 << 24 };
static rl_status empty_bounded(const int64_t *shape, int ndim) {
    bool empty = false, large = false;
    int64_t walked = 1;
    for (int d = 0; d < ndim; d++) {
        empty |= shape[d] == 0;
        large |= shape[d] > MAX_EMPTY;
        if (!large && shape[d]) walked *= shape[d], large |= walked > MAX_EMPTY;
    }
    return empty && large
               ? rl_error_set(RL_RUNTIME, "linalg: these matrices have no elements and are too large")
               : RL_OK;
}

/* at least two */
static rl_status matrix_dims(const rl_view *a, const char *who) {
    if (a->ndim >= 2) return empty_bounded(a->shape, a->ndim);
    return rl_error_set(RL_RUNTIME, "%s: The input tensor A must have at least 2 dimensions.", who);
}
static rl_status matrix_square(const rl_view *a, const char *who) {
    if (matrix_dims(a, who) != RL_OK) return RL_FAIL;
    int64_t rows = a->shape[a->ndim - 2], cols = a->shape[a->ndim - 1];
    if (rows == cols) return RL_OK;
    return rl_error_set(RL_RUNTIME,
                        "%s: A must be batches of square matrices, but they are %lld by %lld matrices", who,
                        (long long)rows, (long long)cols);
}
/* float32 and float64 pass. Integers are refused in PyTorch's words of `who`, or as halves are when it is
 * NULL: those by the name of their kernel, or in words when that is NULL. */
static rl_status matrix_dtype(const rl_view *a, const char *who, const char *kernel) {
    const char *title = rl_dtype_title(a->dtype);
    if (a->dtype == RL_F32 || a->dtype == RL_F64) return RL_OK;
    if (who && !rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME, "%s: Expected a floating point or complex tensor as input. Got %s",
                            who, title);
    if (kernel) return rl_error_set(RL_NOTIMPL, "\"%s\" not implemented for '%s'", kernel, title);
    return rl_error_set(RL_RUNTIME, "%s: Low precision dtypes not supported. Got %s", who, title);
}
/* dtypes of A and B */
static rl_status matrix_same(const rl_view *a, const rl_view *b, const char *who) {
    if (a->dtype == b->dtype) return RL_OK;
    return rl_error_set(
        RL_RUNTIME,
        "%s: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead", who,
        rl_dtype_title(a->dtype), rl_dtype_title(b->dtype));
}

/* Result i: [shape ..., rows, cols] with so many leading dims, column by column. */
static rl_status out_columns(rl_call *k, int i, const int64_t *lead, int n, int64_t rows, int64_t cols) {
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
/* Result i: leading dims, then one more if size >= 0; of a dtype of its own if that is >= 0. */
static rl_status out_beside(rl_call *k, int i, const int64_t *lead, int n, int64_t size, int dtype) {
    int64_t shape[RL_MAX_DIMS];
    memcpy(shape, lead, (size_t)n * sizeof *shape);
    shape[n] = size;
    if (dtype >= 0) k->out[i]->dtype = (uint8_t)dtype;
    return rl_out_dims(k, i, shape, n + (size >= 0));
}
/* The common leading dims of a and b, which have so many dims of their own behind; -1 with PyTorch's text. */
static int lead_common(const rl_view *a, int a_own, const rl_view *b, int b_own, int64_t lead[RL_MAX_DIMS]) {
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
    if (matrix_square(a, "linalg.inv") != RL_OK || matrix_dtype(a, "linalg.inv", NULL) != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? out_beside(k, 1, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(cholesky) {
    const rl_view *a = k->arg[0].u.t;
    bool old = k->name[0] == '_';
    if (matrix_square(a, old ? "cholesky" : "linalg.cholesky") != RL_OK ||
        matrix_dtype(a, old ? NULL : "linalg.cholesky", "cholesky_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? out_beside(k, 1, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(cholesky_inverse) {
    const rl_view *a = k->arg[0].u.t;
    if (matrix_square(a, "cholesky_inverse") != RL_OK ||
        matrix_dtype(a, NULL, "cholesky_inverse_out_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    return out_columns(k, 0, m.lead, m.n, m.rows, m.cols);
}

/* PyTorch says it so of the functions that are called lu */
static rl_status lu_input(const rl_call *k, const char *who) {
    const rl_view *a = k->arg[0].u.t;
    char dims[RL_DIMS_TEXT];
    if (a->ndim < 2)
        return rl_error_set(RL_RUNTIME, "%s: Expected tensor with 2 or more dimensions. Got size: %s instead",
                            who, rl_dims_text(dims, a->shape, a->ndim));
    if (matrix_dtype(a, NULL, "lu_cpu") != RL_OK || matrix_dims(a, who) != RL_OK) return RL_FAIL;
    if (k->arg[1].u.i) return RL_OK;
    return rl_error_set(RL_RUNTIME, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

RL_SHAPE(lu_factor) {
    if (lu_input(k, "torch.lu_factor") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK ||
        out_beside(k, 1, m.lead, m.n, m.least, RL_I32) != RL_OK)
        return RL_FAIL;
    return k->n_out > 2 ? out_beside(k, 2, m.lead, m.n, -1, RL_I32) : RL_OK;
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
    if (matrix_square(a, who) != RL_OK || matrix_dtype(a, who, kernel) != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    for (int i = 0; i < shown; i++)
        if (out_beside(k, i, m.lead, m.n, -1, -1) != RL_OK) return RL_FAIL;
    if (k->n_out == shown) return RL_OK;
    if (out_columns(k, shown, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return out_beside(k, shown + 1, m.lead, m.n, m.rows, RL_I32);
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
    if (matrix_square(a, who) != RL_OK || matrix_dtype(a, who, "ldl_factor_kernel_cpu") != RL_OK)
        return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK ||
        out_beside(k, 1, m.lead, m.n, m.rows, RL_I32) != RL_OK)
        return RL_FAIL;
    return k->n_out > 2 ? out_beside(k, 2, m.lead, m.n, -1, RL_I32) : RL_OK;
}

RL_SHAPE(geqrf) {
    const rl_view *a = k->arg[0].u.t;
    if (a->ndim < 2) return rl_error_set(RL_RUNTIME, "torch.geqrf: input must have at least 2 dimensions.");
    if (matrix_dtype(a, NULL, "geqrf_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_columns(k, 0, m.lead, m.n, m.rows, m.cols) != RL_OK) return RL_FAIL;
    return out_beside(k, 1, m.lead, m.n, m.least, -1);
}

RL_SHAPE(eigh) {
    const rl_view *a = k->arg[0].u.t;
    const char *uplo = k->arg[1].u.s;
    if (matrix_square(a, "linalg.eigh") != RL_OK) return RL_FAIL;
    if (strlen(uplo) != 1 || !strchr("lLuU", *uplo))
        return rl_error_set(RL_RUNTIME, "Expected UPLO argument to be 'L' or 'U', but got %s", uplo);
    if (matrix_dtype(a, NULL, "linalg_eigh_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    if (out_beside(k, 0, m.lead, m.n, m.rows, -1) != RL_OK) return RL_FAIL;
    return k->n_out > 1 ? out_columns(k, 1, m.lead, m.n, m.rows, m.cols) : RL_OK;
}

/* attr[0]: which result is S; attr[1]: all columns of U */
static rl_status svd_out(rl_call *k, int s, bool full, const rl_value *driver) {
    const rl_view *a = k->arg[0].u.t;
    if (matrix_dims(a, "linalg.svd") != RL_OK || matrix_dtype(a, "linalg.svd", "linalg_svd_cpu") != RL_OK)
        return RL_FAIL;
    if (driver->tag == RL_STRING)
        return rl_error_set(RL_RUNTIME,
                            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs "
                            "with cuSOLVER backend.");
    matrices m = matrices_of(k);
    k->attr[0] = s;
    k->attr[1] = full;
    if (out_beside(k, s, m.lead, m.n, m.least, -1) != RL_OK) return RL_FAIL;
    if (k->n_out == 1) return RL_OK;
    if (out_columns(k, 1 - s, m.lead, m.n, m.rows, full ? m.rows : m.least) != RL_OK) return RL_FAIL;
    return out_columns(k, 2, m.lead, m.n, full ? m.cols : m.least, m.cols);
}
RL_SHAPE(svd) {
    return svd_out(k, 1, k->arg[1].u.i != 0, &k->arg[2]);
}
RL_SHAPE(svdvals) {
    return svd_out(k, 0, false, &k->arg[1]);
}

RL_SHAPE(eig) {
    const rl_view *a = k->arg[0].u.t;
    if (matrix_square(a, "linalg.eig") != RL_OK) return RL_FAIL;
    if (!rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME, "Unknown Complex ScalarType for %s", rl_dtype_title(a->dtype));
    if (matrix_dtype(a, NULL, "linalg_eig_out_cpu") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    int dtype = a->dtype == RL_F64 ? RL_C128 : RL_C64;
    if (out_beside(k, 0, m.lead, m.n, m.rows, dtype) != RL_OK) return RL_FAIL;
    if (k->n_out == 1) return RL_OK;
    k->out[1]->dtype = (uint8_t)dtype;
    return out_columns(k, 1, m.lead, m.n, m.rows, m.cols);
}

RL_SHAPE(matrix_exp) {
    const rl_view *a = k->arg[0].u.t;
    if (matrix_square(a, "linalg.matrix_exp") != RL_OK ||
        (!rl_is_float(a->dtype) && matrix_dtype(a, "linalg.matrix_exp", NULL) != RL_OK))
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
    if ((k->arg[3].u.i ? matrix_square : matrix_dims)(a, "linalg.eigh") != RL_OK) return RL_FAIL;
    matrices m = matrices_of(k);
    int64_t shape[RL_MAX_DIMS];
    for (int i = 1; i < 3; i++) {
        const rl_view *limit = rl_in(k, i);
        if (!limit) continue;
        if (limit->dtype != RL_F32 && limit->dtype != RL_F64)
            return rl_error_set(RL_RUNTIME, "linalg.pinv: a tolerance is expected to be float or double");
        int64_t common[RL_MAX_DIMS];
        int n = lead_common(a, 2, limit, 0, common);
        if (n < 0) return RL_FAIL;
        if (n != m.n || memcmp(common, m.lead, (size_t)n * sizeof *common) != 0)
            return rl_error_set(RL_RUNTIME, "linalg.pinv: a tolerance has more matrices than the input");
    }
    memcpy(shape, m.lead, (size_t)m.n * sizeof *shape);
    shape[m.n] = m.cols;
    shape[m.n + 1] = m.rows;
    return rl_out_dims(k, 0, shape, m.n + 2);
}

/* ---- QR ---- */
RL_SHAPE(qr) { /* attr[0]: columns of Q, attr[1]: is Q wanted? */
    const rl_view *a = k->arg[0].u.t;
    const char *mode = k->arg[1].u.s;
    int64_t none = 0;
    int n = a->ndim;
    bool complete = strcmp(mode, "complete") == 0, just_r = strcmp(mode, "r") == 0;
    if (n < 2)
        return rl_error_set(RL_RUNTIME, "linalg.qr: The input tensor A must have at least 2 dimensions.");
    if (!rl_is_float(a->dtype))
        return rl_error_set(RL_RUNTIME,
                            "linalg.qr: Expected a floating point or complex tensor as input. Got %s",
                            rl_dtype_title(a->dtype));
    if (!complete && !just_r && strcmp(mode, "reduced") != 0)
        return rl_error_set(
            RL_RUNTIME,
            "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', "
            "or 'complete'",
            mode);
    if (a->dtype != RL_F32 && a->dtype != RL_F64)
        return rl_error_set(RL_NOTIMPL, "\"geqrf_cpu\" not implemented for '%s'", rl_dtype_title(a->dtype));
    int64_t rows = a->shape[n - 2], cols = a->shape[n - 1], least = rows < cols ? rows : cols;
    k->attr[0] = complete ? rows : least;
    k->attr[1] = !just_r;
    if (out_columns(k, 1, a->shape, n - 2, k->attr[0], cols) != RL_OK) return RL_FAIL;
    return just_r ? rl_out_dims(k, 0, &none, 1) : out_columns(k, 0, a->shape, n - 2, rows, k->attr[0]);
}

/* ---- norms ---- */
/* an order for which nothing cannot have a norm */
static rl_status some_elements(rl_call *k, double order) {
    const rl_view *x = k->arg[0].u.t;
    uint64_t mask = (uint64_t)k->attr[0];
    if (x->numel || !(order < 0 || isinf(order))) return RL_OK;
    if (x->ndim == __builtin_popcountll(mask))
        return rl_error_set(RL_RUNTIME,
                            "linalg.vector_norm cannot compute the %g norm on an empty tensor because the "
                            "operation does not have an identity",
                            order);
    for (int d = 0; d < x->ndim; d++)
        if ((mask >> d & 1) && x->shape[d] == 0)
            return rl_error_set(RL_RUNTIME,
                                "linalg.vector_norm cannot compute the %g norm on the dimension %dbecause "
                                "this dimension is empty and the operation does not have an identity",
                                order, d);
    return RL_OK;
}

RL_SHAPE(vector_norm) { /* attr[0]: mask of reduced dims */
    const rl_view *x = k->arg[0].u.t;
    const rl_value *dims = &k->arg[2];
    int64_t shape[RL_MAX_DIMS];
    uint64_t mask = 0;
    int n = dims->tag == RL_INTS ? dims->n : dims->tag == RL_INT ? 1 : 0, kept = 0;
    if (k->arg[1].tag == RL_STRING && strcmp(k->arg[1].u.s, "fro") != 0)
        return rl_error_set(RL_RUNTIME, "linalg.matrix_norm: Order %s not supported.", k->arg[1].u.s);
    if (!rl_is_float(x->dtype) && k->arg[4].tag == RL_DTYPE)
        return rl_error_set(RL_RUNTIME,
                            "linalg.vector_norm: dtype should be floating point or complex, but got %s",
                            rl_dtype_title(x->dtype));
    if (!rl_is_float(x->dtype))
        return rl_error_set(
            RL_RUNTIME, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
            rl_dtype_title(x->dtype));
    for (int i = 0; i < n; i++) {
        int64_t d = dims->tag == RL_INT ? dims->u.i : dims->u.ints[i];
        if (rl_dim_wrap(&d, x->ndim) != RL_OK) return RL_FAIL;
        if (mask >> d & 1)
            return rl_error_set(RL_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)d);
        mask |= 1ull << d;
    }
    for (int d = 0; n == 0 && d < x->ndim; d++) mask |= 1ull << d;
    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1))
            shape[kept++] = x->shape[d];
        else if (k->arg[3].u.i)
            shape[kept++] = 1;
    }
    k->attr[0] = (int64_t)mask;
    if (some_elements(k, k->arg[1].tag == RL_INT || k->arg[1].tag == RL_FLOAT ? rl_num(k, 1) : 2) != RL_OK)
        return RL_FAIL;
    return rl_out_dims(k, 0, shape, kept);
}

/* ---- systems of equations ---- */
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
    int n = lead_common(a, 2, b, 2, lead);
    if (n < 0) return RL_FAIL;
    if (columns) return out_columns(k, 0, lead, n, rows, from_end(b, 1));
    lead[n] = rows;
    lead[n + 1] = from_end(b, 1);
    return rl_out_dims(k, 0, lead, n + 2);
}

/* attr[0]: which result is LU; attr[1]: is B a vector, or a batch of them? */
RL_SHAPE(solve) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const bool left = k->arg[2].u.i != 0, ex = k->name[strlen(k->name) - 1] == 'x';
    const int at = ex ? 2 : 1, n = a->ndim - 2;
    if (matrix_square(a, "linalg.solve") != RL_OK || matrix_dtype(a, "linalg.solve", "lu_cpu") != RL_OK ||
        matrix_same(a, b, "linalg.solve") != RL_OK)
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
            n ? out_columns(k, 0, a->shape, n - 1, a->shape[n - 1], from_end(a, 1)) /* as PyTorch's */
              : out_beside(k, 0, a->shape, n, from_end(a, 1), -1);
        if (s != RL_OK) return s;
    } else {
        if (matrix_dims(b, "linalg.solve") != RL_OK || equation_fits(a, b, left, "linalg.solve") != RL_OK ||
            solution_out(k, a, b, left, from_end(b, 2)) != RL_OK)
            return RL_FAIL;
    }
    if (ex && out_beside(k, 1, a->shape, n, -1, RL_I32) != RL_OK) return RL_FAIL;
    if (k->n_out == at) return RL_OK;
    if (out_columns(k, at, a->shape, n, from_end(a, 2), from_end(a, 1)) != RL_OK) return RL_FAIL;
    return out_beside(k, at + 1, a->shape, n, from_end(a, 1), RL_I32);
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
    if (matrix_dtype(a, who, "lu_solve_cpu") != RL_OK || matrix_square(a, who) != RL_OK ||
        matrix_same(a, b, who) != RL_OK || matrix_dims(b, who) != RL_OK ||
        equation_fits(a, b, left, who) != RL_OK || pivots_fit(a, k->arg[1].u.t, who, "LU") != RL_OK)
        return RL_FAIL;
    return solution_out(k, a, b, left, from_end(b, 2));
}

RL_SHAPE(ldl_solve) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[2].u.t;
    const char *who = "torch.linalg.ldl_solve";
    if (matrix_dtype(a, who, "ldl_solve_cpu") != RL_OK || matrix_square(a, who) != RL_OK ||
        matrix_same(a, b, who) != RL_OK || matrix_dims(b, who) != RL_OK ||
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
    if (old_equation(b, a, "cholesky_solve") != RL_OK || matrix_dtype(a, NULL, "cholesky_solve_cpu") != RL_OK)
        return RL_FAIL;
    return solution_out(k, a, b, true, from_end(b, 2));
}

/* attr[0]: which argument is the triangle; attr[1 ..]: left, upper, turned, unit */
RL_SHAPE(solve_triangular) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const char *who = "linalg.solve_triangular";
    const bool left = k->arg[3].u.i != 0;
    if (matrix_square(a, who) != RL_OK || matrix_dims(b, who) != RL_OK || matrix_same(a, b, who) != RL_OK ||
        equation_fits(a, b, left, who) != RL_OK || matrix_dtype(a, NULL, "triangular_solve_cpu") != RL_OK)
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
        matrix_dtype(a, NULL, "triangular_solve_cpu") != RL_OK)
        return RL_FAIL;
    k->attr[0] = 1;
    k->attr[1] = 1;
    k->attr[2] = k->arg[2].u.i != 0;
    k->attr[3] = k->arg[3].u.i != 0;
    k->attr[4] = k->arg[4].u.i != 0;
    int n = lead_common(a, 2, b, 2, lead);
    if (n < 0 || out_columns(k, 0, lead, n, from_end(b, 2), from_end(b, 1)) != RL_OK) return RL_FAIL;
    return out_columns(k, 1, lead, n, from_end(a, 2), from_end(a, 1));
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
    if (reflections_fit(a, tau, who) != RL_OK || matrix_dtype(a, NULL, "orgqr_cpu") != RL_OK) return RL_FAIL;
    return out_columns(k, 0, a->shape, a->ndim - 2, from_end(a, 2), from_end(a, 1));
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
    if (matrix_dtype(a, NULL, "ormqr_cpu") != RL_OK) return RL_FAIL;
    return out_columns(k, 0, other->shape, other->ndim - 2, from_end(other, 2), from_end(other, 1));
}

/* attr[0]: is B a vector? attr[1]: by QR; attr[2]: residuals, attr[3]: singular values are wanted. The rank
 * may show afterwards that there are no residuals. */
RL_SHAPE(lstsq) {
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    const char *who = "torch.linalg.lstsq", *driver = k->arg[3].tag == RL_STRING ? k->arg[3].u.s : "gelsy";
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
    int n = lead_common(a, 2, b, vector ? 1 : 2, lead);
    if (n < 0) return RL_FAIL;
    const int64_t rows = from_end(a, 2), cols = from_end(a, 1), least = rows < cols ? rows : cols;
    const bool gelsy = driver[4] == 'y', gels = !driver[4];
    k->attr[0] = vector;
    k->attr[1] = gels;
    k->attr[2] = rows > cols && !gelsy;
    k->attr[3] = !gels && !gelsy;
    rl_status s =
        vector ? out_beside(k, 0, lead, n, cols, -1) : out_columns(k, 0, lead, n, cols, from_end(b, 1));
    if (s != RL_OK) return s;
    s = k->attr[2] ? out_beside(k, 1, lead, n, vector ? 1 : from_end(b, 1), -1) : rl_out_dims(k, 1, &none, 1);
    if (s != RL_OK) return s;
    k->out[2]->dtype = RL_I64;
    s = gels ? rl_out_dims(k, 2, &none, 1) : out_beside(k, 2, lead, n, -1, RL_I64);
    if (s != RL_OK) return s;
    return k->attr[3] ? out_beside(k, 3, lead, n, least, -1) : rl_out_dims(k, 3, &none, 1);
}

/* ---- product of vectors of three ---- */
RL_SHAPE(cross) { /* attr[0]: the dim */
    const rl_view *a = k->arg[0].u.t, *b = k->arg[1].u.t;
    int64_t dim = k->arg[2].u.i;
    if (a->ndim != b->ndim)
        return rl_error_set(RL_RUNTIME, "linalg.cross: inputs must have the same number of dimensions.");
    if (rl_dim_wrap(&dim, a->ndim) != RL_OK) return RL_FAIL;
    if (rl_size_along(a, dim) != 3 || rl_size_along(b, dim) != 3)
        return rl_error_set(
            RL_RUNTIME, "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
            (long long)k->arg[2].u.i, (long long)rl_size_along(a, dim), (long long)rl_size_along(b, dim));
    k->attr[0] = dim;
    int64_t shape[RL_MAX_DIMS];
    if (shape_broadcast(k) != RL_OK) return RL_FAIL;
    memcpy(shape, k->out[0]->shape, (size_t)a->ndim * sizeof *shape);
    return rl_out_dims(k, 0, shape, a->ndim); /* dense, in the usual order */
}
