/* Random numbers of other distributions: Note [Draws] in random.c. All are computed in double. */
#include "random.h"
#include <math.h>

/* ---- one number for each element, of one uniform number each ---- */
static void put_doubles(const rl_random *r, char *const *p, const int64_t *step, int64_t n, const double *z) {
    rl_row_put_doubles(r->dtype, p[0], step[0], n, z);
}

static void exponential(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const double scale = -1 / r->low;
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = scale * log1p(-z[i]);
    put_doubles(r, p, step, n, z);
}

static void geometric(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    const double miss = log(1 - r->low);
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = ceil(log(z[i]) / miss);
    put_doubles(r, p, step, n, z);
}

static void log_normal(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    for (int64_t i = 0; i < n; i++) z[i] = exp(fma(rl_draw_normal(r->g), r->high, r->low));
    put_doubles(r, p, step, n, z);
}

static void cauchy(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    rl_draw_doubles(r->g, z, n);
    for (int64_t i = 0; i < n; i++) z[i] = fma(r->high, tan(3.14159265358979323846 * (z[i] - 0.5)), r->low);
    put_doubles(r, p, step, n, z);
}

#define FILL(name, first, second)                                                                            \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_random r = {.draw = name, .low = first, .high = second};                                          \
        return rl_random_run(k, &r, NULL, 0);                                                                \
    }
FILL(exponential, rl_num(k, 1), 0)
FILL(geometric, rl_num(k, 1), 0)
FILL(log_normal, rl_num(k, 1), rl_num(k, 2))
FILL(cauchy, rl_num(k, 1), rl_num(k, 2))

/* ---- poisson ---- */
/* how often the product of uniform numbers stays above exp(-rate) */
static double poisson_few(rl_generator *g, double rate) {
    const double least = exp(-rate);
    double product = rl_draw_double(g), count = 0;
    for (; product > least; count++) product *= rl_draw_double(g);
    return count;
}

/* Transformed rejection (W. Hoermann, 1993: PTRS), for rates from 10 up */
static double poisson_many(rl_generator *g, double rate) {
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = rl_draw_double(g) - 0.5, v = rl_draw_double(g), us = 0.5 - fabs(u);
        const double count = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= sure) return count;
        if (count < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            -rate + count * log_rate - lgamma(count + 1))
            return count;
    }
}

static void poisson(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double z[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    for (int64_t i = 0; i < n; i++) {
        if (!(z[i] >= 0)) {
            *r->fault = "invalid Poisson rate, expected rate to be non-negative";
            return;
        }
        z[i] = z[i] >= 10 ? poisson_many(r->g, z[i]) : z[i] > 0 ? poisson_few(r->g, z[i]) : 0;
        if (!(z[i] < 0x1p63)) z[i] = -0x1p63; /* PyTorch counts in int64 */
    }
    put_doubles(r, p, step, n, z);
}

RL_KERNEL(ref_poisson) {
    const rl_view *rate = rl_in(k, 0);
    rl_random r = {.draw = poisson};
    return rl_random_run(k, &r, &rate, 1);
}

/* ---- binomial ---- */
/* what Stirling's approximation leaves of log(k!) */
static double stirling_rest(double k) {
    static const double rests[] = {
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
        0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
    if (k <= 9) return rests[(int)k];
    const double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

/* What is computed of count and chance alone is rounded to their dtype, C */
#define BINOMIAL(name, C, LOG1P)                                                                             \
    /* how many geometric steps fit into count */                                                            \
    static double name##_few(rl_generator *g, C count, C chance) {                                           \
        const double miss = (double)(C)(LOG1P(-chance));                                                     \
        double steps = 0, found = -1;                                                                        \
        for (; steps <= (double)count; found++) steps += ceil(log(rl_draw_double(g)) / miss);                \
        return found;                                                                                        \
    }                                                                                                        \
    /* Transformed rejection (W. Hoermann, 1993: BTRS), where count * chance >= 10 */                        \
    static double name##_many(rl_generator *g, C count, C chance) {                                          \
        const C product = (C)(count * chance), rest = (C)(1 - chance), variance = (C)(product * rest);       \
        const double deviation = (double)(C)(sqrt((double)variance)),                                        \
                     m = floor((C)((C)(count + 1) * chance));                                                \
        const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * (double)chance;          \
        const double c = (double)product + 0.5, sure = 0.92 - 4.2 / b;                                       \
        const double odds = (double)(C)(chance / rest), alpha = (2.83 + 5.1 / b) * deviation;                \
        const double n = (double)count, n_1 = (double)(C)(count + 1);                                        \
        for (;;) {                                                                                           \
            const double u = rl_draw_double(g) - 0.5, v = rl_draw_double(g), us = 0.5 - fabs(u);             \
            const C k = (C)(floor((2 * a / us + b) * u + c));                                                \
            if (k < 0 || k > count) continue;                                                                \
            if (us >= 0.07 && v <= sure) return (double)k;                                                   \
            const double left = (double)(C)(count - k), left_1 = (double)(C)(left + 1);                      \
            const double most =                                                                              \
                (m + 0.5) * log((m + 1) / (odds * (n - m + 1))) + n_1 * log((n - m + 1) / left_1) +          \
                ((double)k + 0.5) * log(odds * left_1 / (double)(C)(k + 1)) + stirling_rest(m) +             \
                stirling_rest(n - m) - stirling_rest((double)k) - stirling_rest(left);                       \
            if (log(v * alpha / (a / (us * us) + b)) <= most) return (double)k;                              \
        }                                                                                                    \
    }                                                                                                        \
    static double name(rl_generator *g, double count_, double chance_) {                                     \
        const C count = (C)count_, chance = (C)chance_, rest = (C)(1 - chance);                              \
        if (count <= 0 || chance <= 0) return 0;                                                             \
        if (chance >= 1) return count_;                                                                      \
        if (!(count < (C)INFINITY) || chance != chance) return NAN;                                          \
        if (chance <= (C)0.5)                                                                                \
            return (C)(count * chance) >= 10 ? name##_many(g, count, chance) : name##_few(g, count, chance); \
        return count_ -                                                                                      \
               ((C)(count * rest) >= 10 ? name##_many(g, count, rest) : name##_few(g, count, rest));         \
    }
BINOMIAL(binomial_double, double, log1p)
BINOMIAL(binomial_float, float, log1pf)

static void binomial(const rl_random *r, char *const *p, const int64_t *step, int64_t n) {
    double (*one)(rl_generator *, double, double) = r->dtype == RL_F64 ? binomial_double : binomial_float;
    double z[RL_DRAWS], chance[RL_DRAWS];
    rl_row_doubles(r->given, p[1], step[1], n, z);
    rl_row_doubles(r->given, p[2], step[2], n, chance);
    for (int64_t i = 0; i < n; i++) z[i] = one(r->g, z[i], chance[i]);
    put_doubles(r, p, step, n, z);
}

RL_KERNEL(ref_binomial) {
    const rl_view *const given[] = {rl_in(k, 0), rl_in(k, 1)};
    rl_random r = {.draw = binomial};
    return rl_random_run(k, &r, given, 2);
}
