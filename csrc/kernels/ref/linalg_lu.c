/* Our own factors of square matrices: LU with partial pivoting, Cholesky, triangles; in double. */
#include "linalg.h"
#include <math.h>

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

void rl_own_product(rl_job *j, bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t count, const void *at,
                    const void *bt, void *ct) {
    const double *a = at, *b = bt;
    double *c = ct;
    (void)j;
    for (int64_t k = 0; k < n; k++) {
        double *column = c + k * m;
        for (int64_t i = 0; i < m; i++) column[i] = 0;
        for (int64_t i = 0; !turn_a && i < count; i++)
            rl_own_axpy(m, turn_b ? b[k + i * n] : b[i + k * count], a + i * m, column);
        for (int64_t i = 0; turn_a && i < m; i++)
            for (int64_t l = 0; l < count; l++)
                column[i] += a[l + i * count] * (turn_b ? b[k + l * n] : b[l + k * count]);
    }
}
