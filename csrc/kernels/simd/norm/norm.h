/* What the norms share: the mean and the squared distances of numbers that were summed in spans, and rows. */
#ifndef RL_KERNELS_SIMD_NORM_NORM_H
#define RL_KERNELS_SIMD_NORM_NORM_H
#include "kernels/simd/floats.h"

/* ---- what the norms share: the mean and the squared distances of numbers that were summed in spans ---- */
/* Note [Spans]
 * Lanes are float within a span, spans are joined in double and in order: a mean of 10,000 beside a deviation
 * of 1 keeps its digits, memory is read once, and no sum depends on the number of threads. */
enum { NORM_SPAN = 1024 };

typedef struct {
    double mean, squares; /* squares: the sum of squared distances from the mean */
} norm_moments;

/* of n numbers and m more (Chan et al., 1979) */
static inline norm_moments norm_join(norm_moments a, int64_t n, norm_moments b, int64_t m) {
    double off = b.mean - a.mean, part = (double)m / (double)(n + m);
    return (norm_moments){a.mean + off * part, a.squares + b.squares + off * off * part * (double)n};
}

/* ---- passes over contiguous runs ---- */
typedef struct {
    norm_moments (*moments)(const float *x, int64_t n);
    /* to = (x - center) * scale + shift */
    void (*apply)(const float *x, float *to, int64_t n, float center, float scale, float shift);
    /* adds the sums of grad and of grad * (x - center) */
    void (*dots)(const float *grad, const float *x, int64_t n, float center, double to[2]);
    /* to = grad * scale - (x - center) * slope - shift */
    void (*back)(const float *grad, const float *x, float *to, int64_t n, float center, float scale,
                 float slope, float shift);
} rl_norm_runs;
const rl_norm_runs *rl_norm_runs_get(const rl_call *k); /* NULL without an instruction set */

static const double NORM_NS = 0.3; /* a number */

static inline bool norm_is_float(const rl_view *v) {
    return !v || v->dtype == RL_F32;
}
/* The numbers of a weight, a bias or a statistic, side by side; `missing` where there is none. NULL
 * (reported) without memory. */
const float *rl_norm_vector(rl_call *k, const rl_view *v, int64_t n, float missing);

/* ---- rows that are normalised by themselves, each number with a weight and a bias of its own ---- */
typedef struct {
    const float *x, *weight, *bias; /* weight, bias: `period` rows of them that repeat; NULL for 1 and 0 */
    float *to, *mean, *scale;       /* mean, scale (1 / deviation): one a row, or NULL */
    int64_t n, period;
    double eps;
    bool around_zero;         /* rms_norm: no mean, no bias */
    bool strips;              /* x and to are halves: Note [Rows of halves] */
    simd_half_rows in, made;  /* ... */
    rl_rooms rooms;           /* of each thread then, whose rows begin at ... */
    int64_t read_at, made_at; /* ... */
} rl_norm_rows;
/* RL_UNSUPPORTED without an instruction set */
rl_status rl_norm_rows_run(rl_call *k, rl_norm_rows *j, int64_t rows);

/* Gradients: Note [Rows backward] in rows.c */
typedef struct {
    const float *grad, *x, *weight; /* weight: `period` rows that repeat */
    const float *mean, *scale;      /* of each row; scale: 1 / deviation */
    float *to, *found[2];           /* found: mean and scale, when they are to be found */
    bool find, around_zero;
    int64_t rows, n, period, block; /* block: how many rows, a multiple of period */
    double eps;
    double *parts[2]; /* by weight and by bias, of each block; at the end the sums of all in the first */
    bool strips;      /* grad, x and to are halves: Note [Rows of halves] */
    simd_half_rows halves[3]; /* ... */
    rl_rooms rooms;           /* of each thread, whose parts begin at ... */
    int64_t sums_at[2];       /* ... by weight and by bias, of a stretch; */
    int64_t rows_at[3];       /* ... a row of each of the halves */
} rl_norm_back;
/* what the call gives as mean and 1 / deviation; without them they are found */
rl_status rl_norm_back_statistics(rl_call *k, const rl_view *mean, const rl_view *scale, rl_norm_back *j);
rl_status rl_norm_back_run(rl_call *k, rl_norm_back *j);
#endif
