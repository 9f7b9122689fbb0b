/* LU, Cholesky, QR and L D L^T: our own factorisations, in double. */
#include "linalg.h"
#include <math.h>

/* ---- our own factors of square matrices: LU with partial pivoting, Cholesky, triangles; in double ---- */
int64_t rl_own_lu(rl_job *j, int64_t m, int64_t n, void *at, int *pivots) {
    double *a = at;
    int64_t info = 0, least = m < n ? m : n;
    (void)j;
    for (int64_t c = 0; c < least; c++) {
        double *column = a + c * m;
        int64_t best = c;
        for (int64_t i = c + 1; i < m; i++)
            if (fabs(column[i]) > fabs(column[best])) best = i;
        pivots[c] = (int)best + 1;
        if (column[best] == 0) {
            if (!info) info = c + 1;
            continue;
        }
        for (int64_t k = 0; best != c && k < n; k++) {
            double x = a[c + k * m];
            a[c + k * m] = a[best + k * m];
            a[best + k * m] = x;
        }
        for (int64_t i = c + 1; i < m; i++) column[i] /= column[c];
        for (int64_t k = c + 1; k < n; k++)
            rl_own_axpy(m - c - 1, -a[c + k * m], column + c + 1, a + c + 1 + k * m);
    }
    return info;
}

/* One column of T X = B, or of T^T X = B. */
static void solve_column(bool upper, bool turned, bool unit, int64_t n, const double *a, int64_t ld,
                         double *x) {
    bool down = upper == turned; /* from the first unknown to the last */
    for (int64_t step = 0; step < n; step++) {
        int64_t i = down ? step : n - 1 - step, from = upper ? 0 : i + 1, count = upper ? i : n - 1 - i;
        const double *column = a + i * ld;
        if (turned) x[i] -= rl_own_dot(count, column + from, x + from);
        if (!unit) x[i] /= column[i];
        if (!turned) rl_own_axpy(count, -x[i], column + from, x + from);
    }
}

void rl_own_triangle(rl_job *j, bool left, bool upper, bool turned, bool unit, int64_t m, int64_t n,
                     const void *at, int64_t ld, void *b) {
    const double *a = at;
    double *x = b;
    (void)j;
    if (left) {
        for (int64_t c = 0; c < n; c++) solve_column(upper, turned, unit, m, a, ld, x + c * m);
        return;
    }
    /* X A = B: columns of X, from those of A that have one element */
    bool down = upper != turned;
    for (int64_t step = 0; step < n; step++) {
        int64_t c = down ? step : n - 1 - step;
        for (int64_t i = down ? 0 : c + 1, end = down ? c : n; i < end; i++)
            rl_own_axpy(m, -(turned ? a[c + i * ld] : a[i + c * ld]), x + i * m, x + c * m);
        for (int64_t i = 0; !unit && i < m; i++) x[i + c * m] /= a[c + c * ld];
    }
}

void rl_own_lu_solve(rl_job *j, bool turned, int64_t n, int64_t many, const void *lu, const int *pivots,
                     void *b) {
    double *x = b;
    for (int pass = 0; pass < 3; pass++) {
        if (pass == (turned ? 2 : 0)) {
            for (int64_t step = 0; step < n; step++) {
                int64_t i = turned ? n - 1 - step : step, other = pivots[i] - 1;
                for (int64_t c = 0; other != i && c < many; c++) {
                    double swap = x[i + c * n];
                    x[i + c * n] = x[other + c * n];
                    x[other + c * n] = swap;
                }
            }
            continue;
        }
        bool upper = pass == (turned ? 0 : 2);
        rl_own_triangle(j, true, upper, turned, !upper, n, many, lu, n, b);
    }
}

int64_t rl_own_cholesky(rl_job *j, bool upper, int64_t n, void *at) {
    double *a = at;
    (void)j;
    for (int64_t c = 0; c < n; c++) {
        double *column = a + c * n;
        if (upper) { /* column c of U from those before it */
            for (int64_t i = 0; i < c; i++)
                column[i] = (column[i] - rl_own_dot(i, a + i * n, column)) / a[i + i * n];
            column[c] -= rl_own_dot(c, column, column);
        } else { /* column c of L: all before it are taken off */
            for (int64_t i = 0; i < c; i++) rl_own_axpy(n - c, -a[c + i * n], a + c + i * n, column + c);
        }
        if (!(column[c] > 0)) return c + 1;
        column[c] = sqrt(column[c]);
        for (int64_t i = c + 1; !upper && i < n; i++) column[i] /= column[c];
    }
    return 0;
}

