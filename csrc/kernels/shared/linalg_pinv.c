/* The pseudoinverse, by singular values or, of symmetric matrices, by eigenvalues. */
#include "linalg.h"
#include <float.h>
#include <math.h>

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
