/* The error function's kin, and what is made of logarithms: https://docs.pytorch.org/docs/2.13/special.html
 */
#include "special.h"
#include "kernels/shared/special_error.h"

rl_status rl_special_each(rl_call *k, int n_in, const rl_strip *strips, double ns, rl_numbers *numbers) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    rl_walk w;
    if (k->out[0]->dtype != dtype) return rl_eltwise(k, n_in, strips, -1, numbers);
    rl_walk_begin(&w, k->out[0], RL_WRITE);
    for (int i = 0; i < n_in; i++) rl_walk_add(&w, k->arg[i].u.t);
    rl_walk_each(k, &w, ns, strips[dtype], numbers);
    return RL_OK;
}

/* ---- the error function ---- */
static double ndtr(double x) {
    return erfc(-M_SQRT1_2 * x) / 2;
}

/* (2 pi)^(1/2) (p - 1/2) to the inverse's value, by its square: the Taylor series */
static const double ndtri_near[] = {1, 1.0 / 6, 7.0 / 120, 127.0 / 5040};

/* A guess good to 5e-4 (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.2.23), then
 * Halley's steps, each of which triples the digits. Near 1/2 all goes by the distance from there. */
static double ndtri(double p, int steps) {
    const double away = p - 0.5, q = away < 0 ? p : 1 - p, slope = M_2_SQRTPI * M_SQRT1_2 / 2;
    const bool near = q > 0.25;
    if (!(q > 0)) return q == 0 ? copysign((double)INFINITY, away) : (double)NAN;
    double x, t = near ? fabs(away) / slope : sqrt(-2 * log(q));
    if (near)
        x = t * SERIES(t * t, ndtri_near);
    else
        x = t -
            (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < steps; i++) {
        double miss = near ? fabs(away) - erf(M_SQRT1_2 * x) / 2 : erfc(M_SQRT1_2 * x) / 2 - q;
        double step = miss / (exp(-x * x / 2) * slope);
        x += step / (1 - x * step / 2);
    }
    return copysign(x, away);
}

/* ---- logarithms ---- */
static double entr(double x) {
    if (x > 0) return -x * log(x);
    return x == 0 ? 0 : x < 0 ? -(double)INFINITY : x;
}
static double xlog1py(double x, double y) {
    return y != y ? y : x == 0 ? 0 : x * log1p(y);
}
/* log(z / (1 - z)); 2z - 1 is exact near its zero */
static double logit(double z) {
    return fabs(z - 0.5) < 0.25 ? log1p((2 * z - 1) / (1 - z)) : log(z / (1 - z));
}

/* ---- sines ---- */
static double sinc(double x) {
    return x == 0 ? 1 : special_sinpi(x) / (M_PI * x);
}
static double spherical_bessel_j0(double x) {
    return x == 0 ? 1 : isinf(x) ? 0 : sin(x) / x;
}

SPECIAL_UNARY(special_erfcx, 50, erfcx_of)
SPECIAL_UNARY(special_ndtr, 20, ndtr)
SPECIAL_UNARY(special_log_ndtr, 50, log_ndtr)
RL_EACH_FLOAT(RL_UNARY_KEEP, x_special_ndtri, (C)ndtri((double)a, sizeof(C) == sizeof(double) ? 2 : 1))
SPECIAL_KERNEL(special_ndtri, 1, 60, NULL)
SPECIAL_UNARY(special_entr, 10, entr)
SPECIAL_BINARY(special_xlog1py, 15, xlog1py)
SPECIAL_UNARY(sinc, 20, sinc)
SPECIAL_UNARY(special_spherical_bessel_j0, 20, spherical_bessel_j0)

/* c->d: what z is limited to; NaN passes */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_logit, (C)logit(a<(C)c->d[0] ? (C)c->d[0] : a>(C) c->d[1] ? (C)c->d[1] : a))
RL_KERNEL(ref_logit) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_logit)};
    const double eps = k->arg[1].tag == RL_NONE ? -INFINITY : rl_num(k, 1);
    rl_numbers numbers = {.d = {eps, 1 - eps}};
    return rl_special_each(k, 1, strips, 15, &numbers);
}
