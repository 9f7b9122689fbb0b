/* What stands on eigenvalues and singular values, and the exponential. */
#include "linalg.h"
#include <math.h>

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
