/* logsumexp, sums without NaN, counts, and variances together with their means. */
#include "reduce.h"
#include <math.h>

static void zero_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = t->b[j] = 0, t->i[j] = 0;
}

static bool as_is_finish(rl_tile *t, int64_t count, int pass, double number) {
    (void)t, (void)count, (void)pass, (void)number;
    return false;
}

/* ---- the largest element first, then powers below it ---- */
static void powers_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = -INFINITY, t->b[j] = 0;
}

static void powers_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    (void)first;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) {
            double v = x[r * t->width + j];
            if (t->at[0])
                t->b[j] += exp(v - t->mean[j]);
            else if (v > t->a[j] || v != v)
                t->a[j] = v;
        }
}

static bool powers_finish(rl_tile *t, int64_t count, int pass, double number) {
    (void)count, (void)number;
    t->at[0] = 1; /* from now on powers */
    for (int j = 0; j < t->width; j++) {
        if (pass == 0)
            t->mean[j] = isfinite(t->a[j]) ? t->a[j] : 0;
        else
            t->a[j] = t->mean[j] + log(t->b[j]);
    }
    return pass == 0;
}

RL_KERNEL(ref_logsumexp) {
    static const rl_reduction how = {powers_start, powers_doubles, NULL, powers_finish, true, false};
    return rl_reduce(k, &how, 0);
}

/* ---- sums and counts ---- */
static void nansum_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    double numbers[RL_BLOCK];
    for (int64_t i = 0; i < rows * t->width; i++) numbers[i] = x[i] == x[i] ? x[i] : 0;
    rl_sum_doubles(t, numbers, rows, first);
}

RL_KERNEL(ref_nansum) {
    static const rl_reduction how = {zero_start, nansum_doubles, rl_sum_ints, rl_sum_finish, true, false};
    return rl_reduce(k, &how, 0);
}

#define COUNT_FOLD(name, T)                                                                                  \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        (void)first;                                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) t->i[j] += x[r * t->width + j] != 0;                          \
    }
COUNT_FOLD(count_doubles, double)
COUNT_FOLD(count_ints, int64_t)

RL_KERNEL(ref_count_nonzero) {
    static const rl_reduction how = {zero_start, count_doubles, count_ints, as_is_finish, false, false};
    return rl_reduce(k, &how, 0);
}

/* ---- variance and mean ---- */
static bool var_mean_finish(rl_tile *t, int64_t count, int pass, double correction) {
    bool again = rl_var_finish(t, count, pass, correction);
    for (int j = 0; !again && j < t->width; j++) t->b[j] = t->mean[j];
    return again;
}

static bool std_mean_finish(rl_tile *t, int64_t count, int pass, double correction) {
    bool again = var_mean_finish(t, count, pass, correction);
    for (int j = 0; !again && j < t->width; j++) t->a[j] = sqrt(t->a[j]);
    return again;
}

RL_KERNEL(ref_var_mean) {
    static const rl_reduction how = {zero_start, rl_var_doubles, NULL, var_mean_finish, true, true};
    return rl_reduce(k, &how, rl_correction(k));
}

RL_KERNEL(ref_std_mean) {
    static const rl_reduction how = {zero_start, rl_var_doubles, NULL, std_mean_finish, true, true};
    return rl_reduce(k, &how, rl_correction(k));
}
