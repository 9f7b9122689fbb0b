/* The gamma function's logarithm and its derivatives, and the zeta function that they are made of. */
#include "special.h"

/* B(2k) / 2k and B(2k), B the Bernoulli numbers */
static const double digamma_tail[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                      1.0 / 132, -691.0 / 32760, 1.0 / 12};
static const double trigamma_tail[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                       5.0 / 66, -691.0 / 2730, 7.0 / 6};
/* B(2k) / (2k)! */
static const double zeta_tail[] = {1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000,
                                   1.0 / 74724249600,
                                   -3617.0 / 10670622842880000,
                                   43867.0 / 5109094217170944000,
                                   -174611.0 / 802857662698291200000.0,
                                   77683.0 / 14101100039391805440000.0,
                                   -236364091.0 / 1693824136731743669452800000.0};

/* Below 0 by the reflection at 1/2; up to 10 by the recurrence; beyond by Stirling's series. */
double rl_special_digamma(double x) {
    double more = 0;
    if (x == 0) return copysign((double)INFINITY, -x);
    if (x < 0) {
        if (x == trunc(x)) return NAN;
        more = -M_PI / tan(M_PI * (x - rint(x)));
        x = 1 - x;
    }
    for (; x < 10; x++) more -= 1 / x;
    double z = 1 / (x * x);
    return more + log(x) - 0.5 / x - z * SERIES(z, digamma_tail);
}

static double trigamma(double x) {
    double more = 0;
    if (x < 0.5) {
        double sine = special_sinpi(x) / M_PI;
        return 1 / (sine * sine) - trigamma(1 - x);
    }
    for (; x < 12; x++) more += 1 / (x * x);
    double z = 1 / (x * x);
    return more + (1 + 0.5 / x + z * SERIES(z, trigamma_tail)) / x;
}

/* The sum of (q + i)^-s for q > 0: ten terms or up to 9, then Euler and Maclaurin's formula */
static double zeta_of(double s, double q) {
    double term = pow(q, -s), sum = term, at = q;
    for (int i = 0; i < 9 || at <= 9; i++) {
        at += 1;
        term = pow(at, -s);
        sum += term;
        if (term < 0x1p-53 * sum) return sum;
    }
    sum += term * at / (s - 1) - term / 2;
    double factor = 1;
    for (int i = 0; i < SPECIAL_SIZE(zeta_tail); i++) {
        factor *= s + 2 * i;
        term /= at;
        double t = factor * term * zeta_tail[i];
        sum += t;
        if (fabs(t) < 0x1p-53 * sum) break;
        factor *= s + 2 * i + 1;
        term /= at;
    }
    return sum;
}

/* Of q < 0 the terms below 0 are a finite sum, the difference of two infinite ones. */
static double zeta(double s, double q) {
    if (s <= 1) return s == 1 ? (double)INFINITY : (double)NAN;
    if (q > 0 || q != q) return zeta_of(s, q);
    if (q == floor(q)) return INFINITY;
    if (s != floor(s)) return NAN; /* a power of a negative number */
    double part = q - floor(q), below = zeta_of(s, 1 - part) - zeta_of(s, 1 - q);
    return zeta_of(s, part) + (fmod(s, 2) == 1 ? -below : below);
}

SPECIAL_UNARY(lgamma, 25, special_lgamma)
SPECIAL_UNARY(digamma, 40, rl_special_digamma)
SPECIAL_BINARY(special_zeta, 300, zeta)

/* ---- derivatives of digamma: n stands in c->i[0], n! with its sign in c->d[0] ---- */
RL_EACH_FLOAT(RL_UNARY_KEEP, x_trigamma, (C)trigamma((double)a))
RL_EACH_FLOAT(RL_UNARY_KEEP, x_polygamma, (C)(c->d[0] * zeta((double)c->i[0] + 1, (double)a)))

/* polygamma(n, x), and x.polygamma(n): the tensor stands first while it is computed */
RL_KERNEL(ref_polygamma) {
    static const rl_strip strips[3][RL_NDTYPES] = {{RL_EACH_FLOAT(RL_ENTRY, x_digamma)},
                                                   {RL_EACH_FLOAT(RL_ENTRY, x_trigamma)},
                                                   {RL_EACH_FLOAT(RL_ENTRY, x_polygamma)}};
    const bool turned = k->arg[0].tag != RL_TENSOR;
    const int64_t n = rl_int(k, !turned);
    const rl_slot first = k->arg[0];
    rl_numbers numbers = {.d = {(n % 2 ? 1 : -1) * tgamma((double)n + 1)}, .i = {n}};
    if (turned) k->arg[0] = k->arg[1];
    rl_status status = rl_special_each(k, 1, strips[n < 2 ? n : 2], n < 2 ? 40 : 300, &numbers);
    k->arg[0] = first;
    return status;
}

/* ---- log of the gamma function of matrices: p in c->i[0] ---- */
static double mvlgamma(double x, int64_t p) {
    double sum = 0;
    for (int64_t i = 0; i < p; i++) sum += special_lgamma(x - 0.5 * (double)i);
    return sum + 0.25 * (double)p * (double)(p - 1) * log(M_PI);
}
RL_EACH_FLOAT(RL_UNARY_KEEP, x_mvlgamma, (C)mvlgamma((double)a, c->i[0]))
RL_KERNEL(ref_mvlgamma) {
    static const rl_strip strips[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, x_mvlgamma)};
    rl_numbers numbers = {.i = {rl_int(k, 1)}};
    return rl_special_each(k, 1, strips, 25 * (double)numbers.i[0], &numbers);
}
