/* Sampling at the places of a grid in vectors: Note [Places of a grid] in kernels/shared/grid.h. */
#ifndef RL_KERNELS_SIMD_GRID_H
#define RL_KERNELS_SIMD_GRID_H
#include "common.h"
#include "kernels/shared/grid.h"

enum { GRID_BLOCK = 64, GRID_CHANNELS = 32 };

/* Contiguous float32: pictures (N, C, volume), a grid (N, places, dims), results (N, C, places). */
typedef struct {
    rl_grid g;
    const float *picture, *grid, *grad;
    float *to;
    int64_t channels, places, volume, blocks; /* blocks of places, or of channels */
} grid_job;

/* What a block of places needs, place by place in lanes; weights that are 0 stand for what lies outside. */
typedef struct {
    int n, count; /* elements of a place; places */
    int32_t at[GRID_MOST][GRID_BLOCK];
    float weight[GRID_MOST][GRID_BLOCK];
} grid_block;
typedef struct {
    grid_block block;
    float slope[3][GRID_MOST][GRID_BLOCK], sum[3][GRID_BLOCK];
} grid_slopes;
#endif
