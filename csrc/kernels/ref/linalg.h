/* Our own factorisations: portable, in double, column by column, with the signs of LAPACK's. */
#ifndef RL_KERNELS_REF_LINALG_H
#define RL_KERNELS_REF_LINALG_H
#include "kernels/shared/factors.h"

/* y += f * x */
static inline void rl_own_axpy(int64_t n, double f, const double *x, double *y) {
    if (f == 0) return;
    RL_IVDEP for (int64_t i = 0; i < n; i++) y[i] += f * x[i];
}
/* in four sums, which no order of threads changes */
static inline double rl_own_dot(int64_t n, const double *x, const double *y) {
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int s = 0; s < 4; s++) sum[s] += x[i + s] * y[i + s];
    for (; i < n; i++) sum[0] += x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
double rl_own_norm(int64_t n, const double *x); /* without overflow on the way */

/* A reflection H = I - tau v v', v = [1, x], that makes [alpha, x] (n elements) [beta, 0]: alpha becomes
 * beta, x the rest of v; answers tau, 0 when x is zero already. */
double rl_own_reflect(int64_t n, double *alpha, double *x);
/* H times a column whose first element is *first and whose others are y */
static inline void rl_own_reflected(int64_t n, double tau, const double *x, double *first, double *y) {
    double sum = tau * (*first + rl_own_dot(n - 1, x, y));
    *first -= sum;
    rl_own_axpy(n - 1, -sum, x, y);
}
/* columns p and q turn: p = c p + s q, q = c q - s p */
static inline void rl_own_turn(int64_t n, double c, double s, double *p, double *q) {
    RL_IVDEP for (int64_t i = 0; i < n; i++) {
        double x = p[i], y = q[i];
        p[i] = c * x + s * y;
        q[i] = c * y - s * x;
    }
}

/* The eigenvalues of a symmetric tridiagonal, ascending: d its diagonal, e beside it, which is destroyed; 0,
 * or how many were not found. */
int64_t rl_own_tridiagonal(int64_t n, double *d, double *e);
int64_t rl_own_lu(rl_job *j, int64_t m, int64_t n, void *a, int *pivots);
void rl_own_lu_solve(rl_job *j, bool turned, int64_t n, int64_t many, const void *lu, const int *pivots,
                     void *b);
void rl_own_triangle(rl_job *j, bool left, bool upper, bool turned, bool unit, int64_t m, int64_t n,
                     const void *a, int64_t ld, void *b);
int64_t rl_own_cholesky(rl_job *j, bool upper, int64_t n, void *a);
int64_t rl_own_ldl(rl_job *j, int64_t n, void *a, int *pivots);
void rl_own_ldl_solve(rl_job *j, int64_t n, int64_t many, const void *a, const int *pivots, void *b);
void rl_own_qr(rl_job *j, int64_t m, int64_t n, void *a, void *tau);
void rl_own_q_form(rl_job *j, int64_t m, int64_t n, int64_t count, void *a, const void *tau);
void rl_own_q_apply(rl_job *j, bool left, bool turned, int64_t m, int64_t n, int64_t count, const void *a,
                    int64_t ld, const void *tau, void *c);
int64_t rl_own_eigh(rl_job *j, bool vectors, bool upper, int64_t n, void *a, void *w);
int64_t rl_own_svd(rl_job *j, bool full, int64_t m, int64_t n, void *a, void *s, void *u, void *vt);
int64_t rl_own_eig(rl_job *j, int64_t n, void *a, void *real, void *imaginary, void *v);
void rl_own_gemm(rl_job *j, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t count,
                 const void *a, const void *b, void *c);
#endif
