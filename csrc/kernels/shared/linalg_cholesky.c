/* What stands on triangles: Cholesky's factors and what they solve, triangles that are given, L D L^T. */
#include "linalg.h"
#include <string.h>

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
