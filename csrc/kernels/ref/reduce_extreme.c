/* Largest and smallest elements and where they are. NaN beats every number; the first of equals wins. */
#include "reduce.h"

static void extreme_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->at[j] = -1; /* nothing seen */
}

#define EXTREME_FOLD(name, T, best, beats)                                                                   \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const T v = x[r * t->width + j], old = t->best[j];                                           \
                if (t->at[j] < 0 || (beats)) t->best[j] = v, t->at[j] = first + r;                           \
            }                                                                                                \
    }
EXTREME_FOLD(max_doubles, double, a, (v > old || (v != v && old == old)))
EXTREME_FOLD(max_ints, int64_t, i, v > old)
EXTREME_FOLD(min_doubles, double, a, (v < old || (v != v && old == old)))
EXTREME_FOLD(min_ints, int64_t, i, v < old)

static bool value_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)t, (void)count, (void)pass, (void)correction;
    return false;
}

static bool place_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)count, (void)pass, (void)correction;
    for (int j = 0; j < t->width; j++) t->i[j] = t->at[j];
    return false;
}

RL_KERNEL(ref_amax) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, value_finish, true, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_amin) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, value_finish, true, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_max_dim) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_min_dim) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_argmax) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, place_finish, false, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_argmin) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, place_finish, false, false};
    return rl_reduce(k, &how, 0);
}

/* ---- both: the smallest in a (or i), the largest in b (or at) ---- */
#define BOTH_FOLD(name, T, least, most, is_nan)                                                              \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const T v = x[r * t->width + j];                                                             \
                const bool wins = first + r == 0 || (is_nan);                                                \
                if (wins || v < t->least[j]) t->least[j] = v;                                                \
                if (wins || v > t->most[j]) t->most[j] = v;                                                  \
            }                                                                                                \
    }
BOTH_FOLD(both_doubles, double, a, b, v != v)
BOTH_FOLD(both_ints, int64_t, i, at, false)

RL_KERNEL(ref_aminmax) {
    static const rl_reduction how = {extreme_start, both_doubles, both_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}
