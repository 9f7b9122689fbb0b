/* What normalisations share, forward and backward: Note [CUDA norms]. */
#ifndef RL_CUDA_NORM_H
#define RL_CUDA_NORM_H
#include "dims.h"
#include "reduce_dims.h"

/* Note [CUDA norms]
 * Every normalisation is one of two sets of dims: `groups` number the statistics, `weights` the elements of
 * weight and bias.
 *
 *                      dims                  groups     weights
 *     batch_norm       N  C  ...             1          1
 *     instance_norm    N  C  ...             0 1        1
 *     group_norm       N  G  C/G  ...        0 1        1 2
 *     layer_norm       leading  normalized   leading    normalized
 *
 * A reduction finds the mean and the scale 1 / deviation of each group, then each element is written. */
typedef struct {
    uint64_t groups, weights;
    int split; /* groups that the channels are split into; 0: they are not */
    double eps;
    bool around_zero;             /* rms_norm */
    const rl_view *mean, *spread; /* given statistics, of all groups or again and again; or NULL */
    bool is_variance;             /* the second is a variance, not a scale */
} norm_job;

enum { NORM_X, NORM_OTHER, NORM_NUMBER, NORM_WEIGHT, NORM_BIAS, NORM_VIEWS };
typedef struct {
    cuda_dims dims[NORM_VIEWS];
    const rl_view *view[NORM_VIEWS];
    int64_t count; /* of groups */
} norm_views;

/* x, a tensor of its dims, the numbers of the groups, weight and bias or NULL */
void cuda_norm_views_make(norm_views *v, const norm_job *j, const rl_view *x, const rl_view *other,
                          const rl_view *weight, const rl_view *bias);
rl_status cuda_norm_zero(rl_call *k); /* results but the first, where there are no elements */

/* of each group */
template <class C> struct norm_statistics {
    C *mean, *scale, *variance; /* variance NULL: not asked for */
};
/* Where they are kept as results: NULL, or mean and scale. */
typedef struct {
    int dtype;
    void *mean, *scale;
} norm_kept;
/* finds them, or takes the given ones */
rl_status cuda_norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v, const norm_kept *kept,
                                    bool variance, norm_statistics<float> *s);
rl_status cuda_norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v, const norm_kept *kept,
                                    bool variance, norm_statistics<double> *s);

/* weight or bias: of the input's dtype, or float; `absent` where there is none */
typedef struct {
    const void *at;
    bool is_float;
} norm_factor;
static inline norm_factor norm_factor_of(const rl_view *v) {
    norm_factor f = {v ? rl_const_data(v) : nullptr, v && v->dtype == RL_F32};
    return f;
}
template <class T, class C> __device__ C norm_load(const norm_factor &f, int64_t i, C absent) {
    if (!f.at) return absent;
    return f.is_float ? (C)((const float *)f.at)[i] : cuda_cast<C>(((const T *)f.at)[i]);
}

/* ---- the jobs ---- */
norm_job cuda_norm_job_last(const rl_view *x, int n, double eps);
norm_job cuda_norm_job_batch(double eps);
norm_job cuda_norm_job_groups(const rl_view *x, int64_t groups, double eps);
double cuda_norm_eps_of(const rl_call *k, int arg); /* of rms_norm */
#endif
