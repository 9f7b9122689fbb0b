/* Numbers of the gamma and of the Dirichlet distribution. */
#include "random.h"
#include <float.h>
#include <math.h>

/* G. Marsaglia and W. Tsang, A simple method for generating gamma variables (2000), d being the shape,
 * from 1 up, less 1/3. Of one that is NaN, or so low that nothing would ever be accepted: NaN. */
static double gamma_from(rl_generator *g, double d, double scale) {
    const double c = 1 / sqrt(9 * d);
    if (!(d > 0)) return NAN;
    for (;;) {
        const double x = rl_draw_normal(g), root = 1 + c * x;
        if (root <= 0) continue;
        const double v = root * root * root, u = 1 - rl_draw_double(g), square = x * x;
        if (u < 1 - (double)0.0331f * square * square || log(u) < 0.5 * square + d * (1 - v + log(v)))
            return scale * d * v;
    }
}

/* Below 1, a number of the next shape times a power of a uniform one. What PyTorch computes in the dtype of
 * the shape, C, is rounded to that. */
#define GAMMA(name, C)                                                                                       \
    static double name(rl_generator *g, double given) {                                                      \
        const C third = (C)(1.0f / 3.0f);                                                                    \
        C shape = (C)given;                                                                                  \
        double scale = 1;                                                                                    \
        if (shape == 0) return 0;                                                                            \
        if (shape < 1) {                                                                                     \
            scale = pow(1 - rl_draw_double(g), (double)(1 / shape));                                         \
            shape += 1;                                                                                      \
        }                                                                                                    \
        return gamma_from(g, (double)(C)(shape - third), scale);                                             \
    }
GAMMA(gamma_double, double)
GAMMA(gamma_float, float)

/* not below the smallest normal number */
static double at_least(double x, double least) {
    return x < least ? least : x;
}

static void standard_gamma(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const bool wide = r->dtype == RL_F64;
    double (*one)(rl_generator *, double) = wide ? gamma_double : gamma_float;
    double z[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    for (int64_t i = 0; i < n; i++) {
        const double x = one(r->g, z[i]);
        z[i] = wide ? at_least(x, DBL_MIN) : at_least((float)x, FLT_MIN);
    }
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
}

RL_KERNEL(ref_standard_gamma) {
    const rl_view *shape = rl_in(k, 0);
    rl_random r = {.draw = standard_gamma};
    return rl_random_run(k, &r, &shape, 1);
}

/* numbers of the gamma distribution, divided by their sum, and kept off 0 and 1 */
static void dirichlet_row(rl_generator *g, double *z, int64_t n, bool wide) {
    const double least = wide ? DBL_MIN : (double)FLT_MIN, most = 1 - (wide ? 0x1p-53 : 0x1p-24);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = at_least(gamma_double(g, z[i]), DBL_MIN);
        sum += z[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double part = at_least(z[i] / sum, least);
        z[i] = part > most ? most : part;
    }
}

RL_KERNEL(ref_sample_dirichlet) { /* the last dim is one vector */
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    const int64_t n = x->ndim ? x->shape[x->ndim - 1] : 1;
    rl_random r = {.g = NULL};
    rl_walk w;
    if (out->numel == 0) return RL_OK;
    if (rl_random_begin(k, &r) != RL_OK) return RL_FAIL;
    double *row = k->svc->scratch(k, RL_COUNT(n), sizeof *row);
    if (!row) return RL_FAIL;
    rl_walk_begin(&w, out, RL_WRITE);
    rl_walk_add(&w, x);
    const int last = w.ndim - 1;
    for (int64_t at = 0; at < out->numel; at += n) {
        char *p[] = {w.base[0], w.base[1]};
        rl_walk_seek(&w, at, p);
        rl_row_doubles(x->dtype, p[1], last < 0 ? 0 : w.stride[1][last], n, row);
        dirichlet_row(r.g, row, n, x->dtype == RL_F64);
        rl_row_put_doubles(out->dtype, p[0], last < 0 ? 0 : w.stride[0][last], n, row);
    }
    return RL_OK;
}
