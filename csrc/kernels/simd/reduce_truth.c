/* Any and all: C loops over the bits of elements, which the compiler turns into vectors. */
#include "reduce.h"
#ifdef RL_SIMD_X86
/* A run is left as soon as its answer is known, and so is the rest of what the state has to see. */
#define TRUTH(D, T, is_true, name, known, start, op)                                                         \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            for (int64_t at = 0, m; at < n && s->a[j].i != known; at += m) {                                 \
                T found = start;                                                                             \
                m = simd_min(n - at, FOLD_SHORT);                                                            \
                for (int64_t i = at; i < at + m; i++) {                                                      \
                    const T x = p[i];                                                                        \
                    found = (T)(found op(is_true));                                                          \
                }                                                                                            \
                s->a[j].i = found;                                                                           \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T found[FOLD_TILE];                                                                                  \
        for (int j = 0; j < width; j++) found[j] = (T)s->a[j].i;                                             \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = p[j];                                                                            \
                found[j] = (T)(found[j] op(is_true));                                                        \
            }                                                                                                \
        }                                                                                                    \
        for (int j = 0; j < width; j++) s->a[j].i = found[j];                                                \
    }
FOLD_EACH_TRUTH(TRUTH, any, 1, 0, |)
FOLD_EACH_TRUTH(TRUTH, all, 0, 1, &)

#define ENTRY(D, T, is_true, name) FOLD_ENTRY(D, name, D)
static const fold_code any_code[2][RL_NDTYPES] = {{FOLD_EACH_TRUTH(ENTRY, any)},
                                                  {FOLD_EACH_TRUTH(ENTRY, any)}};
static const fold_code all_code[2][RL_NDTYPES] = {{FOLD_EACH_TRUTH(ENTRY, all)},
                                                  {FOLD_EACH_TRUTH(ENTRY, all)}};
FOLD_JOIN(join_any, i, fold_most_whole)
FOLD_JOIN(join_all, i, fold_least_whole)

RL_KERNEL(simd_any) {
    static const fold_reduction how = {.code = any_code, .ints.join = join_any, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_all) {
    static const fold_reduction how = {
        .code = all_code, .ints = {.a.i = 1, .join = join_all}, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}
#else
#define REFUSES(kernel)                                                                                      \
    RL_KERNEL(simd_##kernel) {                                                                               \
        (void)k;                                                                                             \
        return RL_UNSUPPORTED;                                                                               \
    }
REFUSES(any)
REFUSES(all)
#endif
