/* Rows that are normalised by themselves, each number with a weight and a bias of its own. */
#ifndef RL_KERNELS_SIMD_NORM_ROWS_H
#define RL_KERNELS_SIMD_NORM_ROWS_H
#include "norm.h"

typedef struct {
    const float *x, *weight, *bias; /* weight, bias: `period` rows of them that repeat; NULL for 1 and 0 */
    float *to, *mean, *scale;       /* mean, scale (1 / deviation): one a row, or NULL */
    int64_t n, period;
    double eps;
    bool around_zero;         /* rms_norm: no mean, no bias */
    bool strips;              /* x and to are halves: Note [Strips] */
    simd_strip in, made;      /* ... */
    rl_rooms rooms;           /* of each thread then, whose rows begin at ... */
    int64_t read_at, made_at; /* ... */
} rl_norm_rows;
/* RL_UNSUPPORTED without AVX2 */
rl_status rl_norm_rows_run(rl_call *k, rl_norm_rows *j, int64_t rows);

/* Gradients: Note [Rows backward] in norm_rows_back.c */
typedef struct {
    const float *grad, *x, *weight; /* weight: `period` rows that repeat */
    const float *mean, *scale;      /* of each row; scale: 1 / deviation */
    float *to, *found[2];           /* found: mean and scale, when they are to be found */
    bool find, around_zero;
    int64_t rows, n, period, block; /* block: how many rows, a multiple of period */
    double eps;
    double *parts[2];     /* by weight and by bias, of each block; at the end the sums of all in the first */
    bool strips;          /* grad, x and to are halves: Note [Strips] */
    simd_strip halves[3]; /* ... */
    rl_rooms rooms;       /* of each thread, whose parts begin at ... */
    int64_t sums_at[2];   /* ... by weight and by bias, of a stretch; */
    int64_t rows_at[3];   /* ... a row of each of the halves */
} rl_norm_back;
/* what the call gives as mean and 1 / deviation; without them they are found */
rl_status rl_norm_back_statistics(rl_call *k, const rl_view *mean, const rl_view *scale, rl_norm_back *j);
rl_status rl_norm_back_run(rl_call *k, rl_norm_back *j);
#endif
