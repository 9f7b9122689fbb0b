/* Our own singular values: columns are turned against each other until all are orthogonal (Hestenes, 1958);
 * a tall matrix is R of its QR first. Small singular values come out as exact as the matrix says them.
 * Values alone are eigenvalues of a tridiagonal (Golub and Kahan, 1965). */
#include "linalg.h"
#include <float.h>
#include <math.h>

enum { SWEEPS = 60 }; /* ten are many */

/* w (m x n) = U S, with V turned along; answers whether it came to an end */
static bool turn_columns(int64_t m, int64_t n, double *w, double *v, double *squares) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool turned = false;
        for (int64_t p = 0; p < n; p++) squares[p] = rl_own_dot(m, w + p * m, w + p * m);
        for (int64_t p = 0; p + 1 < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double *x = w + p * m, *y = w + q * m, a = squares[p], b = squares[q],
                       c = rl_own_dot(m, x, y);
                if (fabs(c) <= DBL_EPSILON * sqrt(fabs(a)) * sqrt(fabs(b)) || a == 0 || b == 0) continue;
                double z = (b - a) / (2 * c), t = copysign(1, z) / (fabs(z) + hypot(1, z));
                double cosine = 1 / sqrt(1 + t * t);
                rl_own_turn(m, cosine, -cosine * t, x, y);
                rl_own_turn(n, cosine, -cosine * t, v + p * n, v + q * n);
                squares[p] = a - t * c; /* found again in the next sweep */
                squares[q] = b + t * c;
                turned = true;
            }
        if (!turned) return true;
    }
    return false;
}

/* The order of columns by falling length, which goes to s. */
static void order_columns(int64_t m, int64_t n, double *w, double *v, double *s) {
    for (int64_t i = 0; i < n; i++) s[i] = rl_own_norm(m, w + i * m);
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t best = i;
        for (int64_t k = i + 1; k < n; k++)
            if (s[k] > s[best]) best = k;
        if (best == i) continue;
        double x = s[i];
        s[i] = s[best];
        s[best] = x;
        for (int64_t r = 0; r < m; r++) x = w[r + i * m], w[r + i * m] = w[r + best * m], w[r + best * m] = x;
        for (int64_t r = 0; r < n; r++) x = v[r + i * n], v[r + i * n] = v[r + best * n], v[r + best * n] = x;
    }
}

/* Columns become U: of length one, and where s is zero anything that is orthogonal to the others. */
static void complete(int64_t m, int64_t n, double *w, const double *s) {
    int64_t unit = 0;
    for (int64_t c = 0; c < n; c++) {
        double *x = w + c * m, size = s[c];
        if (size > DBL_MIN * 4) {
            for (int64_t i = 0; i < m; i++) x[i] /= size;
            continue;
        }
        for (size = 0; size < 1 / sqrt(4 * (double)m) && unit < m; unit++) {
            for (int64_t i = 0; i < m; i++) x[i] = i == unit;
            for (int pass = 0; pass < 2; pass++) {
                for (int64_t k = 0; k < c; k++) rl_own_axpy(m, -rl_own_dot(m, w + k * m, x), w + k * m, x);
                double now = rl_own_norm(m, x);
                if (pass == 0) size = now;
                for (int64_t i = 0; now > 0 && i < m; i++) x[i] /= now;
            }
        }
    }
}

/* r (n x n) becomes U of r = U S V^T */
static bool square_svd(int64_t n, double *r, double *v, double *s) {
    for (int64_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    if (!turn_columns(n, n, r, v, s)) return false;
    order_columns(n, n, r, v, s);
    complete(n, n, r, s);
    return true;
}

/* Values alone: a (m x n, m >= n) becomes a bidiagonal B by reflections from both sides; [0 B; B^T 0] has
 * them and their negatives as eigenvalues, and is tridiagonal when its rows are taken in turns. */
static int64_t values_only(int64_t m, int64_t n, double *a, double *s, double *d, double *e, double *sum) {
    for (int64_t c = 0; c < n; c++) {
        double *x = a + c + c * m, tau = rl_own_reflect(m - c, x, x + 1);
        for (int64_t k = c + 1; tau != 0 && k < n; k++)
            rl_own_reflected(m - c, tau, x + 1, a + c + k * m, a + c + 1 + k * m);
        e[2 * c] = x[0];
        if (c + 1 == n) break;
        double *row = s; /* not needed before the end */
        for (int64_t k = c + 1; k < n; k++) row[k] = a[c + k * m];
        tau = rl_own_reflect(n - c - 1, row + c + 1, row + c + 2);
        e[2 * c + 1] = row[c + 1];
        row[c + 1] = 1;
        if (tau == 0) continue;
        int64_t below = m - c - 1;
        for (int64_t i = 0; i < below; i++) sum[i] = 0;
        for (int64_t k = c + 1; k < n; k++) rl_own_axpy(below, row[k], a + c + 1 + k * m, sum);
        for (int64_t k = c + 1; k < n; k++) rl_own_axpy(below, -tau * row[k], sum, a + c + 1 + k * m);
    }
    for (int64_t i = 0; i < 2 * n; i++) d[i] = 0;
    int64_t stuck = rl_own_tridiagonal(2 * n, d, e);
    for (int64_t i = 0; i < n; i++) s[i] = fabs(d[2 * n - 1 - i]);
    return stuck;
}

static void turn_over(int64_t m, int64_t n, const double *from, double *to) { /* to: n x m */
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < m; i++) to[c + i * n] = from[i + c * m];
}

