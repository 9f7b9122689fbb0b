/* Normalisations and their gradients: statistics of groups, then the elements. */
#include "cuda/reduce/lines.cuh"
#include "cuda/reduce/reduce.cuh"
#include "strided_iterator.cuh"
#include <float.h>
#include <math.h>

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
    cuda_subview dims[NORM_VIEWS];
    const rl_view *view[NORM_VIEWS];
    int64_t count; /* of groups */
} norm_views;

/* of each group */
template <class C> struct norm_statistics {
    C *mean, *scale, *variance; /* variance NULL: not asked for */
};
/* Where they are kept as results: NULL, or mean and scale. */
typedef struct {
    int dtype;
    void *mean, *scale;
} norm_kept;

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

/* ==== forward ==== */
/* ---- which dims ---- */
static norm_job norm_job_last(const rl_view *x, int n, double eps) {
    norm_job j = {};
    j.groups = ((uint64_t)1 << (x->ndim - n)) - 1;
    j.weights = ~j.groups;
    j.eps = eps;
    return j;
}
static norm_job norm_job_batch(double eps) {
    norm_job j = {};
    j.groups = j.weights = 2;
    j.eps = eps;
    return j;
}
static norm_job norm_job_groups(const rl_view *x, int64_t groups, double eps) {
    norm_job j = {};
    const bool is_split = groups != x->shape[1];
    j.groups = 3;
    j.weights = is_split ? 6 : 2;
    j.split = is_split ? (int)groups : 0;
    j.eps = eps;
    return j;
}
/* of rms_norm */
static double norm_eps_of(const rl_call *k, int arg) {
    if (k->arg[arg].tag != RL_NONE) return rl_num(k, arg);
    return k->out[0]->dtype == RL_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* x, a tensor of its dims, the numbers of the groups, weight and bias or NULL */
static void norm_views_make(norm_views *v, const norm_job *j, const rl_view *x, const rl_view *other,
                            const rl_view *weight, const rl_view *bias) {
    const uint64_t own = j->split ? 2 : j->weights; /* before the channels are split */
    const rl_view *factors[2] = {weight ? weight : x, bias ? bias : x};
    cuda_subview_copy(&v->dims[NORM_X], x);
    cuda_subview_copy(&v->dims[NORM_OTHER], other);
    for (int i = 0; i < 2; i++) cuda_subview_spread(&v->dims[NORM_WEIGHT + i], factors[i], x, own);
    for (int i = 0; i < NORM_VIEWS && j->split; i++)
        if (i != NORM_NUMBER) cuda_subview_split(&v->dims[i], 1, j->split);
    cuda_subview_number(&v->dims[NORM_NUMBER], &v->dims[NORM_X].view, j->groups);
    v->count = 1;
    for (int i = 0; i < NORM_VIEWS; i++) v->view[i] = &v->dims[i].view;
    for (int d = 0; d < v->view[NORM_X]->ndim; d++)
        if (j->groups >> d & 1) v->count *= v->view[NORM_X]->shape[d];
}

/* results but the first, where there are no elements */
static rl_status norm_zero(rl_call *k) {
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    for (int i = 1; i < k->n_out; i++) {
        const rl_view *v = k->out[i];
        const size_t bytes = (size_t)(v->numel * rl_itemsize(v->dtype));
        if (bytes) cudaMemsetAsync(rl_data(v, RL_WRITE), 0, bytes, (cudaStream_t)k->stream);
    }
    return rl_cuda_end(k);
}

/* ---- statistics ---- */
template <class C> struct norm_fold {
    typedef cuda_moments<C> value_type;
    typedef C number_type;
    bool around_zero;
    C count, eps;
    norm_statistics<C> to;
    norm_kept kept;
    __device__ value_type start() const { return {0, 0, 0}; }
    __device__ value_type take(const value_type &v, C x, int64_t) const {
        if (around_zero) return {0, v.square + x * x, v.count + 1};
        return cuda_moments_take(v, x);
    }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        return cuda_moments_join(a, b);
    }
    __device__ void store(int64_t i, const value_type &v) const {
        const C variance = v.square / count, scale = 1 / sqrt(variance + eps);
        to.mean[i] = v.mean;
        to.scale[i] = scale;
        if (to.variance) to.variance[i] = variance;
        if (kept.mean) cuda_store(kept.dtype, kept.mean, i, v.mean);
        if (kept.scale) cuda_store(kept.dtype, kept.scale, i, scale);
    }
};

