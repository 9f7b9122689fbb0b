/* Our own singular values: columns are turned against each other until all are orthogonal (Hestenes, 1958);
 * a tall matrix is R of its QR first. Small singular values come out as exact as the matrix says them. */
#include "linalg.h"
#include <float.h>
#include <math.h>

enum { SWEEPS = 60 }; /* ten are many */

/* w (m x n) = U S, with V turned along; answers whether it came to an end */
static bool turn_columns(int64_t m, int64_t n, double *w, double *v) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool turned = false;
        for (int64_t p = 0; p + 1 < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double *x = w + p * m, *y = w + q * m;
                double a = rl_own_dot(m, x, x), b = rl_own_dot(m, y, y), c = rl_own_dot(m, x, y);
                if (fabs(c) <= DBL_EPSILON * sqrt(a) * sqrt(b) || a == 0 || b == 0) continue;
                double z = (b - a) / (2 * c), t = copysign(1, z) / (fabs(z) + hypot(1, z));
                double cosine = 1 / sqrt(1 + t * t);
                rl_own_turn(m, cosine, -cosine * t, x, y);
                if (v) rl_own_turn(n, cosine, -cosine * t, v + p * n, v + q * n);
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
        for (int64_t r = 0; v && r < n; r++)
            x = v[r + i * n], v[r + i * n] = v[r + best * n], v[r + best * n] = x;
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

/* rows >= columns: w = U S with V, both square; in `room` what was w is U S */
static bool tall_svd(int64_t n, double *r, double *v, double *s, bool wanted) {
    for (int64_t i = 0; wanted && i < n * n; i++) v[i] = i % (n + 1) == 0;
    if (!turn_columns(n, n, r, wanted ? v : NULL)) return false;
    order_columns(n, n, r, wanted ? v : NULL, s);
    if (wanted) complete(n, n, r, s);
    return true;
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
    if (!tall_svd(n, r, v, s, u != NULL)) return n;
    if (!u) return 0;
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

int64_t rl_own_svd(rl_job *j, bool full, int64_t m, int64_t n, void *at, void *to, void *u, void *vt) {
    bool wide = m < n;
    int64_t rows = wide ? n : m, cols = wide ? m : n, other = full ? rows : cols;
    double *a = at, *s = to, most = 0, scale = 1;
    rl_count need = rl_count_plus(rl_count_plus(RL_COUNT(cols, cols, 2), cols), 1);
    rl_count more = RL_COUNT(rows, wide ? cols + (u ? other : 0) : 0);
    double *tau = rl_job_work(j, more.n < 0 ? more : rl_count_plus(need, more.n), sizeof *tau);
    if (!tau) return 0;
    double *r = tau + cols, *v = r + cols * cols, *turned = v + cols * cols, *left = turned + rows * cols;
    for (int64_t i = 0; i < m * n; i++) {
        if (!isfinite(a[i])) return cols;
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    }
    if (most > 1e140 || (most < 1e-140 && most > 0)) scale = exp2(-ilogb(most)); /* squares stay in range */
    for (int64_t i = 0; scale != 1 && i < m * n; i++) a[i] *= scale;
    if (wide) turn_over(m, n, a, turned);
    int64_t info = svd_tall(j, full, rows, cols, wide ? turned : a, s, u ? wide ? left : u : NULL, v, tau, r);
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
