/* Largest and smallest elements and where they are. NaN beats every number; the first of equals wins. */
#include "reduce.h"
/* does the value beat that of a state? One without a place has had nothing. */
static inline bool is_more(const fold_cell *a, const fold_cell *place, double x) {
    return (place->i < 0) | (x > a->d) | ((x != x) & (a->d == a->d));
}
static inline bool is_less(const fold_cell *a, const fold_cell *place, double x) {
    return (place->i < 0) | (x < a->d) | ((x != x) & (a->d == a->d));
}

#define ISA_IMPL "kernels/simd/reduce/extreme_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

/* ---- integers ---- */
#define EACH_INTEGER(X, ...)                                                                                 \
    X(U8, uint8_t, 0, UINT8_MAX, __VA_ARGS__)                                                                \
    X(I8, int8_t, INT8_MIN, INT8_MAX, __VA_ARGS__)                                                           \
    X(I16, int16_t, INT16_MIN, INT16_MAX, __VA_ARGS__)                                                       \
    X(I32, int32_t, INT32_MIN, INT32_MAX, __VA_ARGS__)                                                       \
    X(I64, int64_t, INT64_MIN, INT64_MAX, __VA_ARGS__)
#define MAX_INTEGER(D, T, low, high, name) FOLD_INTEGER(name, D, T, low, fold_max_integer, x > acc ? x : acc)
#define MIN_INTEGER(D, T, low, high, name) FOLD_INTEGER(name, D, T, high, fold_min_integer, x < acc ? x : acc)
#define BOTH_INTEGER(D, T, low, high, name)                                                                  \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            T min = high, max = low;                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                \
                min = p[i] < min ? p[i] : min;                                                               \
                max = p[i] > max ? p[i] : max;                                                               \
            }                                                                                                \
            s->a[j].i = fold_min_integer(s->a[j].i, min);                                                    \
            s->b[j].i = fold_max_integer(s->b[j].i, max);                                                    \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T min[FOLD_TILE], max[FOLD_TILE];                                                                    \
        for (int j = 0; j < width; j++) min[j] = high, max[j] = low;                                         \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) min[j] = p[j] < min[j] ? p[j] : min[j];                          \
            for (int j = 0; j < width; j++) max[j] = p[j] > max[j] ? p[j] : max[j];                          \
        }                                                                                                    \
        for (int j = 0; j < width; j++) {                                                                    \
            s->a[j].i = fold_min_integer(s->a[j].i, min[j]);                                                 \
            s->b[j].i = fold_max_integer(s->b[j].i, max[j]);                                                 \
        }                                                                                                    \
    }
#define PLACE_INTEGER(D, T, low, high, name, op)                                                             \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            T best = *p;                                                                                     \
            int64_t at = 0;                                                                                  \
            for (int64_t i = 0; i < n; i++) best = p[i] op best ? p[i] : best;                               \
            if (s->b[j].i >= 0 && !(best op s->a[j].i)) continue;                                            \
            while (p[at] != best) at++;                                                                      \
            s->a[j].i = best, s->b[j].i = s->first + at;                                                     \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T best[FOLD_TILE];                                                                                   \
        __builtin_memcpy(best, from, (size_t)width * sizeof(T));                                             \
        for (int64_t r = 1; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) best[j] = p[j] op best[j] ? p[j] : best[j];                      \
        }                                                                                                    \
        for (int j = 0; j < width; j++) {                                                                    \
            const char *p = (const char *)((const T *)from + j);                                             \
            int64_t at = 0;                                                                                  \
            if (s->b[j].i >= 0 && !(best[j] op s->a[j].i)) continue;                                         \
            while (*(const T *)(p + at * step) != best[j]) at++;                                             \
            s->a[j].i = best[j], s->b[j].i = s->first + at;                                                  \
        }                                                                                                    \
    }
#define INTEGER_ENTRY(D, T, low, high, name) FOLD_ENTRY(D, name, D)
EACH_INTEGER(MAX_INTEGER, amax)
EACH_INTEGER(MIN_INTEGER, amin)
EACH_INTEGER(BOTH_INTEGER, aminmax)
EACH_INTEGER(PLACE_INTEGER, place_max, >)
EACH_INTEGER(PLACE_INTEGER, place_min, <)

