/* Normalisation: statistics of groups, then the elements. */
#include "norm.h"
#include "lines.h"
#include <float.h>
#include <math.h>

/* ---- which dims ---- */
norm_job cuda_norm_job_last(const rl_view *x, int n, double eps) {
    norm_job j = {};
    j.groups = ((uint64_t)1 << (x->ndim - n)) - 1;
    j.weights = ~j.groups;
    j.eps = eps;
    return j;
}
norm_job cuda_norm_job_batch(double eps) {
    norm_job j = {};
    j.groups = j.weights = 2;
    j.eps = eps;
    return j;
}
norm_job cuda_norm_job_groups(const rl_view *x, int64_t groups, double eps) {
    norm_job j = {};
    const bool is_split = groups != x->shape[1];
    j.groups = 3;
    j.weights = is_split ? 6 : 2;
    j.split = is_split ? (int)groups : 0;
    j.eps = eps;
    return j;
}
double cuda_norm_eps_of(const rl_call *k, int arg) {
    if (k->arg[arg].tag != RL_NONE) return rl_num(k, arg);
    return k->out[0]->dtype == RL_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

void cuda_norm_views_make(norm_views *v, const norm_job *j, const rl_view *x, const rl_view *other,
                          const rl_view *weight, const rl_view *bias) {
    const uint64_t own = j->split ? 2 : j->weights; /* before the channels are split */
    const rl_view *factors[2] = {weight ? weight : x, bias ? bias : x};
    cuda_dims_copy(&v->dims[NORM_X], x);
    cuda_dims_copy(&v->dims[NORM_OTHER], other);
    for (int i = 0; i < 2; i++) cuda_dims_spread(&v->dims[NORM_WEIGHT + i], factors[i], x, own);
    for (int i = 0; i < NORM_VIEWS && j->split; i++)
        if (i != NORM_NUMBER) cuda_dims_split(&v->dims[i], 1, j->split);
    cuda_dims_number(&v->dims[NORM_NUMBER], &v->dims[NORM_X].view, j->groups);
    v->count = 1;
    for (int i = 0; i < NORM_VIEWS; i++) v->view[i] = &v->dims[i].view;
    for (int d = 0; d < v->view[NORM_X]->ndim; d++)
        if (j->groups >> d & 1) v->count *= v->view[NORM_X]->shape[d];
}

rl_status cuda_norm_zero(rl_call *k) {
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
    cuda_walk walk;
    int dtype;
    const void *at;
} norm_given;

static bool given_make(norm_given *g, const rl_view *v, int64_t groups) {
    cuda_dims d;
    cuda_dims_copy(&d, v);
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
    return v->ndim < RL_MAX_DIMS && cuda_walk_make(&g->walk, &view, 1);
}

template <class C> __device__ C norm_given_at(const norm_given &g, int64_t i) {
    int64_t at[1];
    cuda_walk_seek(g.walk, i, at);
    return cuda_load<C>(g.dtype, g.at, at[0]);
}
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    norm_take_given(norm_given mean, norm_given spread, bool is_variance, C eps, norm_statistics<C> to) {
    CUDA_EACH(i, mean.walk) {
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
rl_status cuda_norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v, const norm_kept *kept,
                                    bool variance, norm_statistics<float> *s) {
    return statistics_make(k, j, v, kept, variance, s);
}
rl_status cuda_norm_statistics_make(rl_call *k, const norm_job *j, const norm_views *v, const norm_kept *kept,
                                    bool variance, norm_statistics<double> *s) {
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
    norm_elements(cuda_walk w, T *out, const T *x, norm_statistics<C> s, norm_factor weight,
                  norm_factor bias) {
    CUDA_EACH(i, w) {
        int64_t at[5];
        cuda_walk_seek(w, i, at);
        const C y = (cuda_cast<C>(x[at[1]]) - s.mean[at[2]]) * s.scale[at[2]];
        out[at[0]] = cuda_cast<T>(y * norm_load<T, C>(weight, at[3], 1) + norm_load<T, C>(bias, at[4], 0));
    }
}

template <class T, class C>
static rl_status norm_as(rl_call *k, const norm_job *j, const norm_kept *kept, const rl_view *weight,
                         const rl_view *bias, bool moves) {
    norm_views v;
    norm_statistics<C> s;
    cuda_walk w;
    cuda_norm_views_make(&v, j, rl_in(k, 0), k->out[0], weight, bias);
    const rl_view *views[5] = {v.view[NORM_OTHER], v.view[NORM_X], v.view[NORM_NUMBER], v.view[NORM_WEIGHT],
                               v.view[NORM_BIAS]};
    if (!cuda_walk_make_along(&w, views, 5)) return RL_UNSUPPORTED;
    const rl_status status = cuda_norm_statistics_make(k, j, &v, kept, moves, &s);
    if (status != RL_OK) return status;
    if (moves) run(k, s, v.count, w.numel / v.count);
    CUDA_LAUNCH((norm_elements<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(k->out[0], RL_WRITE), (const T *)rl_const_data(rl_in(k, 0)), s,
                norm_factor_of(weight), norm_factor_of(bias));
    return rl_cuda_end(k);
}

/* `moves`: arguments 3 and 4 are running statistics, which follow */
static rl_status norm(rl_call *k, norm_job j, const rl_view *weight, const rl_view *bias, bool moves) {
    norm_kept kept = {};
    if (k->out[0]->numel == 0) return cuda_norm_zero(k);
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
    return norm_running_or_not(k, cuda_norm_job_batch(rl_num(k, 7)));
}
CUDA_KERNEL(cuda_instance_norm) {
    return norm_running_or_not(k, cuda_norm_job_groups(rl_in(k, 0), rl_in(k, 0)->shape[1], rl_num(k, 7)));
}
CUDA_KERNEL(cuda_layer_norm) {
    return norm(k, cuda_norm_job_last(rl_in(k, 0), (int)k->attr[0], rl_num(k, 4)), rl_in(k, 2), rl_in(k, 3),
                false);
}
CUDA_KERNEL(cuda_rms_norm) {
    norm_job j = cuda_norm_job_last(rl_in(k, 0), (int)k->attr[0], cuda_norm_eps_of(k, 3));
    j.around_zero = true;
    return norm(k, j, rl_in(k, 2), nullptr, false);
}
CUDA_KERNEL(cuda_group_norm) {
    return norm(k, cuda_norm_job_groups(rl_in(k, 0), rl_int(k, 1), rl_num(k, 4)), rl_in(k, 2), rl_in(k, 3),
                false);
}
CUDA_KERNEL(cuda_native_group_norm) {
    return norm(k, cuda_norm_job_groups(rl_in(k, 0), rl_int(k, 6), rl_num(k, 7)), rl_in(k, 1), rl_in(k, 2),
                false);
}
