/* Between the files of the matrix product: what one thread does (product_gemm.c) and how threads share it
 * (product_blocks.c). */
#ifndef RL_KERNELS_SIMD_PRODUCT_BLOCKS_H
#define RL_KERNELS_SIMD_PRODUCT_BLOCKS_H
#include "product_gemm.h"

/* What is packed before a piece begins. */
typedef struct {
    const char *a; /* strips from row m0 on, of all of k; NULL: a piece packs its own, or none are packed */
    const char *b; /* panels from p0 on, of all of k; NULL: B is used where it lies */
    int64_t m0, p0;
} rl_gemm_packed;

/* rows [m0, m1), at most RL_GEMM_MB, of panels [p0, p1) */
void rl_gemm_piece(const rl_gemm_plan *plan, const rl_gemm_data *at, const rl_gemm_packed *packed, int64_t m0,
                   int64_t m1, int64_t p0, int64_t p1, char *room, rl_gemm_parts parts);
/* What pieces want of a room; `ahead`: strips are packed before. */
rl_gemm_parts rl_gemm_piece_layout(rl_layout *l, const rl_gemm_plan *plan, bool ahead);
/* panels [i0, i1) of all of k, of B at `b` */
void rl_gemm_pack_panels(const rl_gemm_plan *plan, const void *b, int64_t i0, int64_t i1, char *to);

/* columns [j0, j1) of a product with few rows; `rows` is A as rl_gemm_thin_copy leaves it, or NULL */
void rl_gemm_thin(const rl_gemm_plan *plan, const rl_gemm_data *at, const char *rows, char *sums, int64_t j0,
                  int64_t j1);
bool rl_gemm_thin_copies(const rl_gemm_plan *plan);
rl_count rl_gemm_thin_count(const rl_gemm_plan *plan); /* elements of that copy, */
rl_count
rl_gemm_sums_count(const rl_gemm_plan *plan); /* and of the sums of a product that is finished later */
void rl_gemm_thin_copy(const rl_gemm_plan *plan, const void *a, char *to);
#endif
