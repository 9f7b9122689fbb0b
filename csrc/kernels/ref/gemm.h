/* The GEMM under matmul, linear and conv2d. */
#ifndef RL_KERNELS_REF_PRODUCT_GEMM_H
#define RL_KERNELS_REF_PRODUCT_GEMM_H
#include "loops.h"

/* Note [Blocked GEMM]
 *     out[batch][row][col] = sum over depth of a(row, depth) * b(depth, col) + bias
 * is computed in panels that fit the cache: a panel of b is packed into the compute type once for 64 rows of
 * a, four depths of it are added to a row of sums at a time, and the compiler turns that loop into vectors.
 */
enum { RL_PANEL_ROWS = 64, RL_PANEL_DEPTH = 64, RL_PANEL_COLS = 128 };
typedef struct rl_ref_gemm rl_ref_gemm;
struct rl_ref_gemm {
    int dtype;
    int64_t batches, rows, cols, depth;
    /* Packs rows [row, row + rows) x depths [depth, depth + n) as [rows][RL_PANEL_DEPTH] of float, double or
     * int64; and depths x columns as [depth][RL_PANEL_COLS]. */
    void (*pack_a)(const rl_ref_gemm *p, int64_t batch, int64_t row, int64_t rows, int64_t depth, int64_t n,
                   void *panel);
    void (*pack_b)(const rl_ref_gemm *p, int64_t batch, int64_t depth, int64_t n, int64_t col, int64_t cols,
                   void *panel);
    const void *operands; /* theirs */
    const rl_view *bias;  /* or NULL */
    bool bias_by_row;     /* number (batch % bias_groups) * rows + row, else col */
    int64_t bias_groups;
    char *out;      /* contiguous */
    rl_rooms rooms; /* of each thread a panel of a, one of b and their sums, at ... */
    int64_t a, b, sums;
};
rl_status rl_ref_gemm_run(rl_call *k, rl_ref_gemm *p);
/* n elements into the compute type of dtype (float, double, int64) at panel[at] */
void rl_panel_row(int dtype, const char *from, int64_t step, int64_t n, void *panel, int64_t at);
#endif
