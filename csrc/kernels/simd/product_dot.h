/* Products with a few rows: no packing, each number of the matrix is read once. */
#ifndef RL_KERNELS_SIMD_PRODUCT_DOT_H
#define RL_KERNELS_SIMD_PRODUCT_DOT_H
#include "contract/kernel.h"

enum { RL_DOT_ROWS = 4 }; /* up to so many rows of x it beats the packed product */

/* c[i * c_row + j * c_col] = sum_k x[i * x_row + k] * w[j * w_row + k] + bias[j], for i < rows, j < n. */
typedef struct {
    int64_t rows, n, k;
    const float *x, *w, *bias;
    int64_t x_row, w_row;
    float *c;
    int64_t c_row, c_col;
} rl_dot;
rl_status rl_dot_run(rl_call *k, const rl_dot *d); /* RL_UNSUPPORTED without AVX2 */

/* c[i * c_row + j] = sum_k x[i * x_row + k * x_col] * b[k * b_row + j] */
typedef struct {
    int64_t rows, n, k;
    const float *x, *b;
    int64_t x_row, x_col, b_row;
    float *c;
    int64_t c_row;
} rl_fan;
rl_status rl_fan_run(rl_call *k, const rl_fan *f);
#endif