/* given ones: each lies anywhere, and may serve several groups */
typedef struct {
    cuda_iter iter;
    int dtype;
    const void *at;
} norm_given;

static bool given_make(norm_given *g, const rl_view *v, int64_t groups) {
    cuda_subview d;
    cuda_subview_copy(&d, v);
    for (int i = d.view.ndim++; i > 0; i--) {
        d.shape[i] = d.shape[i - 1];
        d.strides[i] = d.strides[i - 1];
    }
    d.view.numel = groups;
    d.shape[0] = groups / v->numel;
    d.strides[0] = 0;
    g->dtype = v->dtype;
    g->at = rl_const_data(v);
    const rl_view *view = &d.view;
    return v->ndim < RL_MAX_DIMS && cuda_iter_make(&g->iter, &view, 1);
}

template <class C> __device__ C norm_given_at(const norm_given &g, int64_t i) {
    int64_t at[1];
    cuda_iter_seek(g.iter, i, at);
    return cuda_load<C>(g.dtype, g.at, at[0]);
}
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    norm_take_given(norm_given mean, norm_given spread, bool is_variance, C eps, norm_statistics<C> to) {
    CUDA_EACH(i, mean.iter) {
        const C found = norm_given_at<C>(spread, i);
        to.mean[i] = norm_given_at<C>(mean, i);
        to.scale[i] = is_variance ? 1 / sqrt(found + eps) : found;
    }
}

template <class C>
static rl_status take_given(rl_call *k, const norm_job *j, int64_t groups, const norm_statistics<C> &s) {
    norm_given mean, spread;
    if (!given_make(&mean, j->mean, groups) || !given_make(&spread, j->spread, groups)) return RL_UNSUPPORTED;
    CUDA_LAUNCH((norm_take_given<C>), cuda_blocks_of(groups), CUDA_THREADS, (cudaStream_t)k->stream, mean,
                spread, j->is_variance, (C)j->eps, s);
    return rl_cuda_end(k);
}

template <class C>
static rl_status statistics_make(rl_call *k, const norm_job *j, const norm_views *v, const norm_kept *kept,
                                 bool variance, norm_statistics<C> *s) {
    cuda_reduction r;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    C **const rooms[3] = {&s->mean, &s->scale, &s->variance};
    s->variance = nullptr;
    for (int i = 0; i < 2 + variance; i++)
        if (!(*rooms[i] = (C *)k->svc->scratch(k, rl_count{v->count}, sizeof(C)))) return RL_FAIL;
    if (j->mean) return take_given(k, j, v->count, *s);
    if (!cuda_reduction_make(&r, v->view, 1, ~j->groups, false)) return RL_UNSUPPORTED;
    return cuda_reduce(
        k, r, norm_fold<C>{j->around_zero, (C)r.reduced.numel, (C)j->eps, *s, kept ? *kept : norm_kept{}});
}
/* finds them, or takes the given ones */
static rl_status norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v,
                                      const norm_kept *kept, bool variance, norm_statistics<float> *s) {
    return statistics_make(k, j, v, kept, variance, s);
}
static rl_status norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v,
                                      const norm_kept *kept, bool variance, norm_statistics<double> *s) {
    return statistics_make(k, j, v, kept, variance, s);
}

/* ---- running statistics: towards the mean of those of the samples ---- */
typedef struct {
    int dtype;
    void *mean, *variance;
    int64_t mean_step, variance_step, samples, channels;
} norm_running;
template <class C> __device__ void norm_move(int dtype, void *p, int64_t i, C momentum, C to) {
    cuda_store(dtype, p, i, (1 - momentum) * cuda_load<C>(dtype, p, i) + momentum * to);
}
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    norm_run(norm_running r, norm_statistics<C> s, C momentum, C factor) {
    CUDA_EACH_OF(c, r.channels) {
        C mean = 0, variance = 0;
        for (int64_t n = 0; n < r.samples; n++) {
            mean += s.mean[n * r.channels + c];
            variance += s.variance[n * r.channels + c];
        }
        norm_move(r.dtype, r.mean, c * r.mean_step, momentum, mean / (C)r.samples);
        norm_move(r.dtype, r.variance, c * r.variance_step, momentum, factor * variance / (C)r.samples);
    }
}

