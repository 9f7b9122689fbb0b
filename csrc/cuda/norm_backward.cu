/* Gradients of normalisations. With h = (x - mean) * scale and g the gradient of the output:
 *
 *     by bias      sum of g                        over what shares an element of bias
 *     by weight    sum of g h
 *     by input     (g w - mean of g w - h * mean of g w h) * scale, means over the group */
#include "lines.h"
#include "norm.h"

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
    norm_back_elements(cuda_walk w, T *out, const T *x, const T *grad, norm_statistics<C> s,
                       const norm_pair<C> *sums, norm_factor weight, C over_count, bool around_zero) {
    CUDA_EACH(i, w) {
        int64_t at[5];
        cuda_walk_seek(w, i, at);
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
    cuda_walk w;
    cuda_dims out;
    cuda_norm_views_make(&v, &j->job, rl_in(k, 1), rl_in(k, 0), j->weight, nullptr);
    cuda_dims_copy(&out, k->out[0]);
    if (j->job.split) cuda_dims_split(&out, 1, j->job.split);
    const rl_view *views[5] = {&out.view, v.view[NORM_X], v.view[NORM_OTHER], v.view[NORM_NUMBER],
                               v.view[NORM_WEIGHT]};
    if (!cuda_walk_make_along(&w, views, 5)) return RL_UNSUPPORTED;
    rl_status status = cuda_norm_statistics_make(k, &j->job, &v, nullptr, false, &s);
    if (status == RL_OK) status = norm_back_sums(k, j, &v, s, &sums);
    if (status != RL_OK) return status;
    CUDA_LAUNCH((norm_back_elements<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(k->out[0], RL_WRITE), (const T *)rl_const_data(rl_in(k, 1)),
                (const T *)rl_const_data(rl_in(k, 0)), s, sums, norm_factor_of(j->weight),
                (C)(1 / (double)(w.numel / v.count)), j->job.around_zero);
    return rl_cuda_end(k);
}

/* `mean` and `spread` may be absent, or empty: then they are found again */
static rl_status norm_back(rl_call *k, norm_back_job j, const rl_view *mean, const rl_view *spread) {
    if (k->out[0]->numel == 0) return cuda_norm_zero(k);
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
    norm_back_job j = {cuda_norm_job_batch(rl_num(k, 8)), rl_in(k, 2), !train};
    j.job.is_variance = !train;
    return norm_back(k, j, rl_in(k, train ? 5 : 3), rl_in(k, train ? 6 : 4));
}
CUDA_KERNEL(cuda_layer_norm_back) {
    const norm_back_job j = {cuda_norm_job_last(rl_in(k, 1), k->arg[2].n, rl_num(k, 6)), rl_in(k, 5), false};
    return norm_back(k, j, rl_in(k, 3), rl_in(k, 4));
}
CUDA_KERNEL(cuda_rms_norm_back) {
    norm_back_job j = {cuda_norm_job_last(rl_in(k, 1), k->arg[2].n, cuda_norm_eps_of(k, 4)), rl_in(k, 3),
                       false};
    j.job.around_zero = true;
    return norm_back(k, j, nullptr, nullptr);
}
CUDA_KERNEL(cuda_group_norm_back) {
    const norm_back_job j = {cuda_norm_job_groups(rl_in(k, 1), rl_int(k, 5), rl_num(k, 6)), rl_in(k, 4),
                             false};
    return norm_back(k, j, rl_in(k, 2), rl_in(k, 3));
}
