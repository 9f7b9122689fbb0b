/* Our own QR by Householder's reflections, with the signs of LAPACK's geqrf. */
#include "linalg.h"
#include <math.h>

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