/* the arguments 3 and 4; `count`: elements of each group */
template <class C> static void run(rl_call *k, const norm_statistics<C> &s, int64_t groups, int64_t count) {
    const rl_view *mean = rl_in(k, 3), *variance = rl_in(k, 4);
    const int64_t channels = mean->numel;
    const norm_running r = {mean->dtype,
                            rl_data(mean, RL_WRITE),
                            rl_data(variance, RL_WRITE),
                            mean->ndim == 1 ? mean->strides[0] : 1,
                            variance->ndim == 1 ? variance->strides[0] : 1,
                            groups / channels,
                            channels};
    /* channels that share memory follow each other, as on the CPU */
    const bool alone = rl_view_expanded(mean) || rl_view_expanded(variance);
    CUDA_LAUNCH((norm_run<C>), alone ? 1 : cuda_blocks_of(channels), alone ? 1 : CUDA_THREADS,
                (cudaStream_t)k->stream, r, s, (C)rl_num(k, 6), (C)((double)count / (double)(count - 1)));
}

/* ---- the elements: operands are the output, the input, the number of the group, weight, bias ---- */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    norm_elements(cuda_iter w, T *out, const T *x, norm_statistics<C> s, norm_factor weight,
                  norm_factor bias) {
    CUDA_EACH(i, w) {
        int64_t at[5];
        cuda_iter_seek(w, i, at);
        const C y = (cuda_cast<C>(x[at[1]]) - s.mean[at[2]]) * s.scale[at[2]];
        out[at[0]] = cuda_cast<T>(y * norm_load<T, C>(weight, at[3], 1) + norm_load<T, C>(bias, at[4], 0));
    }
}

