/* The operators that stand on factorisations, written once over rl_factors: batches, LU, Cholesky, QR, least
 * squares, eigenvalues and singular values, the pseudoinverse, the exponential. */
#include "factors.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What the operators on factorisations share: walks over batches, copies to columns and back, refusals. */
/* The leading dims of a result; operands stretch to them. */
typedef struct {
    int ndim;
    int64_t size[RL_MAX_DIMS], count;
} rl_batch;
/* One matrix of an operand, or one vector as a column; steps in bytes. */
typedef struct {
    char *at;
    int64_t rows, cols, down, right;
    int dtype;
} rl_side;
enum { RL_SCALAR, RL_VECTOR, RL_MATRIX }; /* how many dims of an operand are not of the batch */

static rl_side rl_side_of(const rl_batch *b, const rl_view *v, int form, int64_t i, int mode);
static inline void rl_side_put_int(const rl_side *s, int64_t i, int64_t x) {
    char *at = s->at + i * s->down;
    if (s->dtype == RL_I64)
        *(int64_t *)at = x;
    else
        *(int32_t *)at = (int32_t)x;
}
static inline int rl_side_int(const rl_side *s, int64_t i) {
    return *(const int32_t *)(s->at + i * s->down);
}
/* result i, number b of the batch; a result that is not wanted is not there */
static inline void rl_info_put(const rl_batch *b, rl_call *k, int result, int64_t i, int64_t info) {
    rl_side s = rl_side_of(b, k->out[result], RL_SCALAR, i, RL_WRITE);
    rl_side_put_int(&s, 0, info);
}

/* ---- batches of matrices: where each lies, copies to columns and back ---- */
static void rl_job_begin(rl_job *j, rl_call *k, const rl_factors *f, int dtype) {
    *j = (rl_job){.k = k, .f = f, .dtype = f->wide ? RL_F64 : dtype};
    j->item = rl_itemsize(j->dtype);
}

char *rl_job_rooms(rl_job *j, const rl_layout *l) {
    rl_rooms rooms;
    const bool fits = l->size.n >= 0 && l->size.n <= j->work_bytes && !l->fenced;
    if (fits && j->work) return j->work;
    j->work = j->k->svc->rooms(j->k, l, 1, &rooms) ? rooms.base : NULL;
    j->work_bytes = j->work ? l->size.n : 0;
    j->failed |= !j->work;
    return j->work;
}

void *rl_job_work(rl_job *j, rl_count n, int64_t itemsize) {
    rl_layout l = rl_layout_begin(j->k);
    const int64_t at = rl_layout_add(&l, n, itemsize);
    char *room = rl_job_rooms(j, &l);
    return room ? room + at : NULL;
}

/* elements, for the whole call; NULL without memory */
static void *rl_job_room(rl_job *j, rl_count n) {
    const size_t item = j->dtype == RL_F64 ? sizeof(double) : sizeof(float);
    void *room = j->k->svc->scratch(j->k, n, item);
    j->failed |= !room;
    return room;
}

static void rl_batch_begin(rl_batch *b, const rl_view *v, int form) {
    b->ndim = v->ndim - form;
    b->count = 1;
    for (int d = 0; d < b->ndim; d++) b->count *= b->size[d] = v->shape[d];
}

static rl_side rl_side_of(const rl_batch *b, const rl_view *v, int form, int64_t i, int mode) {
    const int64_t item = rl_itemsize(v->dtype);
    const int n = v->ndim, lead = n - form;
    rl_side s = {.at = rl_data(v, mode), .rows = 1, .cols = 1, .dtype = v->dtype};
    for (int d = b->ndim - 1; d >= 0; d--) {
        int64_t at = i % b->size[d];
        int own = d - b->ndim + lead;
        i /= b->size[d];
        if (own >= 0 && v->shape[own] > 1) s.at += at * v->strides[own] * item;
    }
    if (form != RL_SCALAR) {
        s.rows = v->shape[lead];
        s.down = v->strides[lead] * item;
    }
    if (form == RL_MATRIX) {
        s.cols = v->shape[n - 1];
        s.right = v->strides[n - 1] * item;
    }
    return s;
}

#define COPY(FROM, TO, from, to)                                                                             \
    for (int64_t r = 0; r < s->rows; r++) *(TO *)(to) = (TO) * (const FROM *)(from)
#define PLACE    (s->at + r * s->down + c * s->right)
#define ENTRY(T) ((T *)column + r)

/* halves pass through double */
static double half_at(int dtype, const char *p) {
    return dtype == RL_F16 ? rl_from_half(*(const rl_half *)p) : rl_from_bfloat(*(const rl_bfloat *)p);
}
static void half_put(int dtype, char *p, double x) {
    if (dtype == RL_F16)
        *(rl_half *)p = rl_to_half((float)x);
    else
        *(rl_bfloat *)p = rl_to_bfloat((float)x);
}

/* to[i + c * ld] = the element; the rest of a column of `to` stays */
static void rl_side_load(const rl_job *j, const rl_side *s, void *to, int64_t ld) {
    for (int64_t c = 0; c < s->cols; c++) {
        char *column = (char *)to + c * ld * j->item;
        if (rl_is_half(s->dtype))
            for (int64_t r = 0; r < s->rows; r++) rl_job_put(j, column, r, half_at(s->dtype, PLACE));
        else if (s->dtype == RL_F64)
            COPY(double, double, PLACE, ENTRY(double));
        else if (j->dtype == RL_F64)
            COPY(float, double, PLACE, ENTRY(double));
        else
            COPY(float, float, PLACE, ENTRY(float));
    }
}

static void rl_side_store(const rl_job *j, const void *from, int64_t ld, const rl_side *s) {
    for (int64_t c = 0; c < s->cols; c++) {
        const char *column = (const char *)from + c * ld * j->item;
        if (rl_is_half(s->dtype))
            for (int64_t r = 0; r < s->rows; r++) half_put(s->dtype, PLACE, rl_job_get(j, column, r));
        else if (s->dtype == RL_F64)
            COPY(double, double, ENTRY(const double), PLACE);
        else if (j->dtype == RL_F64)
            COPY(double, float, ENTRY(const double), PLACE);
        else
            COPY(float, float, ENTRY(const float), PLACE);
    }
}

