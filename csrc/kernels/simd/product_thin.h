/* Products with a few rows: no packing, each number of the matrix is read once. */
#ifndef RL_KERNELS_SIMD_PRODUCT_THIN_H
#define RL_KERNELS_SIMD_PRODUCT_THIN_H
#include "product_gemm.h"

/* c[i * c_row + j * c_col] = sum over depth of x[i * x_row + depth] * w(depth, j), i < rows, where x and c
 * are what it is computed in. For dots w(depth, j) = w[j * w_row + depth], and any c_col; for rows it is
 * w[depth * w_row + j], and c_col is 1. */
typedef struct {
    int64_t rows, k;
    const void *x, *w;
    int64_t x_row, w_row;
    void *c;
    int64_t c_row, c_col;
} rl_thin;

/* columns [j0, j1) */
typedef void (*rl_thin_body)(const rl_thin *t, int64_t j0, int64_t j1);
/* The body for matrices of a dtype, for dots or rows; the CPU has AVX2. */
rl_thin_body rl_thin_body_get(int body);
int rl_thin_body_of(const rl_call *k, int dtype, bool dots);
#endif
