/* Square tiles whose rows become columns, in registers of 16 bytes, which every CPU has or the compiler makes
 * up. */
#ifndef RL_KERNELS_SIMD_TRANSPOSE_H
#define RL_KERNELS_SIMD_TRANSPOSE_H
#include "common.h"

/* lanes of a, and those of b, which are counted on from them */
#ifdef __clang__
#define SIMD_SHUFFLE(T, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SIMD_SHUFFLE(T, a, b, ...) __builtin_shuffle(a, b, (T){__VA_ARGS__})
#endif

/* Of N rows of 16 bytes, row i is interleaved with row i + N / 2, which makes them rows 2 i and 2 i + 1;
 * after log2 N rounds rows are columns. `row` and `col` are the bytes from a row of `to`, a column of `from`,
 * to the next. */
#define SIMD_TILE(bits, N, rounds, low, high)                                                                \
    typedef int##bits##_t simd_tile_##bits __attribute__((vector_size(16)));                                 \
    static inline simd_tile_##bits simd_tile_low_##bits(simd_tile_##bits a, simd_tile_##bits b) {            \
        return SIMD_SHUFFLE(simd_tile_##bits, a, b, SIMD_LANES low);                                         \
    }                                                                                                        \
    static inline simd_tile_##bits simd_tile_high_##bits(simd_tile_##bits a, simd_tile_##bits b) {           \
        return SIMD_SHUFFLE(simd_tile_##bits, a, b, SIMD_LANES high);                                        \
    }                                                                                                        \
    static inline void simd_transpose_tile_##bits(char *to, int64_t row, const char *from, int64_t col) {    \
        simd_tile_##bits a[N], b[N];                                                                         \
        V_UNROLL for (int i = 0; i < N; i++) __builtin_memcpy(&a[i], from + i * col, 16);                    \
        V_UNROLL for (int round = 0; round < rounds; round++) {                                              \
            V_UNROLL for (int i = 0; i < N / 2; i++) {                                                       \
                b[2 * i] = simd_tile_low_##bits(a[i], a[i + N / 2]);                                         \
                b[2 * i + 1] = simd_tile_high_##bits(a[i], a[i + N / 2]);                                    \
            }                                                                                                \
            V_UNROLL for (int i = 0; i < N; i++) a[i] = b[i];                                                \
        }                                                                                                    \
        V_UNROLL for (int i = 0; i < N; i++) __builtin_memcpy(to + i * row, &a[i], 16);                      \
    }
#define SIMD_LANES(...) __VA_ARGS__
SIMD_TILE(8, 16, 4, (0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
          (8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
SIMD_TILE(16, 8, 3, (0, 8, 1, 9, 2, 10, 3, 11), (4, 12, 5, 13, 6, 14, 7, 15))
SIMD_TILE(32, 4, 2, (0, 4, 1, 5), (2, 6, 3, 7))
SIMD_TILE(64, 2, 1, (0, 2), (1, 3))
#undef SIMD_TILE
#undef SIMD_LANES
#endif
