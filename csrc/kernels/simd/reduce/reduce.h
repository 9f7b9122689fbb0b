/* Reductions: one engine (kernels/simd/reduce/reduce.c) walks over any strides and any dims, and folds take
 * blocks. */
#ifndef RL_KERNELS_SIMD_REDUCE_REDUCE_H
#define RL_KERNELS_SIMD_REDUCE_REDUCE_H
#include "kernels/simd/common.h"

/* Note [Folds]
 * A state belongs to `width` neighbouring outputs and holds two cells for each. Elements come to it in two
 * forms, whichever the strides favour:
 *
 *   along    n elements of each output, side by side in memory   a few vectors run over the row
 *   across   rows x width elements, the width side by side       each lane is an output
 *
 * `first` is the number of the next element among the reduced ones, `count` how many this state has had.
 * Ranges are cut by sizes alone and their states joined in order: no result depends on the threads. */
enum { FOLD_TILE = 256, FOLD_ROWS = 32, FOLD_SHORT = 1024 };
typedef union {
    double d;
    int64_t i;
} fold_cell;
typedef struct {
    int64_t first, count;
    fold_cell a[FOLD_TILE], b[FOLD_TILE];
} fold_state;
typedef struct {
    /* outputs [j, end), whose rows are `step` bytes apart */
    void (*along)(fold_state *s, int j, int end, const void *x, int64_t n, int64_t step);
    /* at most FOLD_ROWS rows, `step` bytes apart */
    void (*across)(fold_state *s, const void *x, int64_t rows, int64_t step, int width);
} fold_code;
/* What a reduction is for float, and what for integer states. */
typedef struct {
    fold_cell a, b; /* of a state that has had nothing */
    void (*join)(fold_state *s, const fold_state *later, int width);
} fold_kind;
typedef struct {
    const fold_code (*code)[RL_NDTYPES]; /* by instruction set; halves without an entry become floats */
    fold_kind floats, ints;
    void (*finish)(fold_state *s, int width, double number); /* or NULL */
    bool truth;                                              /* states are integers, whatever the dtype */
    bool pair;                                               /* cell b is the last output's value */
    bool places; /* ... and that is where in the order of the elements */
    double ns;   /* an element */
} fold_reduction;
rl_status simd_reduce(rl_call *k, const fold_reduction *how, double number);

/* ---- joins of two values ---- */
static inline double fold_add(double a, double b) {
    return a + b;
}
static inline double fold_times(double a, double b) {
    return a * b;
}
static inline double fold_max(double a, double b) { /* NaN wins */
    return b > a || b != b ? b : a;
}
static inline double fold_min(double a, double b) {
    return b < a || b != b ? b : a;
}
static inline int64_t fold_add_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t fold_times_integer(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t fold_max_integer(int64_t a, int64_t b) {
    return b > a ? b : a;
}
static inline int64_t fold_min_integer(int64_t a, int64_t b) {
    return b < a ? b : a;
}
#define FOLD_JOIN(name, field, join)                                                                         \
    static void name(fold_state *s, const fold_state *later, int width) {                                    \
        for (int j = 0; j < width; j++) s->a[j].field = join(s->a[j].field, later->a[j].field);              \
    }

/* ---- tables: both forms of a fold, for dtype D ---- */
#define FOLD_ENTRY(D, name, suffix)          [RL_##D] = {name##_along_##suffix, name##_across_##suffix},
#define FOLD_FLOATS(name, isa)               FOLD_ENTRY(F32, name, isa) FOLD_ENTRY(F64, name, isa##_f64)
#define FOLD_ISA(isa, torch, has, name, ...) [RL_ISA_##isa] = {FOLD_FLOATS(name, isa) __VA_ARGS__},
#define FOLD_CODE(table, name, ints)         /* float and double vectors, and what stands in `ints` */       \
    static const fold_code table[RL_ISA_END][RL_NDTYPES] = {RL_EACH_ISA(FOLD_ISA, name, ints)};
#define FOLD_ISA_INTS(isa, torch, has, ...) [RL_ISA_##isa] = {__VA_ARGS__},
#define FOLD_CODE_INTS(table, ints)         /* without vectors of their own */                               \
    static const fold_code table[RL_ISA_END][RL_NDTYPES] = {RL_EACH_ISA(FOLD_ISA_INTS, ints)};

/* ---- integers: C loops that the compiler turns into vectors ---- */
#define FOLD_LOOP ISA_BASELINE static
/* x joins acc, both of type T; the state is int64 */
#define FOLD_INTEGER(name, D, T, start, join, expression)                                                    \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            T acc = start;                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                                \
                const T x = p[i];                                                                            \
                acc = (T)(expression);                                                                       \
            }                                                                                                \
            s->a[j].i = join(s->a[j].i, acc);                                                                \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T kept[FOLD_TILE];                                                                                   \
        for (int j = 0; j < width; j++) kept[j] = start;                                                     \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = p[j], acc = kept[j];                                                             \
                kept[j] = (T)(expression);                                                                   \
            }                                                                                                \
        }                                                                                                    \
        for (int j = 0; j < width; j++) s->a[j].i = join(s->a[j].i, kept[j]);                                \
    }

/* ---- whether an element is true ---- */
/* dtype, integer of its size, is x true: floats are but for their sign */
#define FOLD_EACH_TRUTH(X, ...)                                                                              \
    X(BOOL, uint8_t, x != 0, __VA_ARGS__)                                                                    \
    X(U8, uint8_t, x != 0, __VA_ARGS__)                                                                      \
    X(I8, uint8_t, x != 0, __VA_ARGS__)                                                                      \
    X(I16, uint16_t, x != 0, __VA_ARGS__)                                                                    \
    X(I32, uint32_t, x != 0, __VA_ARGS__)                                                                    \
    X(I64, uint64_t, x != 0, __VA_ARGS__)                                                                    \
    X(F16, uint16_t, (uint16_t)(x << 1) != 0, __VA_ARGS__)                                                   \
    X(BF16, uint16_t, (uint16_t)(x << 1) != 0, __VA_ARGS__)                                                  \
    X(F32, uint32_t, (x << 1) != 0, __VA_ARGS__)                                                             \
    X(F64, uint64_t, (x << 1) != 0, __VA_ARGS__)
#endif