void rl_own_gemm(rl_job *j, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t count,
                 const void *at, const void *bt, void *ct) {
    const double *a = at, *b = bt;
    double *c = ct;
    (void)j;
    for (int64_t k = 0; k < n; k++) {
        double *column = c + k * m;
        for (int64_t i = 0; i < m; i++) column[i] = 0;
        for (int64_t i = 0; !transpose_a && i < count; i++)
            rl_own_axpy(m, transpose_b ? b[k + i * n] : b[i + k * count], a + i * m, column);
        for (int64_t i = 0; transpose_a && i < m; i++)
            for (int64_t l = 0; l < count; l++)
                column[i] += a[l + i * count] * (transpose_b ? b[k + l * n] : b[l + k * count]);
    }
}

/* ---- our own QR by Householder's reflections, with the signs of LAPACK's geqrf ---- */
double rl_own_norm(int64_t n, const double *x) {
    double sum = rl_own_dot(n, x, x), most = 0;
    if (sum > 1e-280 && sum < 1e280) return sqrt(sum);
    for (int64_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    if (most == 0 || isinf(most) || sum != sum) return sum != sum ? sum : most;
    sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] / most * (x[i] / most);
    return most * sqrt(sum);
}

double rl_own_reflect(int64_t n, double *alpha, double *x) {
    double rest = n > 1 ? rl_own_norm(n - 1, x) : 0;
    if (rest == 0) return 0;
    double beta = -copysign(hypot(*alpha, rest), *alpha), below = *alpha - beta, tau = (beta - *alpha) / beta;
    for (int64_t i = 0; i < n - 1; i++) x[i] /= below;
    *alpha = beta;
    return tau;
}

void rl_own_qr(rl_job *j, int64_t m, int64_t n, void *at, void *to) {
    double *a = at, *tau = to;
    (void)j;
    for (int64_t c = 0; c < m && c < n; c++) {
        double *v = a + c + c * m;
        tau[c] = rl_own_reflect(m - c, v, v + 1);
        for (int64_t k = c + 1; tau[c] != 0 && k < n; k++)
            rl_own_reflected(m - c, tau[c], v + 1, a + c + k * m, a + c + 1 + k * m);
    }
}

void rl_own_q_form(rl_job *j, int64_t m, int64_t n, int64_t count, void *at, const void *from) {
    double *a = at;
    const double *tau = from;
    (void)j;
    for (int64_t c = count; c < n; c++)
        for (int64_t i = 0; i < m; i++) a[i + c * m] = i == c;
    for (int64_t c = count - 1; c >= 0; c--) {
        double *v = a + c + c * m;
        for (int64_t k = c + 1; k < n; k++)
            rl_own_reflected(m - c, tau[c], v + 1, a + c + k * m, a + c + 1 + k * m);
        for (int64_t i = 0; i < c; i++) a[i + c * m] = 0;
        v[0] = 1 - tau[c];
        for (int64_t i = 1; i < m - c; i++) v[i] *= -tau[c];
    }
}

/* c H for one reflection from row (of the vector) r on: columns of c are added up */
static void reflect_columns(int64_t m, int64_t n, double tau, const double *v, double *c, double *sum) {
    for (int64_t i = 0; i < m; i++) sum[i] = c[i];
    for (int64_t k = 1; k < n; k++) rl_own_axpy(m, v[k], c + k * m, sum);
    rl_own_axpy(m, -tau, sum, c);
    for (int64_t k = 1; k < n; k++) rl_own_axpy(m, -tau * v[k], sum, c + k * m);
}

void rl_own_q_apply(rl_job *j, bool left, bool turned, int64_t m, int64_t n, int64_t count, const void *at,
                    int64_t ld, const void *from, void *ct) {
    const double *a = at, *tau = from;
    double *c = ct, *sum = left ? NULL : rl_job_work(j, RL_COUNT(m), sizeof *sum);
    if (!left && !sum) return;
    for (int64_t step = 0; step < count; step++) {
        int64_t i = left == turned ? step : count - 1 - step;
        const double *v = a + i + i * ld;
        for (int64_t k = 0; left && k < n; k++)
            rl_own_reflected(m - i, tau[i], v + 1, c + i + k * m, c + i + 1 + k * m);
        if (!left) reflect_columns(m, n - i, tau[i], v, c + i * m, sum);
    }
}

/* Our own factors of symmetric matrices, L D L^T with blocks of one or two in D (Bunch and Kaufman, 1977), as
 * LAPACK's sytrf keeps them: pivots[k] > 0 is a block of one and the row that came to k; two equal negative
 * ones are a block of two, and the row that came to its second. */
static void swap(double *x, double *y) {
    double t = *x;
    *x = *y;
    *y = t;
}

static int64_t largest(int64_t n, const double *x, int64_t step, double *size) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(x[i * step]) > fabs(x[best * step])) best = i;
    *size = n ? fabs(x[best * step]) : 0;
    return best;
}