/* a (m x n, m >= n); u: m x nu, v: n x n, whose columns are the vectors */
static int64_t svd_tall(rl_job *j, bool full, int64_t m, int64_t n, double *a, double *s, double *u,
                        double *v, double *tau, double *r) {
    rl_own_qr(j, m, n, a, tau);
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < n; i++) r[i + c * n] = i > c ? 0 : a[i + c * m];
    if (!square_svd(n, r, v, s)) return n;
    int64_t wide = full ? m : n;
    for (int64_t c = 0; c < wide; c++)
        for (int64_t i = 0; i < m; i++) u[i + c * m] = c < n && i < n ? r[i + c * n] : i == c;
    for (int64_t c = n - 1; c >= 0; c--) {
        const double *x = a + c + c * m;
        for (int64_t k = 0; k < wide; k++)
            rl_own_reflected(m - c, tau[c], x + 1, u + c + k * m, u + c + 1 + k * m);
    }
    return 0;
}

/* What is worked on: with vectors tau, r and v, else the tridiagonal's d and e; of a wide matrix also its
 * transpose and U of that. */
typedef struct {
    int64_t tau, r, v, left, d, e, sum, turned;
} svd_parts;
static svd_parts svd_layout(rl_layout *l, int64_t rows, int64_t cols, int64_t other, bool vectors,
                            bool wide) {
    svd_parts p = {0};
    if (vectors) {
        p.tau = rl_layout_add(l, RL_COUNT(cols), sizeof(double));
        p.r = rl_layout_add(l, RL_COUNT(cols, cols), sizeof(double));
        p.v = rl_layout_add(l, RL_COUNT(cols, cols), sizeof(double));
        if (wide) p.left = rl_layout_add(l, RL_COUNT(rows, other), sizeof(double));
    } else {
        p.d = rl_layout_add(l, RL_COUNT(2, cols), sizeof(double));
        p.e = rl_layout_add(l, RL_COUNT(2, cols), sizeof(double));
        p.sum = rl_layout_add(l, RL_COUNT(rows), sizeof(double));
    }
    if (wide) p.turned = rl_layout_add(l, RL_COUNT(rows, cols), sizeof(double));
    return p;
}

int64_t rl_own_svd(rl_job *j, bool full, int64_t m, int64_t n, void *at, void *to, void *u, void *vt) {
    bool wide = m < n;
    int64_t rows = wide ? n : m, cols = wide ? m : n, other = full ? rows : cols;
    double *a = at, *s = to, most = 0, scale = 1;
    rl_layout l = rl_layout_begin(j->k);
    const svd_parts p = svd_layout(&l, rows, cols, other, u != NULL, wide);
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    double *v = (double *)(room + p.v), *turned = (double *)(room + p.turned),
           *left = (double *)(room + p.left);
    for (int64_t i = 0; i < m * n; i++) {
        if (!isfinite(a[i])) return cols;
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    }
    if (most > 1e140 || (most < 1e-140 && most > 0)) scale = exp2(-ilogb(most)); /* squares stay in range */
    for (int64_t i = 0; scale != 1 && i < m * n; i++) a[i] *= scale;
    if (wide) turn_over(m, n, a, turned);
    double *tall = wide ? turned : a;
    int64_t info = u ? svd_tall(j, full, rows, cols, tall, s, wide ? left : u, v, (double *)(room + p.tau),
                                (double *)(room + p.r))
                     : values_only(rows, cols, tall, s, (double *)(room + p.d), (double *)(room + p.e),
                                   (double *)(room + p.sum));
    for (int64_t i = 0; scale != 1 && i < cols; i++) s[i] /= scale;
    if (!u) return info;
    if (wide) { /* A = (U S V^T)^T = V S U^T */
        for (int64_t i = 0; i < cols * cols; i++) ((double *)u)[i] = v[i];
        turn_over(rows, other, left, vt);
    } else {
        turn_over(cols, cols, v, vt);
    }
    return info;
}
