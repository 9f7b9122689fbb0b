/* What stands on LU: solutions, inverses, determinants, the factors themselves. */
#include "linalg.h"
#include <math.h>

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
static void store_turned(const rl_job *j, const void *from, int64_t ld, rl_side to) {
    rl_side turned = {to.at, to.cols, to.rows, to.right, to.down, to.dtype};
    rl_side_store(j, from, ld, &turned);
}
static void load_turned(const rl_job *j, rl_side from, void *to, int64_t ld) {
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
            load_turned(&j, from, x, n);
        f->lu_solve(&j, !left, n, many, a, pivots, x);
        if (left)
            rl_side_store(&j, x, n, &to);
        else
            store_turned(&j, x, n, to);
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
            load_turned(&j, from, x, n);
        f->lu_solve(&j, left == adjoint, n, many, a, pivots, x);
        if (left)
            rl_side_store(&j, x, n, &to);
        else
            store_turned(&j, x, n, to);
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