FOLD_CODE(amax_code, amax, EACH_INTEGER(INTEGER_ENTRY, amax))
FOLD_CODE(amin_code, amin, EACH_INTEGER(INTEGER_ENTRY, amin))
FOLD_CODE(aminmax_code, aminmax, EACH_INTEGER(INTEGER_ENTRY, aminmax))
FOLD_CODE(place_max_code, place_max, EACH_INTEGER(INTEGER_ENTRY, place_max))
FOLD_CODE(place_min_code, place_min, EACH_INTEGER(INTEGER_ENTRY, place_min))

FOLD_JOIN(join_max, d, fold_max)
FOLD_JOIN(join_min, d, fold_min)
FOLD_JOIN(join_max_integer, i, fold_max_integer)
FOLD_JOIN(join_min_integer, i, fold_min_integer)

#define JOIN_BOTH(name, field, min, max)                                                                     \
    static void name(fold_state *s, const fold_state *later, int width) {                                    \
        for (int j = 0; j < width; j++) {                                                                    \
            s->a[j].field = min(s->a[j].field, later->a[j].field);                                           \
            s->b[j].field = max(s->b[j].field, later->b[j].field);                                           \
        }                                                                                                    \
    }
JOIN_BOTH(join_both, d, fold_min, fold_max)
JOIN_BOTH(join_both_integer, i, fold_min_integer, fold_max_integer)

/* the later state wins only with a better value */
#define JOIN_PLACE(name, beats)                                                                              \
    static void name(fold_state *s, const fold_state *later, int width) {                                    \
        for (int j = 0; j < width; j++)                                                                      \
            if (beats) s->a[j] = later->a[j], s->b[j] = later->b[j];                                         \
    }
JOIN_PLACE(join_place_max, is_more(&s->a[j], &s->b[j], later->a[j].d))
JOIN_PLACE(join_place_min, is_less(&s->a[j], &s->b[j], later->a[j].d))
JOIN_PLACE(join_place_max_integer, s->b[j].i<0 || later->a[j].i> s->a[j].i)
JOIN_PLACE(join_place_min_integer, s->b[j].i < 0 || later->a[j].i < s->a[j].i)

#define NS 0.06
RL_KERNEL(simd_amax) {
    static const fold_reduction how = {.code = amax_code,
                                       .floats = {.a.d = -__builtin_inf(), .join = join_max},
                                       .ints = {.a.i = INT64_MIN, .join = join_max_integer},
                                       .ns = NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_amin) {
    static const fold_reduction how = {.code = amin_code,
                                       .floats = {.a.d = __builtin_inf(), .join = join_min},
                                       .ints = {.a.i = INT64_MAX, .join = join_min_integer},
                                       .ns = NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_aminmax) {
    static const fold_reduction how = {
        .code = aminmax_code,
        .floats = {.a.d = __builtin_inf(), .b.d = -__builtin_inf(), .join = join_both},
        .ints = {.a.i = INT64_MAX, .b.i = INT64_MIN, .join = join_both_integer},
        .pair = true,
        .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

/* values and places, or the places alone */
static rl_status place_max(rl_call *k) {
    static const fold_reduction how = {.code = place_max_code,
                                       .floats = {.b.i = -1, .join = join_place_max},
                                       .ints = {.b.i = -1, .join = join_place_max_integer},
                                       .pair = true,
                                       .places = true,
                                       .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

static rl_status place_min(rl_call *k) {
    static const fold_reduction how = {.code = place_min_code,
                                       .floats = {.b.i = -1, .join = join_place_min},
                                       .ints = {.b.i = -1, .join = join_place_min_integer},
                                       .pair = true,
                                       .places = true,
                                       .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_max_dim) {
    return place_max(k);
}
RL_KERNEL(simd_argmax) {
    return place_max(k);
}
RL_KERNEL(simd_min_dim) {
    return place_min(k);
}
RL_KERNEL(simd_argmin) {
    return place_min(k);
}