/* "who: (Batch element 1): text" where the batch has dims; `ex` is added to who for an operator called so */
static rl_status rl_linalg_fail(rl_call *k, rl_error kind, const char *who, const rl_batch *b, int64_t i,
                                const char *format, ...) {
    char text[512], place[64] = "";
    size_t length = strlen(k->name);
    bool ex = length > 3 && strcmp(k->name + length - 3, "_ex") == 0;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (b->ndim) snprintf(place, sizeof place, " (Batch element %lld):", (long long)i);
    return rl_fail(k, kind, "%s%s:%s %s", who, ex ? "_ex" : "", place, text);
}

/* keeps one */
static void rl_triangle_clear(const rl_job *j, bool upper, bool unit, int64_t m, int64_t n, void *a) {
    for (int64_t c = 0; c < n; c++) {
        int64_t from = upper ? c + 1 : 0, end = upper ? m : c < m ? c : m;
        for (int64_t i = from; i < end; i++) rl_job_put(j, a, i + c * m, 0);
        if (unit && c < m) rl_job_put(j, a, c + c * m, 1);
    }
}

static void rl_identity(const rl_job *j, int64_t m, int64_t n, void *a) {
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < m; i++) rl_job_put(j, a, i + c * m, i == c);
}

static bool rl_all_finite(const rl_job *j, int64_t n, const void *a) {
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(rl_job_get(j, a, i))) return false;
    return true;
}

/* ---- what stands on LU: solutions, inverses, determinants, the factors themselves ---- */
#define SINGULAR                                                                                             \
    "The diagonal element %lld is zero, the inversion could not be completed because the input matrix is "   \
    "singular."

/* A of number i of the batch, factorised in a */
static int64_t factorise(rl_job *j, const rl_batch *b, const rl_view *v, int64_t i, void *a, int *pivots) {
    rl_side from = rl_side_of(b, v, RL_MATRIX, i, RL_READ);
    rl_side_load(j, &from, a, from.rows);
    return j->f->lu(j, from.rows, from.cols, a, pivots);
}

static void pivots_store(const rl_batch *b, const rl_view *v, int64_t i, const int *pivots, int64_t n) {
    rl_side to = rl_side_of(b, v, RL_VECTOR, i, RL_WRITE);
    for (int64_t p = 0; p < n; p++) rl_side_put_int(&to, p, pivots[p]);
}

/* pivots come from the caller: other threads may write to them, and rows that are not there are refused */
static bool pivots_load(const rl_batch *b, const rl_view *v, int64_t i, int *pivots, int64_t n,
                        int64_t rows) {
    rl_side from = rl_side_of(b, v, RL_VECTOR, i, RL_READ);
    for (int64_t p = 0; p < n; p++) {
        pivots[p] = rl_side_int(&from, p);
        if (pivots[p] < 1 || pivots[p] > rows) return false;
    }
    return true;
}

static int *pivots_room(rl_job *j, int64_t n) {
    int *room = j->k->svc->scratch(j->k, RL_COUNT(n), sizeof *room);
    j->failed |= !room;
    return room;
}

rl_status rl_linalg_inv(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const bool ex = k->n_out > 1, strict = !ex || k->arg[1].u.i;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, n));
    int *pivots = pivots_room(&j, n);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        int64_t info = factorise(&j, &b, v, i, a, pivots);
        if (info && strict)
            return rl_linalg_fail(k, RL_LINALG, "linalg.inv", &b, i, SINGULAR, (long long)info);
        rl_identity(&j, n, n, x);
        f->lu_solve(&j, false, n, n, a, pivots, x);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, x, n, &to);
        if (ex) rl_info_put(&b, k, 1, i, info);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* x (rows x cols) = the solution of A X = B, or, turned, of X A = B, which is A^T X^T = B^T */
static void store_transposed(const rl_job *j, const void *from, int64_t ld, rl_side to) {
    rl_side turned = {to.at, to.cols, to.rows, to.right, to.down, to.dtype};
    rl_side_store(j, from, ld, &turned);
}
static void load_transposed(const rl_job *j, rl_side from, void *to, int64_t ld) {
    rl_side turned = {from.at, from.cols, from.rows, from.right, from.down, from.dtype};
    rl_side_load(j, &turned, to, ld);
}

/* results: the solution, info (of _ex), then LU and pivots for a gradient; attr[0]: which result LU is,
 * attr[1]: is B a vector? */
