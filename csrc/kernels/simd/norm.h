/* What the norms share: the mean and the squared distances of numbers that were summed in spans. */
#ifndef RL_KERNELS_SIMD_NORM_H
#define RL_KERNELS_SIMD_NORM_H
#include "floats.h"

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
const rl_norm_runs *rl_norm_runs_get(const rl_call *k); /* NULL when the CPU has no AVX2 */

static const double NORM_NS = 0.3; /* a number */

static inline bool norm_is_float(const rl_view *v) {
    return !v || v->dtype == RL_F32;
}
/* The numbers of a weight, a bias or a statistic, side by side; `missing` where there is none. NULL
 * (reported) without memory. */
const float *rl_norm_vector(rl_call *k, const rl_view *v, int64_t n, float missing);
#endif