typedef struct {
    int64_t row, width; /* what comes to the end of the block, and the block's width */
    bool zero;
} pivot;

static pivot pivot_choose(int64_t n, const double *a, int64_t k) {
    const double alpha = (1 + sqrt(17)) / 8, own = fabs(a[k + k * n]);
    double column, row, below;
    int64_t other = k + 1 + largest(n - k - 1, a + k + 1 + k * n, 1, &column);
    if ((own == 0 && column == 0) || own != own) return (pivot){k, 1, true};
    if (own >= alpha * column) return (pivot){k, 1, false};
    largest(other - k, a + other + k * n, n, &row);
    largest(n - other - 1, a + other + 1 + other * n, 1, &below);
    if (below > row) row = below;
    if (own >= alpha * column * (column / row)) return (pivot){k, 1, false};
    return (pivot){other, fabs(a[other + other * n]) >= alpha * row ? 1 : 2, false};
}

static void rows_exchange(int64_t n, double *a, int64_t k, pivot p) {
    int64_t at = k + p.width - 1, other = p.row;
    if (at == other) return;
    for (int64_t i = other + 1; i < n; i++) swap(&a[i + at * n], &a[i + other * n]);
    for (int64_t i = at + 1; i < other; i++) swap(&a[i + at * n], &a[other + i * n]);
    swap(&a[at + at * n], &a[other + other * n]);
    if (p.width == 2) swap(&a[at + k * n], &a[other + k * n]);
}

static void take_one(int64_t n, double *a, int64_t k) {
    double *x = a + k * n, d = 1 / x[k];
    for (int64_t c = k + 1; c < n; c++) rl_own_axpy(n - c, -d * x[c], x + c, a + c + c * n);
    for (int64_t i = k + 1; i < n; i++) x[i] *= d;
}

static void take_two(int64_t n, double *a, int64_t k) {
    double *x = a + k * n, *y = x + n, side = x[k + 1], low = y[k + 1] / side, high = x[k] / side;
    double t = 1 / (low * high - 1) / side;
    for (int64_t c = k + 2; c < n; c++) {
        double p = t * (low * x[c] - y[c]), q = t * (high * y[c] - x[c]);
        rl_own_axpy(n - c, -p, x + c, a + c + c * n);
        rl_own_axpy(n - c, -q, y + c, a + c + c * n);
        x[c] = p;
        y[c] = q;
    }
}

int64_t rl_own_ldl(rl_job *j, int64_t n, void *at, int *pivots) {
    double *a = at;
    int64_t info = 0;
    (void)j;
    for (int64_t k = 0; k < n;) {
        pivot p = pivot_choose(n, a, k);
        rows_exchange(n, a, k, p);
        if (p.zero && !info) info = k + 1;
        if (p.width == 1 && !p.zero) take_one(n, a, k);
        if (p.width == 2) take_two(n, a, k);
        pivots[k] = p.width == 1 ? (int)p.row + 1 : -(int)p.row - 1;
        if (p.width == 2) pivots[k + 1] = pivots[k];
        k += p.width;
    }
    return info;
}

void rl_own_ldl_solve(rl_job *j, int64_t n, int64_t many, const void *at, const int *pivots, void *b) {
    const double *a = at;
    (void)j;
    for (int64_t c = 0; c < many; c++) {
        double *x = (double *)b + c * n;
        for (int64_t k = 0; k < n;) {
            if (pivots[k] > 0) {
                swap(&x[k], &x[pivots[k] - 1]);
                rl_own_axpy(n - k - 1, -x[k], a + k + 1 + k * n, x + k + 1);
                x[k] /= a[k + k * n];
                k++;
                continue;
            }
            const double *p = a + k * n, *q = p + n;
            swap(&x[k + 1], &x[-pivots[k] - 1]);
            rl_own_axpy(n - k - 2, -x[k], p + k + 2, x + k + 2);
            rl_own_axpy(n - k - 2, -x[k + 1], q + k + 2, x + k + 2);
            double side = p[k + 1], high = p[k] / side, low = q[k + 1] / side, det = high * low - 1;
            double first = x[k] / side, second = x[k + 1] / side;
            x[k] = (low * first - second) / det;
            x[k + 1] = (high * second - first) / det;
            k += 2;
        }
        for (int64_t k = n - 1; k >= 0;) {
            int64_t width = pivots[k] > 0 ? 1 : 2;
            for (int64_t i = 0; i < width; i++)
                x[k - i] -= rl_own_dot(n - k - 1, a + k + 1 + (k - i) * n, x + k + 1);
            swap(&x[k], &x[(width == 1 ? pivots[k] : -pivots[k]) - 1]);
            k -= width;
        }
    }
}
