/* The matrix product inside linear, matmul and convolution.
 *
 * Note [Panels]
 *   C (m x n) = A (m x k) B (k x n). B is cut into panels of nr columns, A into strips of mr rows:
 *
 *                 ┌ panel ┐                  one tile of C (mr x nr) lives in registers while k runs:
 *           k     │ nr    │                  per step it wants nr numbers of B (contiguous) and one
 *        ┌─────┐  │       │                  number of each row of A (any strides).
 *     mr │strip│  │   B   │  k               packed panel: [k][nr], zero beyond n
 *        ├─────┤  │       │                  packed strip: [k][mr]
 *        │  A  │  └───────┘
 */
#ifndef RL_KERNELS_SIMD_PRODUCT_GEMM_H
#define RL_KERNELS_SIMD_PRODUCT_GEMM_H
#include "contract/kernel.h"

/* Rows of C for one panel and one stretch of k. */
typedef struct {
    int64_t rows, k;
    int cols;      /* valid columns, 1 .. nr */
    bool packed_a; /* strips [k][mr]; a_row and a_col are not used then */
    bool add;      /* C holds the sum so far; else it starts from the biases */
    const float *a, *b;
    int64_t a_strip, a_row, a_col, b_step;
    float *c;
    int64_t c_step;
    const float *row_bias, *col_bias; /* may be NULL */
} rl_panel;

typedef struct {
    int mr, nr;
    void (*panel)(const rl_panel *p);
} rl_gemm_kit;
const rl_gemm_kit *rl_gemm_kit_get(const rl_call *k); /* NULL when the CPU has no AVX2 */

typedef struct {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_col;
    const float *b;      /* full panels: column c at b + c / nr * b_panel, row step b_step */
    const float *b_tail; /* the last n % nr columns, a packed panel */
    int64_t b_panel, b_step;
    float *c;
    int64_t c_step;
    const float *row_bias, *col_bias;
} rl_gemm;

enum {
    RL_GEMM_MB = 72,
    RL_GEMM_KB = 256
}; /* rows and depth of a packed block of A; MB is a multiple of mr */
static const double RL_GEMM_NS = 0.02; /* a multiplication and an addition, in vectors */

/* to[j * step + i] = from[i * row + j] for i < rows, j < n: rows become columns. */
void rl_gemm_turn(float *to, int64_t step, const float *from, int64_t row, int64_t rows, int64_t n);
/* Strips of rows x k numbers: element (i, kk) is a[i * row + kk * col]. */
void rl_gemm_pack_a(float *to, int mr, const float *a, int64_t rows, int64_t k, int64_t row, int64_t col);
/* Panels: element (kk, j) is b[kk * row + j * col]. `to` holds ceil(n / nr) * nr * k floats. */
void rl_gemm_pack_b(float *to, int nr, const float *b, int64_t n, int64_t k, int64_t row, int64_t col);
/* The same by several threads when it is long. */
void rl_gemm_pack_b_shared(rl_call *k, float *to, int nr, const float *b, int64_t n, int64_t depth,
                           int64_t row, int64_t col);

/* Scratch floats that rl_gemm_block wants. */
int64_t rl_gemm_room(const rl_gemm_kit *kit, const rl_gemm *g);
/* Rows [m0, m1) of panels [p0, p1) on this thread. */
void rl_gemm_block(const rl_gemm_kit *kit, const rl_gemm *g, int64_t m0, int64_t m1, int64_t p0, int64_t p1,
                   float *room);
/* All of it, by svc->parallel. RL_FAIL when there is no scratch memory. */
rl_status rl_gemm_run(rl_call *k, const rl_gemm_kit *kit, const rl_gemm *g);
static inline float *rl_gemm_scratch(rl_call *k, rl_count floats) {
    return (float *)k->svc->scratch(k, floats, sizeof(float));
}
#endif
