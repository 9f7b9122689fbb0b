/* Panels and strips of Note [Panels] (kernels/simd/gemm/gemm.h), from matrices of any strides and dtype.
 */
#include "gemm.h"
#include "kernels/simd/transpose.h"

/* ---- rows become columns ---- */
static inline void transpose_square(float *t, int64_t step, const float *f, int64_t row) {
    simd_transpose_tile_32((char *)t, step * 4, (const char *)f, row * 4);
}
static inline void transpose_square_double(double *t, int64_t step, const double *f, int64_t row) {
    for (int i = 0; i < 4; i += 2)
        for (int j = 0; j < 4; j += 2)
            simd_transpose_tile_64((char *)(t + j * step + i), step * 8, (const char *)(f + i * row + j),
                                   row * 8);
}

#define TURN(name, T, square)                                                                                \
    static void name(T *to, int64_t step, const T *from, int64_t row, int64_t rows, int64_t n) {             \
        int64_t i = 0;                                                                                       \
        for (; i + 4 <= rows; i += 4) {                                                                      \
            const T *f = from + i * row;                                                                     \
            T *t = to + i;                                                                                   \
            int64_t j = 0;                                                                                   \
            for (; j + 4 <= n; j += 4) square(t + j * step, step, f + j, row);                               \
            for (; j < n; j++)                                                                               \
                for (int r = 0; r < 4; r++) t[j * step + r] = f[r * row + j];                                \
        }                                                                                                    \
        for (; i + 2 <= rows; i += 2)                                                                        \
            for (int64_t j = 0; j < n; j++) {                                                                \
                to[j * step + i] = from[i * row + j];                                                        \
                to[j * step + i + 1] = from[(i + 1) * row + j];                                              \
            }                                                                                                \
        for (; i < rows; i++)                                                                                \
            for (int64_t j = 0; j < n; j++) to[j * step + i] = from[i * row + j];                            \
    }
TURN(transpose_floats, float, transpose_square)
TURN(transpose_doubles, double, transpose_square_double)

void rl_gemm_transpose(float *to, int64_t step, const float *from, int64_t row, int64_t rows, int64_t n) {
    transpose_floats(to, step, from, row, rows, n);
}

static void transpose_any(int size, void *to, int64_t step, const void *from, int64_t row, int64_t rows,
                          int64_t n) {
    if (size == 4)
        transpose_floats(to, step, from, row, rows, n);
    else
        transpose_doubles(to, step, from, row, rows, n);
}

/* ---- one strip or panel of any layout ---- */
#define PACK_PLAIN(name, T)                                                                                  \
    static void name(T *to, int64_t step, const T *from, int64_t outer, int64_t inner, int64_t lanes,        \
                     int64_t n) {                                                                            \
        if (outer == 1 && lanes == step)                                                                     \
            for (int64_t j = 0; j < n; j++, to += step, from += inner)                                       \
                for (int64_t i = 0; i < step; i++) to[i] = from[i];                                          \
        else                                                                                                 \
            for (int64_t j = 0; j < n; j++)                                                                  \
                for (int64_t i = 0; i < lanes; i++) to[j * step + i] = from[i * outer + j * inner];          \
    }
PACK_PLAIN(pack_floats, float)
PACK_PLAIN(pack_doubles, double)

/* Rows of four panels at a time, so that a row is read as a stream; those to come are sent for. */
enum { PACK_PANELS = 4, PACK_AHEAD = 6 };
void rl_gemm_pack_rows(int size, char *to, int64_t step, int64_t nr, const char *from, int64_t row,
                       int64_t whole, int64_t n) {
    const int64_t bytes = nr * size, line = row * size;
    for (int64_t p = 0; p < whole; p += PACK_PANELS) {
        const int64_t count = simd_min(PACK_PANELS, whole - p);
        const char *f = from + p * bytes;
        char *t = to + p * step;
        for (int64_t j = 0; j < n; j++, f += line, t += bytes)
            for (int64_t i = 0; i < count; i++) {
                if (j + PACK_AHEAD < n) {
                    __builtin_prefetch(f + PACK_AHEAD * line + i * bytes);
                    __builtin_prefetch(f + PACK_AHEAD * line + i * bytes + bytes / 2);
                }
                for (int64_t b = 0; b < bytes; b += 64)
                    __builtin_memcpy(t + i * step + b, f + i * bytes + b, 64);
            }
    }
}

/* Of four strips at a time, so that a line of memory is read once. */
static inline __attribute__((always_inline)) void pack_strips(const int64_t bytes, char *to, int64_t step,
                                                              const char *from, int64_t line, int64_t whole,
                                                              int64_t n) {
    for (int64_t p = 0; p < whole; p += PACK_PANELS) {
        const int64_t count = simd_min(PACK_PANELS, whole - p);
        const char *f = from + p * bytes;
        char *t = to + p * step;
        for (int64_t j = 0; j < n; j++, f += line, t += bytes)
            for (int64_t i = 0; i < count; i++) __builtin_memcpy(t + i * step, f + i * bytes, (size_t)bytes);
    }
}
/* With lengths that are known where it is compiled a row of a strip is a few moves. */
void rl_gemm_pack_strips(int size, char *to, int64_t mr, const char *from, int64_t row, int64_t whole,
                         int64_t n) {
    const int64_t bytes = mr * size, step = bytes * n, line = row * size;
    switch (bytes) {
    case 24: pack_strips(24, to, step, from, line, whole, n); break;
    case 48: pack_strips(48, to, step, from, line, whole, n); break;
    case 96: pack_strips(96, to, step, from, line, whole, n); break;
    default: pack_strips(bytes, to, step, from, line, whole, n);
    }
}

enum { PACK_LANES = 32, PACK_DEPTH = 64 };

void rl_gemm_pack(const simd_cast_copy *in, int size, char *to, int64_t step, const char *from, int64_t outer,
                  int64_t inner, int64_t lanes, int64_t n) {
    const int64_t item = in->from_item;
    if (!in->convert && inner == 1) {
        transpose_any(size, to, step, from, outer, lanes, n);
    } else if (!in->convert && size == 4) {
        pack_floats((float *)to, step, (const float *)from, outer, inner, lanes, n);
    } else if (!in->convert) {
        pack_doubles((double *)to, step, (const double *)from, outer, inner, lanes, n);
    } else if (outer == 1) {
        for (int64_t j = 0; j < n; j++)
            simd_cast_copy_run(in, to + j * step * size, size, from + j * inner * item, item, lanes);
    } else {
        float rows[PACK_LANES * PACK_DEPTH];
        for (int64_t j = 0; j < n; j += PACK_DEPTH) {
            const int64_t count = simd_min(PACK_DEPTH, n - j);
            for (int64_t i = 0; i < lanes; i++)
                simd_cast_copy_run(in, rows + i * PACK_DEPTH, size, from + (i * outer + j * inner) * item,
                                   inner * item, count);
            transpose_floats((float *)to + j * step, step, rows, PACK_DEPTH, lanes, count);
        }
    }
}

void rl_gemm_pack_a(float *to, int mr, const float *a, int64_t rows, int64_t k, int64_t row, int64_t col) {
    static const simd_cast_copy same = {.to_item = sizeof(float), .from_item = sizeof(float)};
    for (int64_t r = 0; r < rows; r += mr, to += mr * k)
        rl_gemm_pack(&same, sizeof(float), (char *)to, mr, (const char *)(a + r * row), row, col,
                     simd_min(mr, rows - r), k);
}