rl_status rl_linalg_solve(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *right = k->arg[1].u.t, *out = k->out[0];
    const int form = k->attr[1] ? RL_VECTOR : RL_MATRIX, at = (int)k->attr[0];
    const bool left = k->arg[2].u.i != 0, ex = at == 2, strict = !ex || k->arg[3].u.i;
    const int64_t n = v->shape[v->ndim - 1];
    const int64_t many = form == RL_VECTOR ? 1 : out->shape[out->ndim - (left ? 1 : 2)];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, out, form);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, many));
    int *pivots = pivots_room(&j, n);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        int64_t info = factorise(&j, &b, v, i, a, pivots);
        if (info && strict)
            return rl_linalg_fail(k, RL_LINALG, "torch.linalg.solve", &b, i,
                                  "The solver failed because the input matrix is singular.");
        if (ex) rl_info_put(&b, k, 1, i, info);
        if (k->n_out > at) {
            rl_side to = rl_side_of(&b, k->out[at], RL_MATRIX, i, RL_WRITE);
            rl_side_store(&j, a, n, &to);
            pivots_store(&b, k->out[at + 1], i, pivots, n);
        }
        rl_side from = rl_side_of(&b, right, form, i, RL_READ), to = rl_side_of(&b, out, form, i, RL_WRITE);
        if (left)
            rl_side_load(&j, &from, x, n);
        else
            load_transposed(&j, from, x, n);
        f->lu_solve(&j, !left, n, many, a, pivots, x);
        if (left)
            rl_side_store(&j, x, n, &to);
        else
            store_transposed(&j, x, n, to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_lu_solve(rl_call *k, const rl_factors *f) {
    const rl_view *lu = k->arg[0].u.t, *given = k->arg[1].u.t, *right = k->arg[2].u.t, *out = k->out[0];
    const bool left = k->arg[3].u.i != 0, adjoint = k->arg[4].u.i != 0;
    const int64_t n = lu->shape[lu->ndim - 1], many = out->shape[out->ndim - (left ? 1 : 2)];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, lu->dtype);
    rl_batch_begin(&b, out, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, many));
    int *pivots = pivots_room(&j, n);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        if (!pivots_load(&b, given, i, pivots, n, n))
            return rl_fail(k, RL_RUNTIME,
                           "Pivots given to lu_solve must all be greater or equal to 1. Did you properly "
                           "pass the result of lu_factor?");
        rl_side from = rl_side_of(&b, lu, RL_MATRIX, i, RL_READ),
                to = rl_side_of(&b, out, RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        from = rl_side_of(&b, right, RL_MATRIX, i, RL_READ);
        if (left)
            rl_side_load(&j, &from, x, n);
        else
            load_transposed(&j, from, x, n);
        f->lu_solve(&j, left == adjoint, n, many, a, pivots, x);
        if (left)
            rl_side_store(&j, x, n, &to);
        else
            store_transposed(&j, x, n, to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_lu_factor(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    const bool ex = k->n_out > 2, strict = !ex || k->arg[2].u.i;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n));
    int *pivots = pivots_room(&j, least);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        int64_t info = factorise(&j, &b, v, i, a, pivots);
        if (info && strict)
            return rl_linalg_fail(k, RL_RUNTIME, "torch.linalg.lu_factor", &b, i,
                                  "U[%lld,%lld] is zero and using it on lu_solve would result in a division "
                                  "by zero. If you still want to perform the factorization, consider calling "
                                  "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
                                  (long long)info, (long long)info);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, m, &to);
        pivots_store(&b, k->out[1], i, pivots, least);
        if (ex) rl_info_put(&b, k, 2, i, info);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* where the rows went: row order[i] of A is row i of L U */
static void order_of(const int *pivots, int64_t n, int64_t rows, int *order) {
    for (int64_t i = 0; i < rows; i++) order[i] = (int)i;
    for (int64_t i = 0; i < n; i++) {
        int other = pivots[i] - 1, row = order[i];
        order[i] = order[other];
        order[other] = row;
    }
}

rl_status rl_linalg_lu(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n)), *l = rl_job_room(&j, RL_COUNT(m, least));
    void *p = rl_job_room(&j, RL_COUNT(m, m));
    int *pivots = pivots_room(&j, least), *order = pivots_room(&j, m);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        factorise(&j, &b, v, i, a, pivots);
        order_of(pivots, least, m, order);
        for (int64_t e = 0; e < m * m; e++) rl_job_put(&j, p, e, 0);
        for (int64_t r = 0; r < m; r++) rl_job_put(&j, p, order[r] + r * m, 1);
        for (int64_t e = 0; e < m * least; e++) rl_job_put(&j, l, e, rl_job_get(&j, a, e));
        rl_triangle_clear(&j, false, true, m, least, l);
        rl_triangle_clear(&j, true, false, m, n, a);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, p, m, &to);
        to = rl_side_of(&b, k->out[1], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, l, m, &to);
        to = rl_side_of(&b, k->out[2], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, m, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* results: the determinant (or its sign and logarithm), then LU and pivots for a gradient */
static rl_status determinant(rl_call *k, const rl_factors *f, bool logarithm) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const int at = logarithm ? 2 : 1;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n));
    int *pivots = pivots_room(&j, n);
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        factorise(&j, &b, v, i, a, pivots);
        double product = 1, sign = 1, sum = 0;
        for (int64_t p = 0; p < n; p++) {
            double d = rl_job_get(&j, a, p * (n + 1));
            if (pivots[p] != p + 1) sign = -sign;
            product *= d;
            sum += log(fabs(d));
            sign *= d > 0 ? 1 : d < 0 ? -1 : 0;
        }
        double odd = 1;
        for (int64_t p = 0; p < n; p++) odd = pivots[p] != p + 1 ? -odd : odd;
        rl_side to = rl_side_of(&b, k->out[0], RL_SCALAR, i, RL_WRITE);
        double answer = logarithm ? sign : odd * product;
        rl_job one = {.dtype = RL_F64, .item = sizeof(double)};
        rl_side_store(&one, &answer, 1, &to);
        if (logarithm) {
            to = rl_side_of(&b, k->out[1], RL_SCALAR, i, RL_WRITE);
            rl_side_store(&one, &sum, 1, &to);
        }
        if (k->n_out <= at) continue;
        to = rl_side_of(&b, k->out[at], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, n, &to);
        pivots_store(&b, k->out[at + 1], i, pivots, n);
    }
    return j.failed ? RL_FAIL : RL_OK;
}
rl_status rl_linalg_det(rl_call *k, const rl_factors *f) {
    return determinant(k, f, false);
}
rl_status rl_linalg_slogdet(rl_call *k, const rl_factors *f) {
    return determinant(k, f, true);
}

/* What stands on triangles: Cholesky's factors and what they solve, triangles that are given, L D L^T. */
#define NOT_POSITIVE                                                                                         \
    "The factorization could not be completed because the input is not positive-definite (the leading "      \
    "minor "                                                                                                 \
    "of order %lld is not positive-definite)."