template <class T, class C>
static rl_status norm_as(rl_call *k, const norm_job *j, const norm_kept *kept, const rl_view *weight,
                         const rl_view *bias, bool moves) {
    norm_views v;
    norm_statistics<C> s;
    cuda_iter w;
    norm_views_make(&v, j, rl_in(k, 0), k->out[0], weight, bias);
    const rl_view *views[5] = {v.view[NORM_OTHER], v.view[NORM_X], v.view[NORM_NUMBER], v.view[NORM_WEIGHT],
                               v.view[NORM_BIAS]};
    if (!cuda_iter_make_along(&w, views, 5)) return RL_UNSUPPORTED;
    const rl_status status = norm_statistics_make(k, j, &v, kept, moves, &s);
    if (status != RL_OK) return status;
    if (moves) run(k, s, v.count, w.numel / v.count);
    CUDA_LAUNCH((norm_elements<T, C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(k->out[0], RL_WRITE), (const T *)rl_const_data(rl_in(k, 0)), s,
                norm_factor_of(weight), norm_factor_of(bias));
    return rl_cuda_end(k);
}

/* `moves`: arguments 3 and 4 are running statistics, which follow */
static rl_status norm(rl_call *k, norm_job j, const rl_view *weight, const rl_view *bias, bool moves) {
    norm_kept kept = {};
    if (k->out[0]->numel == 0) return norm_zero(k);
    if (k->n_out == 3 && k->out[1]->numel) {
        kept.dtype = k->out[1]->dtype;
        kept.mean = rl_data(k->out[1], RL_WRITE);
        kept.scale = rl_data(k->out[2], RL_WRITE);
    }
    switch (k->out[0]->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: return norm_as<T, C>(k, &j, &kept, weight, bias, moves);
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}

/* arguments 1 to 5: weight, bias, running statistics, whether those of the batch are used */
static rl_status norm_running_or_not(rl_call *k, norm_job j) {
    const bool training = rl_int(k, 5);
    if (!training) {
        j.mean = rl_in(k, 3);
        j.spread = rl_in(k, 4);
        j.is_variance = true;
    }
    return norm(k, j, rl_in(k, 1), rl_in(k, 2), training && rl_in(k, 3));
}
CUDA_KERNEL(cuda_batch_norm) {
    return norm_running_or_not(k, norm_job_batch(rl_num(k, 7)));
}
CUDA_KERNEL(cuda_instance_norm) {
    return norm_running_or_not(k, norm_job_groups(rl_in(k, 0), rl_in(k, 0)->shape[1], rl_num(k, 7)));
}
CUDA_KERNEL(cuda_layer_norm) {
    return norm(k, norm_job_last(rl_in(k, 0), (int)k->attr[0], rl_num(k, 4)), rl_in(k, 2), rl_in(k, 3),
                false);
}
CUDA_KERNEL(cuda_rms_norm) {
    norm_job j = norm_job_last(rl_in(k, 0), (int)k->attr[0], norm_eps_of(k, 3));
    j.around_zero = true;
    return norm(k, j, rl_in(k, 2), nullptr, false);
}
CUDA_KERNEL(cuda_group_norm) {
    return norm(k, norm_job_groups(rl_in(k, 0), rl_int(k, 1), rl_num(k, 4)), rl_in(k, 2), rl_in(k, 3), false);
}
CUDA_KERNEL(cuda_native_group_norm) {
    return norm(k, norm_job_groups(rl_in(k, 0), rl_int(k, 6), rl_num(k, 7)), rl_in(k, 1), rl_in(k, 2), false);
}

/* Gradients of normalisations. With h = (x - mean) * scale and g the gradient of the output:
 *
 *     by bias      sum of g                        over what shares an element of bias
 *     by weight    sum of g h
 *     by input     (g w - mean of g w - h * mean of g w h) * scale, means over the group */
template <class C> struct norm_pair {
    C p, q; /* sums of g and of g h */
};

/* operands: the gradient, x, the number of the group, weight */
template <class C> struct norm_pair_fold {
    typedef norm_pair<C> value_type;
    enum { OPERANDS = 4 };
    int dtype, out_dtype;
    const void *grad, *x;
    norm_statistics<C> s;
    norm_factor weight;
    bool weighs; /* each element; else the answers in `sums` */
    int64_t weight_step;
    value_type *sums; /* NULL: not asked for, as the others */
    void *by_weight, *by_bias;
    __device__ C weight_at(int64_t i) const {
        return !weight.at ? 1 : cuda_load<C>(weight.is_float ? (int)RL_F32 : dtype, weight.at, i);
    }
    __device__ value_type start() const { return {0, 0}; }
    __device__ value_type value(const int64_t (&at)[OPERANDS]) const {
        C g = cuda_load<C>(dtype, grad, at[0]);
        if (weighs) g *= weight_at(at[3]);
        return {g, g * (cuda_load<C>(dtype, x, at[1]) - s.mean[at[2]]) * s.scale[at[2]]};
    }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        return {a.p + b.p, a.q + b.q};
    }
    __device__ void store(int64_t i, const value_type &v) const {
        const C w = weighs ? 1 : weight_at(i * weight_step);
        if (sums) sums[i] = {w * v.p, w * v.q};
        if (by_weight) cuda_store(out_dtype, by_weight, i, v.q);
        if (by_bias) cuda_store(out_dtype, by_bias, i, v.p);
    }
};

/* operands: the gradient of x, x, the gradient, the number of the group, weight */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    norm_back_elements(cuda_iter w, T *out, const T *x, const T *grad, norm_statistics<C> s,
                       const norm_pair<C> *sums, norm_factor weight, C over_count, bool around_zero) {
    CUDA_EACH(i, w) {
        int64_t at[5];
        cuda_iter_seek(w, i, at);
        const int64_t group = at[3];
        const C scale = s.scale[group], g = cuda_cast<C>(grad[at[2]]) * norm_load<T, C>(weight, at[4], 1);
        const C h = (cuda_cast<C>(x[at[1]]) - s.mean[group]) * scale;
        const C p = sums && !around_zero ? sums[group].p * over_count : 0,
                q = sums ? sums[group].q * over_count : 0;
        out[at[0]] = cuda_cast<T>(scale * (g - p - h * q));
    }
}

typedef struct {
    norm_job job;
    const rl_view *weight;
    bool frozen; /* statistics that do not depend on the input */
} norm_back_job;

/* sums over what shares a group, and over what shares an element of weight: for batch_norm the same */
template <class C>
static rl_status norm_back_sums(rl_call *k, const norm_back_job *j, const norm_views *v,
                                const norm_statistics<C> &s, norm_pair<C> **sums) {
    const rl_view *views[4] = {v->view[NORM_OTHER], v->view[NORM_X], v->view[NORM_NUMBER],
                               v->view[NORM_WEIGHT]};
    const bool is_once = j->job.groups == j->job.weights;
    norm_pair_fold<C> fold = {rl_in(k, 1)->dtype,
                              k->out[1]->dtype,
                              rl_const_data(rl_in(k, 0)),
                              rl_const_data(rl_in(k, 1)),
                              s,
                              norm_factor_of(j->weight),
                              !is_once,
                              0,
                              nullptr,
                              nullptr,
                              nullptr};
    cuda_reduction r;
    *sums = nullptr;
    if (!j->frozen && !(*sums = (norm_pair<C> *)k->svc->scratch(k, rl_count{v->count}, sizeof(norm_pair<C>))))
        return RL_FAIL;
    fold.sums = *sums;
    if (j->weight && j->weight->ndim == 1) fold.weight_step = j->weight->strides[0];
    if (!is_once) {
        if (!cuda_reduction_make(&r, views, 4, ~j->job.groups, false)) return RL_UNSUPPORTED;
        const rl_status status = cuda_reduce(k, r, fold);
        if (status != RL_OK) return status;
        fold.weighs = false;
        fold.sums = nullptr;
    }
    fold.by_weight = rl_data(k->out[1], RL_WRITE);
    fold.by_bias = k->n_out == 3 ? rl_data(k->out[2], RL_WRITE) : nullptr;
    if (!cuda_reduction_make(&r, views, 4, ~j->job.weights, false)) return RL_UNSUPPORTED;
    return cuda_reduce(k, r, fold);
}

template <class T, class C> static rl_status norm_back_as(rl_call *k, const norm_back_job *j) {
    norm_views v;
    norm_statistics<C> s;
    norm_pair<C> *sums;
    cuda_iter w;
    cuda_subview out;
    norm_views_make(&v, &j->job, rl_in(k, 1), rl_in(k, 0), j->weight, nullptr);
    cuda_subview_copy(&out, k->out[0]);
    if (j->job.split) cuda_subview_split(&out, 1, j->job.split);
    const rl_view *views[5] = {&out.view, v.view[NORM_X], v.view[NORM_OTHER], v.view[NORM_NUMBER],
                               v.view[NORM_WEIGHT]};
    if (!cuda_iter_make_along(&w, views, 5)) return RL_UNSUPPORTED;
    rl_status status = norm_statistics_make(k, &j->job, &v, nullptr, false, &s);
    if (status == RL_OK) status = norm_back_sums(k, j, &v, s, &sums);
    if (status != RL_OK) return status;
    CUDA_LAUNCH((norm_back_elements<T, C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(k->out[0], RL_WRITE), (const T *)rl_const_data(rl_in(k, 1)),
                (const T *)rl_const_data(rl_in(k, 0)), s, sums, norm_factor_of(j->weight),
                (C)(1 / (double)(w.numel / v.count)), j->job.around_zero);
    return rl_cuda_end(k);
}

/* `mean` and `spread` may be absent, or empty: then they are found again */
static rl_status norm_back(rl_call *k, norm_back_job j, const rl_view *mean, const rl_view *spread) {
    if (k->out[0]->numel == 0) return norm_zero(k);
    if (mean && spread && mean->numel && spread->numel) {
        j.job.mean = mean;
        j.job.spread = spread;
    }
    switch (k->out[0]->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag: return norm_back_as<T, C>(k, &j);
        CUDA_FLOAT_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
}

CUDA_KERNEL(cuda_batch_norm_back) {
    const bool train = rl_int(k, 7);
    norm_back_job j = {norm_job_batch(rl_num(k, 8)), rl_in(k, 2), !train};
    j.job.is_variance = !train;
    return norm_back(k, j, rl_in(k, train ? 5 : 3), rl_in(k, train ? 6 : 4));
}
CUDA_KERNEL(cuda_layer_norm_back) {
    const norm_back_job j = {norm_job_last(rl_in(k, 1), k->arg[2].n, rl_num(k, 6)), rl_in(k, 5), false};
    return norm_back(k, j, rl_in(k, 3), rl_in(k, 4));
}
CUDA_KERNEL(cuda_rms_norm_back) {
    norm_back_job j = {norm_job_last(rl_in(k, 1), k->arg[2].n, norm_eps_of(k, 4)), rl_in(k, 3), false};
    j.job.around_zero = true;
    return norm_back(k, j, nullptr, nullptr);
}
CUDA_KERNEL(cuda_group_norm_back) {
    const norm_back_job j = {norm_job_groups(rl_in(k, 1), rl_int(k, 5), rl_num(k, 6)), rl_in(k, 4), false};
    return norm_back(k, j, rl_in(k, 2), rl_in(k, 3));
}
