/* What stands on reflections: QR and its parts, least squares. */
#include "linalg.h"
#include <float.h>
#include <math.h>

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