rl_status rl_linalg_cholesky(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const bool upper = k->arg[1].u.i != 0, ex = k->n_out > 1, strict = !ex || k->arg[2].u.i;
    const char *who = strncmp(k->name, "linalg_", 7) == 0 ? "linalg.cholesky" : "cholesky";
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        int64_t info = f->cholesky(&j, upper, n, a);
        if (info && strict) return rl_linalg_fail(k, RL_LINALG, who, &b, i, NOT_POSITIVE, (long long)info);
        rl_triangle_clear(&j, upper, false, n, n, a);
        rl_side_store(&j, a, n, &to);
        if (ex) rl_info_put(&b, k, 1, i, info);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* x (n x many) = the solution of L L^T X = x */
static void two_triangles(rl_job *j, bool upper, int64_t n, int64_t many, const void *a, void *x) {
    j->f->triangle(j, true, upper, upper, false, n, many, a, n, x);
    j->f->triangle(j, true, upper, !upper, false, n, many, a, n, x);
}

rl_status rl_linalg_cholesky_solve(rl_call *k, const rl_factors *f) {
    const rl_view *right = k->arg[0].u.t, *v = k->arg[1].u.t, *out = k->out[0];
    const int64_t n = v->shape[v->ndim - 1], many = out->shape[out->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, out, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, many));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ),
                to = rl_side_of(&b, out, RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        from = rl_side_of(&b, right, RL_MATRIX, i, RL_READ);
        rl_side_load(&j, &from, x, n);
        two_triangles(&j, k->arg[2].u.i != 0, n, many, a, x);
        rl_side_store(&j, x, n, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_cholesky_inverse(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, n));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        for (int64_t d = 0; d < n; d++)
            if (rl_job_get(&j, a, d * (n + 1)) == 0)
                return rl_linalg_fail(
                    k, RL_LINALG, "cholesky_inverse", &b, i,
                    "The diagonal element %lld is zero, the inversion could not be completed "
                    "because the input matrix is singular.",
                    (long long)d + 1);
        rl_identity(&j, n, n, x);
        two_triangles(&j, k->arg[1].u.i != 0, n, n, a, x);
        rl_side_store(&j, x, n, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* attr[0]: which argument is the triangle, the other one is B; attr[1 ..]: left, upper, turned, unit */
rl_status rl_linalg_solve_triangular(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[k->attr[0]].u.t, *right = k->arg[1 - k->attr[0]].u.t, *out = k->out[0];
    const int64_t n = v->shape[v->ndim - 1], rows = out->shape[out->ndim - 2],
                  cols = out->shape[out->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, out, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(rows, cols));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ),
                to = rl_side_of(&b, out, RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        from = rl_side_of(&b, right, RL_MATRIX, i, RL_READ);
        rl_side_load(&j, &from, x, rows);
        f->triangle(&j, k->attr[1], k->attr[2], k->attr[3], k->attr[4], rows, cols, a, n, x);
        rl_side_store(&j, x, rows, &to);
        if (k->n_out == 1) continue;
        to = rl_side_of(&b, k->out[1], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, n, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_ldl_factor(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const bool ex = k->n_out > 2, strict = !ex || k->arg[2].u.i;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n));
    int *pivots = k->svc->scratch(k, RL_COUNT(n), sizeof *pivots);
    for (int64_t i = 0; i < b.count && !j.failed && pivots; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        int64_t info = f->ldl(&j, n, a, pivots);
        if (info && strict)
            return rl_linalg_fail(k, RL_LINALG, "torch.linalg.ldl_factor", &b, i,
                                  "The block %lld of D is zero, so that the factors cannot be used to solve.",
                                  (long long)info);
        rl_triangle_clear(&j, false, false, n, n, a);
        rl_side_store(&j, a, n, &to);
        to = rl_side_of(&b, k->out[1], RL_VECTOR, i, RL_WRITE);
        for (int64_t p = 0; p < n; p++) rl_side_put_int(&to, p, pivots[p]);
        if (ex) rl_info_put(&b, k, 2, i, info);
    }
    return j.failed || !pivots ? RL_FAIL : RL_OK;
}

/* blocks of two have two equal pivots, and no row is outside */
static bool blocks_load(const rl_side *from, int *pivots, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        pivots[p] = rl_side_int(from, p);
        if (pivots[p] == 0 || pivots[p] > n || pivots[p] < -n) return false;
    }
    for (int64_t p = 0; p < n; p += pivots[p] > 0 ? 1 : 2)
        if (pivots[p] < 0 && (p + 1 == n || pivots[p + 1] != pivots[p])) return false;
    return true;
}

rl_status rl_linalg_ldl_solve(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *given = k->arg[1].u.t, *right = k->arg[2].u.t, *out = k->out[0];
    const int64_t n = v->shape[v->ndim - 1], many = out->shape[out->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, out, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *x = rl_job_room(&j, RL_COUNT(n, many));
    int *pivots = k->svc->scratch(k, RL_COUNT(n), sizeof *pivots);
    for (int64_t i = 0; i < b.count && !j.failed && pivots; i++) {
        rl_side from = rl_side_of(&b, given, RL_VECTOR, i, RL_READ),
                to = rl_side_of(&b, out, RL_MATRIX, i, RL_WRITE);
        if (!blocks_load(&from, pivots, n))
            return rl_fail(k, RL_RUNTIME, "torch.linalg.ldl_solve: pivots are not those of ldl_factor");
        from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side_load(&j, &from, a, n);
        from = rl_side_of(&b, right, RL_MATRIX, i, RL_READ);
        rl_side_load(&j, &from, x, n);
        f->ldl_solve(&j, n, many, a, pivots, x);
        rl_side_store(&j, x, n, &to);
    }
    return j.failed || !pivots ? RL_FAIL : RL_OK;
}

/* ---- what stands on reflections: QR and its parts, least squares ---- */
/* attr[0]: columns of Q, attr[1]: is Q wanted? */
rl_status rl_linalg_qr(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    const int64_t width = k->attr[0];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n > width ? n : width)), *tau = rl_job_room(&j, RL_COUNT(least));
    void *r = rl_job_room(&j, RL_COUNT(width, n));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ), to;
        rl_side_load(&j, &from, a, m);
        f->qr(&j, m, n, a, tau);
        for (int64_t c = 0; c < n; c++)
            for (int64_t e = 0; e < width; e++)
                rl_job_put(&j, r, e + c * width, e > c ? 0 : rl_job_get(&j, a, e + c * m));
        to = rl_side_of(&b, k->out[1], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, r, width, &to);
        if (!k->attr[1]) continue;
        f->q_form(&j, m, width, least, a, tau);
        to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, m, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_geqrf(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n)), *tau = rl_job_room(&j, RL_COUNT(least));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, m);
        f->qr(&j, m, n, a, tau);
        rl_side_store(&j, a, m, &to);
        to = rl_side_of(&b, k->out[1], RL_VECTOR, i, RL_WRITE);
        rl_side_store(&j, tau, least, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_householder(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *t = k->arg[1].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], count = t->shape[t->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, k->out[0], RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n)), *tau = rl_job_room(&j, RL_COUNT(count));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, m);
        from = rl_side_of(&b, t, RL_VECTOR, i, RL_READ);
        rl_side_load(&j, &from, tau, count);
        f->q_form(&j, m, n, count, a, tau);
        rl_side_store(&j, a, m, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

rl_status rl_linalg_ormqr(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *t = k->arg[1].u.t, *other = k->arg[2].u.t, *out = k->out[0];
    const int64_t ld = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], count = t->shape[t->ndim - 1];
    const int64_t rows = out->shape[out->ndim - 2], cols = out->shape[out->ndim - 1];
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, out, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(ld, n)), *tau = rl_job_room(&j, RL_COUNT(count));
    void *c = rl_job_room(&j, RL_COUNT(rows, cols));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ),
                to = rl_side_of(&b, out, RL_MATRIX, i, RL_WRITE);
        rl_side_load(&j, &from, a, ld);
        from = rl_side_of(&b, t, RL_VECTOR, i, RL_READ);
        rl_side_load(&j, &from, tau, count);
        from = rl_side_of(&b, other, RL_MATRIX, i, RL_READ);
        rl_side_load(&j, &from, c, rows);
        f->q_apply(&j, k->arg[3].u.i != 0, k->arg[4].u.i != 0, rows, cols, count, a, ld, tau, c);
        rl_side_store(&j, c, rows, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* ---- least squares ---- */
typedef struct {
    rl_job j;
    int64_t m, n, least, many;
    void *a, *b, *x, *tau, *s, *u, *vt, *part, *square;
} least_squares;

/* x = the solution where A has full rank, by QR of A or of A^T; info: the column that depends on others */
static int64_t by_qr(least_squares *q) {
    rl_job *j = &q->j;
    const rl_factors *f = j->f;
    bool tall = q->m >= q->n;
    int64_t rows = tall ? q->m : q->n, cols = q->least;
    bool zero = true;
    for (int64_t e = 0; e < rows * cols && zero; e++) zero = rl_job_get(j, q->a, e) == 0;
    if (zero) { /* as LAPACK's gels: not an error */
        for (int64_t e = 0; e < q->n * q->many; e++) rl_job_put(j, q->x, e, 0);
        return 0;
    }
    f->qr(j, rows, cols, q->a, q->tau);
    for (int64_t d = 0; d < cols; d++)
        if (rl_job_get(j, q->a, d * (rows + 1)) == 0) return d + 1;
    if (tall) {
        f->q_apply(j, true, true, rows, q->many, cols, q->a, rows, q->tau, q->b);
        for (int64_t c = 0; c < q->many; c++)
            for (int64_t i = 0; i < cols; i++)
                rl_job_put(j, q->x, i + c * cols, rl_job_get(j, q->b, i + c * rows));
        f->triangle(j, true, true, false, false, cols, q->many, q->a, rows, q->x);
        return 0;
    }
    f->triangle(j, true, true, true, false, cols, q->many, q->a, rows, q->b);
    for (int64_t c = 0; c < q->many; c++)
        for (int64_t i = 0; i < rows; i++)
            rl_job_put(j, q->x, i + c * rows, i < cols ? rl_job_get(j, q->b, i + c * cols) : 0);
    f->q_apply(j, true, false, rows, q->many, cols, q->a, rows, q->tau, q->x);
    return 0;
}

/* Is what by_qr() left in a far from singular, whatever way that is asked? sigma_1 / sigma_n is below the
 * product of the norms of R and its inverse. */
static bool is_regular(least_squares *q, double limit) {
    rl_job *j = &q->j;
    int64_t rows = q->m > q->n ? q->m : q->n, n = q->least;
    double norm = 0, inverse = 0;
    for (int64_t c = 0; c < n; c++) {
        if (rl_job_get(j, q->a, c * (rows + 1)) == 0) return false;
        for (int64_t i = 0; i <= c; i++) norm += pow(rl_job_get(j, q->a, i + c * rows), 2);
    }
    rl_identity(j, n, n, q->square);
    j->f->triangle(j, true, true, false, false, n, n, q->a, rows, q->square);
    for (int64_t e = 0; e < n * n; e++) inverse += pow(rl_job_get(j, q->square, e), 2);
    return sqrt(norm) * sqrt(inverse) * limit < 1;
}

/* x = the shortest solution, singular values up to limit times the largest being zero; *rank are not */
static int64_t by_svd(least_squares *q, double limit, int64_t *rank) {
    rl_job *j = &q->j;
    if (!rl_all_finite(j, q->m * q->n, q->a)) return q->least; /* LAPACK would print that it is an error */
    int64_t info = j->f->svd(j, false, q->m, q->n, q->a, q->s, q->u, q->vt);
    if (info || j->failed) return info;
    double most = q->least ? rl_job_get(j, q->s, 0) : 0;
    for (*rank = 0; *rank < q->least && rl_job_get(j, q->s, *rank) > limit * most;) ++*rank;
    j->f->product(j, true, false, q->least, q->many, q->m, q->u, q->b, q->part);
    for (int64_t c = 0; c < q->many; c++)
        for (int64_t i = 0; i < q->least; i++) {
            double now = i < *rank ? rl_job_get(j, q->part, i + c * q->least) / rl_job_get(j, q->s, i) : 0;
            rl_job_put(j, q->part, i + c * q->least, now);
        }
    j->f->product(j, true, false, q->n, q->many, q->least, q->vt, q->part, q->x);
    return 0;
}

static void residuals_put(least_squares *q, const rl_side *a, const rl_side *right, const rl_side *to) {
    rl_job *j = &q->j;
    rl_side_load(j, a, q->a, q->m);
    rl_side_load(j, right, q->b, q->m);
    void *ax = q->part;
    j->f->product(j, false, false, q->m, q->many, q->n, q->a, q->x, ax);
    for (int64_t c = 0; c < q->many; c++) {
        double sum = 0;
        for (int64_t i = 0; i < q->m; i++) {
            double d = rl_job_get(j, ax, i + c * q->m) - rl_job_get(j, q->b, i + c * q->m);
            sum += d * d;
        }
        char *at = to->at + c * to->down;
        if (to->dtype == RL_F64)
            *(double *)at = sum;
        else
            *(float *)at = (float)sum;
    }
}

/* results: solution, residuals, rank, singular values; attr[0]: is B a vector? attr[1]: by QR; attr[2]:
 * residuals are wanted, attr[3]: singular values are */
rl_status rl_linalg_lstsq(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *right = k->arg[1].u.t, *out = k->out[0];
    const int form = k->attr[0] ? RL_VECTOR : RL_MATRIX;
    least_squares q = {.m = v->shape[v->ndim - 2], .n = v->shape[v->ndim - 1]};
    rl_job *j = &q.j;
    rl_batch b;
    q.least = q.m < q.n ? q.m : q.n;
    q.many = form == RL_VECTOR ? 1 : out->shape[out->ndim - 1];
    rl_job_begin(j, k, f, v->dtype);
    rl_batch_begin(&b, out, form);
    double eps = v->dtype == RL_F64 ? DBL_EPSILON : FLT_EPSILON;
    double limit = k->arg[2].tag == RL_NONE ? eps * (double)(q.m > q.n ? q.m : q.n) : rl_num(k, 2);
    if (limit < 0) limit = eps;
    q.a = rl_job_room(j, RL_COUNT(q.m, q.n));
    q.b = rl_job_room(j, RL_COUNT(q.m, q.many));
    q.x = rl_job_room(j, RL_COUNT(q.n, q.many));
    q.tau = rl_job_room(j, RL_COUNT(q.least));
    q.s = rl_job_room(j, RL_COUNT(q.least));
    q.u = rl_job_room(j, RL_COUNT(q.m, q.least));
    q.vt = rl_job_room(j, RL_COUNT(q.least, q.n));
    q.part = rl_job_room(j, RL_COUNT(q.m, q.many));
    q.square = rl_job_room(j, RL_COUNT(q.least, q.least));
    for (int64_t i = 0; i < b.count && !j->failed; i++) {
        rl_side a = rl_side_of(&b, v, RL_MATRIX, i, RL_READ), to = rl_side_of(&b, out, form, i, RL_WRITE);
        rl_side from = rl_side_of(&b, right, form, i, RL_READ),
                turned = {a.at, a.cols, a.rows, a.right, a.down, a.dtype};
        int64_t info = 0, rank = q.least;
        bool solved = false;
        if (!k->attr[3]) { /* singular values are not wanted: QR, where the rank is beyond doubt */
            rl_side_load(j, q.m < q.n ? &turned : &a, q.a, q.m < q.n ? q.n : q.m);
            rl_side_load(j, &from, q.b, q.m);
            info = by_qr(&q);
            solved = k->attr[1] || (!info && q.least && is_regular(&q, limit));
        }
        if (!solved && !j->failed) {
            rl_side_load(j, &a, q.a, q.m);
            rl_side_load(j, &from, q.b, q.m);
            info = by_svd(&q, limit, &rank);
        }
        if (j->failed) break;
        if (info)
            return rl_linalg_fail(k, RL_LINALG, "torch.linalg.lstsq", &b, i,
                                  "The least squares solution could not be computed because the input matrix "
                                  "does not have full rank (error code: %lld).",
                                  (long long)info);
        rl_side_store(j, q.x, q.n, &to);
        if (!k->attr[1]) rl_info_put(&b, k, 2, i, rank);
        if (k->attr[3]) {
            to = rl_side_of(&b, k->out[3], RL_VECTOR, i, RL_WRITE);
            rl_side_store(j, q.s, q.least, &to);
        }
        if (!k->attr[2]) continue;
        to = rl_side_of(&b, k->out[1], RL_VECTOR, i, RL_WRITE);
        residuals_put(&q, &a, &from, &to);
    }
    return j->failed ? RL_FAIL : RL_OK;
}

/* ---- the pseudoinverse, by singular values or, of symmetric matrices, by eigenvalues ---- */
/* an optional number for each matrix */
static double limit_of(const rl_batch *b, const rl_view *v, int64_t i, double absent) {
    if (!v) return absent;
    rl_side s = rl_side_of(b, v, RL_SCALAR, i, RL_READ);
    return s.dtype == RL_F64 ? *(const double *)s.at : (double)*(const float *)s.at;
}

/* columns of u over values that count, times rows of vt, turned over: V S^-1 U^T (n x m) */
static void put_together(rl_job *j, int64_t m, int64_t n, int64_t count, const void *s, double limit, void *u,
                         const void *vt, void *to) {
    for (int64_t c = 0; c < count; c++) {
        double size = rl_job_get(j, s, c), by = fabs(size) > limit ? 1 / size : 0;
        for (int64_t i = 0; i < m; i++)
            rl_job_put(j, u, i + c * m, by == 0 ? 0 : rl_job_get(j, u, i + c * m) * by);
    }
    j->f->product(j, true, true, n, m, count, vt, u, to);
}

rl_status rl_linalg_pinv(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t, *atol = rl_in(k, 1), *rtol = rl_in(k, 2);
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    const bool symmetric = k->arg[3].u.i != 0;
    const double eps = v->dtype == RL_F64 ? DBL_EPSILON : FLT_EPSILON, usual = eps * (double)(m > n ? m : n);
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, k->out[0], RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n)), *s = rl_job_room(&j, RL_COUNT(least));
    void *u = rl_job_room(&j, RL_COUNT(m, least)), *vt = rl_job_room(&j, RL_COUNT(least, n));
    void *x = rl_job_room(&j, RL_COUNT(n, m));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        double absolute = limit_of(&b, atol, i, 0), most = 0;
        int64_t info;
        double relative = limit_of(&b, rtol, i, atol && absolute > 0 ? 0 : usual);
        rl_side_load(&j, &from, a, m);
        bool finite = rl_all_finite(&j, m * n, a);
        if (!finite && symmetric) {
            for (int64_t e = 0; e < n * m; e++) rl_job_put(&j, x, e, NAN);
            rl_side_store(&j, x, n, &to);
            continue;
        }
        if (!finite)
            return rl_linalg_fail(k, RL_LINALG, "linalg.svd", &b, i,
                                  "The algorithm failed to converge because the input matrix contained "
                                  "non-finite values.");
        if (symmetric) {
            info = f->eigh(&j, true, false, n, a, s);
            for (int64_t e = 0; e < n * n; e++) rl_job_put(&j, u, e, rl_job_get(&j, a, e));
            for (int64_t c = 0; c < n; c++)
                for (int64_t r = 0; r < n; r++) rl_job_put(&j, vt, c + r * n, rl_job_get(&j, a, r + c * n));
        } else {
            info = f->svd(&j, false, m, n, a, s, u, vt);
        }
        if (info)
            return rl_linalg_fail(
                k, RL_LINALG, symmetric ? "linalg.eigh" : "linalg.svd", &b, i,
                "The algorithm failed to converge because the input matrix is ill-conditioned "
                "or has too many repeated %s (error code: %lld).",
                symmetric ? "eigenvalues" : "singular values", (long long)info);
        for (int64_t e = 0; e < least; e++) most = fmax(most, fabs(rl_job_get(&j, s, e)));
        put_together(&j, m, n, least, s, fmax(absolute, relative * most), u, vt, x);
        rl_side_store(&j, x, n, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* ---- what stands on eigenvalues and singular values, and the exponential ---- */
/* argument 1 says which triangle; result 1: the vectors, if they are wanted */
rl_status rl_linalg_eigh(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const bool vectors = k->n_out > 1, upper = (k->arg[1].u.s[0] | 32) == 'u';
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *w = rl_job_room(&j, RL_COUNT(n));
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_VECTOR, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        if (!rl_all_finite(&j, n * n, a)) { /* as PyTorch's: nothing is known of any */
            for (int64_t e = 0; e < n * n; e++) rl_job_put(&j, a, e, NAN);
            for (int64_t e = 0; e < n; e++) rl_job_put(&j, w, e, NAN);
        } else {
            int64_t info = f->eigh(&j, vectors, upper, n, a, w);
            if (info)
                return rl_linalg_fail(
                    k, RL_LINALG, "linalg.eigh", &b, i,
                    "The algorithm failed to converge because the input matrix is "
                    "ill-conditioned or has too many repeated eigenvalues (error code: %lld).",
                    (long long)info);
        }
        rl_side_store(&j, w, n, &to);
        if (!vectors) continue;
        to = rl_side_of(&b, k->out[1], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, a, n, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* attr[0]: which result is S; attr[1]: all columns of U and rows of Vh; U and Vh are the other results */
rl_status rl_linalg_svd(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    const int at = (int)k->attr[0];
    const bool full = k->attr[1] != 0, vectors = k->n_out > 1;
    const int64_t cols = full ? m : least, rows = full ? n : least;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(m, n)), *s = rl_job_room(&j, RL_COUNT(least));
    void *u = vectors ? rl_job_room(&j, RL_COUNT(m, cols)) : NULL,
         *vt = vectors ? rl_job_room(&j, RL_COUNT(rows, n)) : NULL;
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[at], RL_VECTOR, i, RL_WRITE);
        rl_side_load(&j, &from, a, m);
        if (!rl_all_finite(&j, m * n, a))
            return rl_linalg_fail(k, RL_LINALG, "linalg.svd", &b, i,
                                  "The algorithm failed to converge because the input matrix contained "
                                  "non-finite values.");
        int64_t info = f->svd(&j, full, m, n, a, s, u, vt);
        if (info)
            return rl_linalg_fail(
                k, RL_LINALG, "linalg.svd", &b, i,
                "The algorithm failed to converge because the input matrix is ill-conditioned "
                "or has too many repeated singular values (error code: %lld).",
                (long long)info);
        rl_side_store(&j, s, least, &to);
        if (!vectors) continue;
        to = rl_side_of(&b, k->out[1 - at], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, u, m, &to);
        to = rl_side_of(&b, k->out[2], RL_MATRIX, i, RL_WRITE);
        rl_side_store(&j, vt, rows, &to);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

static void complex_put(const rl_side *s, int64_t row, int64_t col, double re, double im) {
    char *at = s->at + row * s->down + col * s->right;
    if (s->dtype == RL_C128)
        *(rl_complex128 *)at = (rl_complex128){re, im};
    else
        *(rl_complex64 *)at = (rl_complex64){(float)re, (float)im};
}

static void vectors_put(const rl_job *j, const rl_side *to, int64_t n, const void *v, const void *im) {
    for (int64_t c = 0; c < n; c++) {
        bool pair = rl_job_get(j, im, c) != 0 && c + 1 < n;
        for (int64_t r = 0; r < n; r++) {
            double x = rl_job_get(j, v, r + c * n), y = pair ? rl_job_get(j, v, r + (c + 1) * n) : 0;
            complex_put(to, r, c, x, y);
            if (pair) complex_put(to, r, c + 1, x, -y);
        }
        c += pair;
    }
}

rl_status rl_linalg_eig(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    const int64_t n = v->shape[v->ndim - 1];
    const bool vectors = k->n_out > 1;
    rl_job j;
    rl_batch b;
    rl_job_begin(&j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void *a = rl_job_room(&j, RL_COUNT(n, n)), *re = rl_job_room(&j, RL_COUNT(n)),
         *im = rl_job_room(&j, RL_COUNT(n));
    void *w = vectors ? rl_job_room(&j, RL_COUNT(n, n)) : NULL;
    for (int64_t i = 0; i < b.count && !j.failed; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_VECTOR, i, RL_WRITE);
        rl_side_load(&j, &from, a, n);
        if (!rl_all_finite(&j, n * n, a))
            return rl_fail(k, RL_RUNTIME, "torch.linalg.eig: input tensor should not contain infs or NaNs.");
        int64_t info = f->eig(&j, n, a, re, im, w);
        if (info)
            return rl_linalg_fail(
                k, RL_LINALG, "linalg.eig", &b, i,
                "The algorithm failed to converge because the input matrix is ill-conditioned "
                "or has too many repeated eigenvalues (error code: %lld).",
                (long long)info);
        for (int64_t e = 0; e < n; e++) complex_put(&to, e, 0, rl_job_get(&j, re, e), rl_job_get(&j, im, e));
        if (!vectors) continue;
        to = rl_side_of(&b, k->out[1], RL_MATRIX, i, RL_WRITE);
        vectors_put(&j, &to, n, w, im);
    }
    return j.failed ? RL_FAIL : RL_OK;
}

/* ---- the exponential: Padé's approximation of order 13, scaled and squared (Higham, 2005) ---- */
typedef struct {
    rl_job j;
    int64_t n;
    void *a, *a2, *a4, *a6, *odd, *even, *room;
    int *pivots;
} exponential;

/* to = p a6 + q a4 + r a2 + s I */
static void combine(const exponential *e, void *to, double p, double q, double r, double s) {
    const rl_job *j = &e->j;
    for (int64_t i = 0; i < e->n * e->n; i++)
        rl_job_put(j, to, i,
                   p * rl_job_get(j, e->a6, i) + q * rl_job_get(j, e->a4, i) + r * rl_job_get(j, e->a2, i) +
                       (i % (e->n + 1) == 0 ? s : 0));
}
static void plus(const exponential *e, void *to, const void *from, double factor) {
    for (int64_t i = 0; i < e->n * e->n; i++)
        rl_job_put(&e->j, to, i, rl_job_get(&e->j, to, i) + factor * rl_job_get(&e->j, from, i));
}
static void times(exponential *e, const void *a, const void *b, void *to) {
    e->j.f->product(&e->j, false, false, e->n, e->n, e->n, a, b, to);
}

/* a becomes exp(a); norm: its largest sum of a column */
static void exponentiate(exponential *e, double norm) {
    /* the coefficients over that of the constant, 13! / 26! and so on */
    static const double c[] = {1,
                               0.5,
                               0.12,
                               1.8333333333333333e-2,
                               1.992753623188406e-3,
                               1.6304347826086957e-4,
                               1.0351966873706004e-5,
                               5.175983436853002e-7,
                               2.0431513566525008e-8,
                               6.306022705717595e-10,
                               1.4837700484041399e-11,
                               2.5291534915979659e-13,
                               2.8101705462199623e-15,
                               1.5440497506703088e-17};
    const rl_job *j = &e->j;
    int64_t count = e->n * e->n;
    double most = j->dtype == RL_F64 ? 5.37 : 3.9;
    int halvings = norm > most ? (int)ceil(log2(norm / most)) : 0;
    for (int64_t i = 0; halvings && i < count; i++)
        rl_job_put(j, e->a, i, ldexp(rl_job_get(j, e->a, i), -halvings));
    times(e, e->a, e->a, e->a2);
    times(e, e->a2, e->a2, e->a4);
    times(e, e->a4, e->a2, e->a6);
    combine(e, e->room, c[13], c[11], c[9], 0);
    times(e, e->a6, e->room, e->odd);
    combine(e, e->room, c[7], c[5], c[3], c[1]);
    plus(e, e->odd, e->room, 1);
    times(e, e->a, e->odd, e->room);
    for (int64_t i = 0; i < count; i++) rl_job_put(j, e->odd, i, rl_job_get(j, e->room, i));
    combine(e, e->room, c[12], c[10], c[8], 0);
    times(e, e->a6, e->room, e->even);
    combine(e, e->room, c[6], c[4], c[2], c[0]);
    plus(e, e->even, e->room, 1);
    void *sum = e->room, *difference = e->even; /* (even - odd) X = even + odd */
    for (int64_t i = 0; i < count; i++) {
        double x = rl_job_get(j, e->even, i), y = rl_job_get(j, e->odd, i);
        rl_job_put(j, sum, i, x + y);
        rl_job_put(j, difference, i, x - y);
    }
    e->j.f->lu(&e->j, e->n, e->n, difference, e->pivots);
    e->j.f->lu_solve(&e->j, false, e->n, e->n, difference, e->pivots, sum);
    void *now = sum, *next = e->a2;
    for (int i = 0; i < halvings; i++) {
        times(e, now, now, next);
        void *other = now;
        now = next;
        next = other;
    }
    for (int64_t i = 0; i < count; i++) rl_job_put(j, e->a, i, rl_job_get(j, now, i));
}

rl_status rl_linalg_matrix_exp(rl_call *k, const rl_factors *f) {
    const rl_view *v = k->arg[0].u.t;
    exponential e = {.n = v->shape[v->ndim - 1]};
    rl_job *j = &e.j;
    rl_batch b;
    rl_job_begin(j, k, f, v->dtype);
    rl_batch_begin(&b, v, RL_MATRIX);
    void **rooms[] = {&e.a, &e.a2, &e.a4, &e.a6, &e.odd, &e.even, &e.room};
    for (int i = 0; i < 7; i++) *rooms[i] = rl_job_room(j, RL_COUNT(e.n, e.n));
    e.pivots = k->svc->scratch(k, RL_COUNT(e.n), sizeof *e.pivots);
    for (int64_t i = 0; i < b.count && !j->failed && e.pivots; i++) {
        rl_side from = rl_side_of(&b, v, RL_MATRIX, i, RL_READ);
        rl_side to = rl_side_of(&b, k->out[0], RL_MATRIX, i, RL_WRITE);
        double norm = 0;
        rl_side_load(j, &from, e.a, e.n);
        for (int64_t c = 0; c < e.n; c++) {
            double sum = 0;
            for (int64_t r = 0; r < e.n; r++) sum += fabs(rl_job_get(j, e.a, r + c * e.n));
            norm = sum > norm || sum != sum ? sum : norm;
        }
        if (isfinite(norm))
            exponentiate(&e, norm);
        else
            for (int64_t x = 0; x < e.n * e.n; x++) rl_job_put(j, e.a, x, NAN);
        rl_side_store(j, e.a, e.n, &to);
    }
    return j->failed || !e.pivots ? RL_FAIL : RL_OK;
}
