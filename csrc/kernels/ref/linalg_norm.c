/* Norms of vectors of any order. */
#include "reduce.h"
#include <math.h>

static void zero_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = 0;
}
static void infinite_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = INFINITY;
}

#define NORM_FOLD(name, expr)                                                                                \
    static void name(rl_tile *t, const double *x, int64_t rows, int64_t first) {                             \
        (void)first;                                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const double v = fabs(x[r * t->width + j]), old = t->a[j];                                   \
                t->a[j] = expr;                                                                              \
            }                                                                                                \
    }
NORM_FOLD(count_fold, (old + (v != 0)))
NORM_FOLD(sum_fold, (old + v))
NORM_FOLD(square_fold, (old + v * v))
NORM_FOLD(most_fold, (v > old || v != v ? v : old))
NORM_FOLD(least_fold, (v < old || v != v ? v : old))

/* The first pass only brings the order, which finish() knows: it waits in t->b, the mark in t->at. */
static void power_fold(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    (void)first;
    if (!t->at[0]) return;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) t->a[j] += pow(fabs(x[r * t->width + j]), t->b[0]);
}

static bool power_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)count;
    t->b[0] = order;
    t->at[0] = 1;
    for (int j = 0; pass == 1 && j < t->width; j++) t->a[j] = pow(t->a[j], 1 / order);
    return pass == 0;
}

static bool root_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)count, (void)pass, (void)order;
    for (int j = 0; j < t->width; j++) t->a[j] = sqrt(t->a[j]);
    return false;
}

static bool plain_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)t, (void)count, (void)pass, (void)order;
    return false;
}

RL_KERNEL(ref_vector_norm) {
    static const rl_reduction count = {zero_start, count_fold, NULL, plain_finish, true, false},
                              sum = {zero_start, sum_fold, NULL, plain_finish, true, false},
                              square = {zero_start, square_fold, NULL, root_finish, true, false},
                              most = {zero_start, most_fold, NULL, plain_finish, true, false},
                              least = {infinite_start, least_fold, NULL, plain_finish, true, false},
                              power = {zero_start, power_fold, NULL, power_finish, true, false};
    double order = k->arg[1].tag == RL_NONE || k->arg[1].tag == RL_TEXT ? 2 : rl_num(k, 1);
    const rl_reduction *how = order == 0           ? &count
                              : order == 1         ? &sum
                              : order == 2         ? &square
                              : order == INFINITY  ? &most
                              : order == -INFINITY ? &least
                                                   : &power;
    return rl_reduce(k, how, order);
}
