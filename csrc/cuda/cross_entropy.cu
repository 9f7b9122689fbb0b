/* Negative log likelihood and its gradient. Reductions: 0 none, 1 mean, 2 sum. */
#include "cuda/reduce/reduce.cuh"
#include "strided_iterator.cuh"

enum { NONE, MEAN };

/* What every place of an image sees: its target, x of class 0 or the gradient, the weight of a class. */
typedef struct {
    const void *target, *x, *weight; /* weight NULL: 1 */
    int64_t classes, ignore, class_step, weight_step;
    bool bytes; /* the target is uint8, not int64 */
    int dtype;
    unsigned *fault;
} nll;

/* false: this place does not count. Nor does a class that there is not, which who waits next hears of. */
static __device__ bool class_at(const nll &l, int64_t i, int64_t *at) {
    *at = l.bytes ? ((const uint8_t *)l.target)[i] : ((const int64_t *)l.target)[i];
    if (*at == l.ignore) return false;
    if ((uint64_t)*at < (uint64_t)l.classes) return true;
    cuda_fault(l.fault, CUDA_FAULT_INDEX);
    return false;
}
template <class C> __device__ C weight_of(const nll &l, int64_t at) {
    return l.weight ? cuda_load<C>(l.dtype, l.weight, at * l.weight_step) : 1;
}
template <class C> __device__ C loss_of(const nll &l, int64_t x, int64_t at) {
    return -weight_of<C>(l, at) * cuda_load<C>(l.dtype, l.x, x + at * l.class_step);
}

/* the arguments from `target` on are target, weight, reduction, ignore_index */
static rl_status nll_begin(rl_call *k, nll *to, int target, const rl_view *x) {
    const rl_view *classes = rl_in(k, target), *weight = rl_in(k, target + 1);
    nll l = {};
    if (rl_cuda_begin(k, x) != RL_OK || !(l.fault = rl_cuda_fault(k))) return RL_FAIL;
    l.target = rl_const_data(classes);
    l.x = rl_const_data(x);
    l.classes = k->attr[1];
    l.ignore = rl_int(k, target + 3);
    l.class_step = x->strides[x->ndim > 1];
    l.bytes = classes->dtype == RL_U8;
    l.dtype = x->dtype;
    if (weight) {
        l.weight = rl_const_data(weight);
        l.weight_step = weight->strides[0];
    }
    *to = l;
    return RL_OK;
}

static uint64_t all_but_classes(const rl_view *x) {
    return ~((uint64_t)1 << (x->ndim > 1));
}

/* ---- forward ---- */
template <class C> struct nll_sums {
    C sum, total; /* of losses, of weights */
};
template <class C> struct nll_fold {
    typedef nll_sums<C> value_type;
    enum { OPERANDS = 2 };
    nll l;
    bool is_mean;
    void *out, *total_weight;
    __device__ value_type start() const { return {0, 0}; }
    __device__ value_type value(const int64_t (&at)[OPERANDS]) const {
        int64_t c;
        if (!class_at(l, at[0], &c)) return start();
        return {loss_of<C>(l, at[1], c), weight_of<C>(l, c)};
    }
    __device__ value_type join(const value_type &a, const value_type &b) const {
        return {a.sum + b.sum, a.total + b.total};
    }
    __device__ void store(int64_t, const value_type &v) const {
        cuda_store(l.dtype, out, 0, is_mean ? v.sum / v.total : v.sum);
        cuda_store(l.dtype, total_weight, 0, v.total);
    }
};

template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) nll_each(nll l, cuda_iter w, void *out, void *total_weight) {
    CUDA_EACH(i, w) {
        int64_t at[3], c;
        cuda_iter_seek(w, i, at);
        cuda_store(l.dtype, out, at[2], class_at(l, at[0], &c) ? loss_of<C>(l, at[1], c) : 0);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) cuda_store<C>(l.dtype, total_weight, 0, 0);
}

/* operands of both: the target, x at class 0 */
template <class C> static rl_status nll_sum(rl_call *k, const nll &l, const rl_view *const *views) {
    cuda_reduction r;
    if (!cuda_reduction_make(&r, views, 2, ~(uint64_t)0, false)) return RL_UNSUPPORTED;
    return cuda_reduce(
        k, r,
        nll_fold<C>{l, rl_int(k, 3) == MEAN, rl_data(k->out[0], RL_WRITE), rl_data(k->out[1], RL_WRITE)});
}
template <class C> static rl_status nll_values(rl_call *k, const nll &l, const rl_view *const *views) {
    cuda_iter w;
    if (!cuda_iter_make(&w, views, 3)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    const unsigned blocks = w.numel ? cuda_iter_blocks(&w) : 1;
    CUDA_LAUNCH((nll_each<C>), blocks, CUDA_THREADS, (cudaStream_t)k->stream, l, w,
                rl_data(k->out[0], RL_WRITE), rl_data(k->out[1], RL_WRITE));
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_nll_loss) {
    const rl_view *x = rl_in(k, 0);
    nll l;
    cuda_subview first, target;
    if (nll_begin(k, &l, 1, x) != RL_OK) return RL_FAIL;
    cuda_subview_pick(&first, x, all_but_classes(x));
    cuda_subview_spread(&target, rl_in(k, 1), &first.view, ~(uint64_t)0);
    const rl_view *views[3] = {&target.view, &first.view, k->out[0]};
    if (rl_int(k, 3) == NONE && x->ndim > 1)
        return x->dtype == RL_F64 ? nll_values<double>(k, l, views) : nll_values<float>(k, l, views);
    return x->dtype == RL_F64 ? nll_sum<double>(k, l, views) : nll_sum<float>(k, l, views);
}

/* ---- backward: operands are the gradient of x, the target, the gradient of the output, the class ---- */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    nll_back(nll l, cuda_iter w, void *to, const void *grad, const void *total_weight) {
    const C factor = total_weight ? 1 / cuda_load<C>(l.dtype, total_weight, 0) : 1;
    CUDA_EACH(i, w) {
        int64_t at[4], c;
        cuda_iter_seek(w, i, at);
        const bool counts = class_at(l, at[1], &c) && c == at[3];
        const C value = counts ? -weight_of<C>(l, c) * (factor * cuda_load<C>(l.dtype, grad, at[2])) : 0;
        cuda_store(l.dtype, to, at[0], value);
    }
}

template <class C> static rl_status nll_backward(rl_call *k, const nll &l, const cuda_iter &w) {
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((nll_back<C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, l, w,
                rl_data(k->out[0], RL_WRITE), rl_const_data(rl_in(k, 0)),
                rl_int(k, 4) == MEAN ? rl_const_data(rl_in(k, 6)) : nullptr);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_nll_loss_backward) {
    const rl_view *out = k->out[0];
    cuda_subview target, grad, number;
    cuda_iter w;
    nll l;
    if (out->numel == 0) return RL_OK;
    cuda_subview_spread(&target, rl_in(k, 2), out, all_but_classes(out));
    cuda_subview_spread(&grad, rl_in(k, 0), out, all_but_classes(out));
    cuda_subview_number(&number, out, ~all_but_classes(out));
    const rl_view *views[4] = {out, &target.view, &grad.view, &number.view};
    if (!cuda_iter_make_along(&w, views, 4)) return RL_UNSUPPORTED;
    if (nll_begin(k, &l, 2, out) != RL_OK) return RL_FAIL;
    return out->dtype == RL_F64 ? nll_backward<double>(k, l, w) : nll_backward<float>(k, l, w);
}
