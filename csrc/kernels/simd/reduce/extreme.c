/* Largest and smallest elements and where they are. NaN beats every number; the first of equals wins. */
#include "reduce.h"
#ifdef RL_SIMD_X86
/* does the value beat that of a state? One without a place has had nothing. */
static inline bool is_more(const fold_cell *a, const fold_cell *place, double x) {
    return (place->i < 0) | (x > a->d) | ((x != x) & (a->d == a->d));
}
static inline bool is_less(const fold_cell *a, const fold_cell *place, double x) {
    return (place->i < 0) | (x < a->d) | ((x != x) & (a->d == a->d));
}

#define FOLD_BODY "extreme_impl.inc"
#include "widths.inc"

/* ---- integers ---- */
#define EACH_WHOLE(X, ...)                                                                                   \
    X(U8, uint8_t, 0, UINT8_MAX, __VA_ARGS__)                                                                \
    X(I8, int8_t, INT8_MIN, INT8_MAX, __VA_ARGS__)                                                           \
    X(I16, int16_t, INT16_MIN, INT16_MAX, __VA_ARGS__)                                                       \
    X(I32, int32_t, INT32_MIN, INT32_MAX, __VA_ARGS__)                                                       \
    X(I64, int64_t, INT64_MIN, INT64_MAX, __VA_ARGS__)
#define MOST_WHOLE(D, T, low, high, name)  FOLD_WHOLE(name, D, T, low, fold_most_whole, x > acc ? x : acc)
#define LEAST_WHOLE(D, T, low, high, name) FOLD_WHOLE(name, D, T, high, fold_least_whole, x < acc ? x : acc)
#define BOTH_WHOLE(D, T, low, high, name)                                                                    \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            T least = high, most = low;                                                                      \
            for (int64_t i = 0; i < n; i++) {                                                                \
                least = p[i] < least ? p[i] : least;                                                         \
                most = p[i] > most ? p[i] : most;                                                            \
            }                                                                                                \
            s->a[j].i = fold_least_whole(s->a[j].i, least);                                                  \
            s->b[j].i = fold_most_whole(s->b[j].i, most);                                                    \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T least[FOLD_TILE], most[FOLD_TILE];                                                                 \
        for (int j = 0; j < width; j++) least[j] = high, most[j] = low;                                      \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) least[j] = p[j] < least[j] ? p[j] : least[j];                    \
            for (int j = 0; j < width; j++) most[j] = p[j] > most[j] ? p[j] : most[j];                       \
        }                                                                                                    \
        for (int j = 0; j < width; j++) {                                                                    \
            s->a[j].i = fold_least_whole(s->a[j].i, least[j]);                                               \
            s->b[j].i = fold_most_whole(s->b[j].i, most[j]);                                                 \
        }                                                                                                    \
    }
#define PLACE_WHOLE(D, T, low, high, name, op)                                                               \
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
#define WHOLE_ENTRY(D, T, low, high, name) FOLD_ENTRY(D, name, D)
EACH_WHOLE(MOST_WHOLE, amax)
EACH_WHOLE(LEAST_WHOLE, amin)
EACH_WHOLE(BOTH_WHOLE, aminmax)
EACH_WHOLE(PLACE_WHOLE, place_most, >)
EACH_WHOLE(PLACE_WHOLE, place_least, <)

FOLD_CODE(amax_code, amax, EACH_WHOLE(WHOLE_ENTRY, amax))
FOLD_CODE(amin_code, amin, EACH_WHOLE(WHOLE_ENTRY, amin))
FOLD_CODE(aminmax_code, aminmax, EACH_WHOLE(WHOLE_ENTRY, aminmax))
FOLD_CODE(place_most_code, place_most, EACH_WHOLE(WHOLE_ENTRY, place_most))
FOLD_CODE(place_least_code, place_least, EACH_WHOLE(WHOLE_ENTRY, place_least))

FOLD_JOIN(join_most, d, fold_most)
FOLD_JOIN(join_least, d, fold_least)
FOLD_JOIN(join_most_whole, i, fold_most_whole)
FOLD_JOIN(join_least_whole, i, fold_least_whole)

#define JOIN_BOTH(name, field, least, most)                                                                  \
    static void name(fold_state *s, const fold_state *later, int width) {                                    \
        for (int j = 0; j < width; j++) {                                                                    \
            s->a[j].field = least(s->a[j].field, later->a[j].field);                                         \
            s->b[j].field = most(s->b[j].field, later->b[j].field);                                          \
        }                                                                                                    \
    }
JOIN_BOTH(join_both, d, fold_least, fold_most)
JOIN_BOTH(join_both_whole, i, fold_least_whole, fold_most_whole)

/* the later state wins only with a better value */
#define JOIN_PLACE(name, beats)                                                                              \
    static void name(fold_state *s, const fold_state *later, int width) {                                    \
        for (int j = 0; j < width; j++)                                                                      \
            if (beats) s->a[j] = later->a[j], s->b[j] = later->b[j];                                         \
    }
JOIN_PLACE(join_place_most, is_more(&s->a[j], &s->b[j], later->a[j].d))
JOIN_PLACE(join_place_least, is_less(&s->a[j], &s->b[j], later->a[j].d))
JOIN_PLACE(join_place_most_whole, s->b[j].i<0 || later->a[j].i> s->a[j].i)
JOIN_PLACE(join_place_least_whole, s->b[j].i < 0 || later->a[j].i < s->a[j].i)

#define NS 0.06
RL_KERNEL(simd_amax) {
    static const fold_reduction how = {.code = amax_code,
                                       .floats = {.a.d = -__builtin_inf(), .join = join_most},
                                       .ints = {.a.i = INT64_MIN, .join = join_most_whole},
                                       .ns = NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_amin) {
    static const fold_reduction how = {.code = amin_code,
                                       .floats = {.a.d = __builtin_inf(), .join = join_least},
                                       .ints = {.a.i = INT64_MAX, .join = join_least_whole},
                                       .ns = NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_aminmax) {
    static const fold_reduction how = {
        .code = aminmax_code,
        .floats = {.a.d = __builtin_inf(), .b.d = -__builtin_inf(), .join = join_both},
        .ints = {.a.i = INT64_MAX, .b.i = INT64_MIN, .join = join_both_whole},
        .pair = true,
        .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

/* values and places, or the places alone */
static rl_status place_most(rl_call *k) {
    static const fold_reduction how = {.code = place_most_code,
                                       .floats = {.b.i = -1, .join = join_place_most},
                                       .ints = {.b.i = -1, .join = join_place_most_whole},
                                       .pair = true,
                                       .places = true,
                                       .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

static rl_status place_least(rl_call *k) {
    static const fold_reduction how = {.code = place_least_code,
                                       .floats = {.b.i = -1, .join = join_place_least},
                                       .ints = {.b.i = -1, .join = join_place_least_whole},
                                       .pair = true,
                                       .places = true,
                                       .ns = 2 * NS};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_max_dim) {
    return place_most(k);
}
RL_KERNEL(simd_argmax) {
    return place_most(k);
}
RL_KERNEL(simd_min_dim) {
    return place_least(k);
}
RL_KERNEL(simd_argmin) {
    return place_least(k);
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(amax)
REFUSES(amin)
REFUSES(aminmax)
REFUSES(max_dim)
REFUSES(argmax)
REFUSES(min_dim)
REFUSES(argmin)
#endif
