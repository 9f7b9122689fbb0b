/* Batch normalisation of planes too small for vectors: rows of channels * plane numbers, and every column has
 * its own statistics until those of a channel are joined. */
#ifndef RL_KERNELS_SIMD_NORM_COLUMNS_H
#define RL_KERNELS_SIMD_NORM_COLUMNS_H
#include "norm.h"

/* Note [Columns]
 *
 *             columns ─►  tile │ tile │ ...     A tile of columns stays in registers while a stretch of rows
 *      rows   ┌ stretch ┌──────┬──────┬──       runs; stretches of a block are joined in double, and blocks
 *       │     │         │      │      │         in order. Which blocks there are depends on sizes alone. */
typedef struct {
    const float *x, *grad; /* grad: of gradients, else NULL */
    float *to;
    int64_t rows, columns, block, tiles, tile;   /* block: rows of one; tile: columns */
    const float *center, *scale, *slope, *shift; /* of each column; slope: of gradients */
    double (*parts)[2];                          /* of each column in each block */
} rl_norm_columns;

/* The mean and the squared distances of each column; of gradients the sums of grad and grad * (x - center).
 * They end in the parts of the first block. RL_UNSUPPORTED without AVX2. */
rl_status rl_norm_columns_sum(rl_call *k, rl_norm_columns *j);
/* to = (x - center) * scale + shift; of gradients to = grad * scale - (x - center) * slope - shift */
void rl_norm_columns_apply(rl_call *k, rl_norm_columns *j);
#endif
