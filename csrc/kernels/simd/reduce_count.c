/* count_nonzero: C loops over the bits of elements, which the compiler turns into vectors. */
#include "reduce.h"
#ifdef RL_SIMD_X86
/* a run of bytes is counted in bytes, so many times BYTE_LANES of them */
enum { BYTE_RUN = 255, BYTE_LANES = 32 };
static __attribute__((target("avx2"))) int64_t count_bytes(const uint8_t *p, int64_t n) {
    int64_t all = 0, i = 0;
    while (i + BYTE_LANES <= n) {
        uint8_t lane[BYTE_LANES] = {0};
        int64_t runs = simd_min((n - i) / BYTE_LANES, BYTE_RUN);
        for (int64_t r = 0; r < runs; r++, i += BYTE_LANES)
            for (int j = 0; j < BYTE_LANES; j++) lane[j] = (uint8_t)(lane[j] + (p[i + j] != 0));
        for (int j = 0; j < BYTE_LANES; j++) all += lane[j];
    }
    for (; i < n; i++) all += p[i] != 0;
    return all;
}
#define COUNT(D, T, is_true, name)                                                                           \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            if (sizeof(T) == 1) {                                                                            \
                s->a[j].i += count_bytes((const uint8_t *)p, n);                                             \
                continue;                                                                                    \
            }                                                                                                \
            for (int64_t at = 0, m; at < n; at += m) {                                                       \
                T found = 0;                                                                                 \
                m = simd_min(n - at, FOLD_SHORT);                                                            \
                for (int64_t i = at; i < at + m; i++) {                                                      \
                    const T x = p[i];                                                                        \
                    found = (T)(found + (is_true));                                                          \
                }                                                                                            \
                s->a[j].i += (int64_t)found;                                                                 \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T found[FOLD_TILE];                                                                                  \
        for (int j = 0; j < width; j++) found[j] = 0;                                                        \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = p[j];                                                                            \
                found[j] = (T)(found[j] + (is_true));                                                        \
            }                                                                                                \
        }                                                                                                    \
        for (int j = 0; j < width; j++) s->a[j].i += (int64_t)found[j];                                      \
    }
FOLD_EACH_TRUTH(COUNT, count)

#define ENTRY(D, T, is_true, name) FOLD_ENTRY(D, name, D)
static const fold_code count_code[2][RL_NDTYPES] = {{FOLD_EACH_TRUTH(ENTRY, count)},
                                                    {FOLD_EACH_TRUTH(ENTRY, count)}};
FOLD_JOIN(join_count, i, fold_add_whole)

RL_KERNEL(simd_count_nonzero) {
    static const fold_reduction how = {
        .code = count_code, .ints.join = join_count, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}
#else
RL_KERNEL(simd_count_nonzero) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
