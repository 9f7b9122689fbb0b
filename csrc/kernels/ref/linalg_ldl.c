/* Our own factors of symmetric matrices, L D L^T with blocks of one or two in D (Bunch and Kaufman, 1977), as
 * LAPACK's sytrf keeps them: pivots[k] > 0 is a block of one and the row that came to k; two equal negative
 * ones are a block of two, and the row that came to its second. */
#include "linalg.h"
#include <math.h>

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
