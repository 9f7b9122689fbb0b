/* How numbers that were drawn change with the parameters of their distributions:
 * kernels/shared/random_gradients.h. */
#include "random.h"
#include "kernels/shared/random_gradients.h"

enum { CHUNK = 128, MOST = 3 };
typedef double (*of_numbers)(const double *x);
typedef struct {
    int dtype, n_in;
    of_numbers of;
} gradients;

static void strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const gradients *job = ctx;
    double in[MOST][CHUNK], out[CHUNK];
    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < CHUNK ? n - at : CHUNK;
        for (int i = 0; i < job->n_in; i++)
            rl_row_doubles(job->dtype, p[i + 1] + at * step[i + 1], step[i + 1], m, in[i]);
        for (int64_t i = 0; i < m; i++) {
            const double x[MOST] = {in[0][i], in[1][i], job->n_in > 2 ? in[2][i] : 0};
            out[i] = job->of(x);
        }
        rl_row_put_doubles(job->dtype, p[0] + at * step[0], step[0], m, out);
    }
}

static rl_status each(rl_call *k, int n_in, of_numbers of) {
    const gradients job = {.dtype = k->out[0]->dtype, .n_in = n_in, .of = of};
    rl_walk w;
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_walk_add(&w, rl_in(k, i));
    rl_walk_each(k, &w, 50, strip, &job);
    return RL_OK;
}

RL_KERNEL(ref_standard_gamma_grad) {
    return each(k, 2, gamma_gradient);
}

RL_KERNEL(ref_dirichlet_grad) {
    return each(k, 3, dirichlet_gradient);
}
