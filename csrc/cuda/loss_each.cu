/* Losses that work element by element, and their gradients: Note [Element losses] in
 * kernels/ref/loss.c. They compute in float, or in double where the tensors are. */
#include "total.h"

enum {
    MSE,
    L1,
    HUBER,
    SMOOTH_L1,
    SOFT_MARGIN,
    KL_DIV,
    KL_DIV_LOG,
    BCE,
    BCE_LOGITS,
    NONE = 0,
    MEAN = 1 /* reductions */
};

/* ---- values: a is the input, b the target, c and d are weights ---- */
template <class C> static __device__ C bowl(C gap, C border) {
    return gap < border ? (C)0.5 * gap * gap : border * (gap - (C)0.5 * border);
}
template <class C> static __device__ C smooth(C gap, C beta) {
    return beta > 0 ? bowl(gap, beta) / beta : gap;
}
/* outside [0, 1] they are NaN; probabilities_check says that there are such */
template <class C> static __device__ C bce(C p, C target) {
    if (!(p >= 0 && p <= 1 && target >= 0 && target <= 1)) return (C)NAN;
    return (target - 1) * fmax(log1p(-p), (C)-100) - target * fmax(log(p), (C)-100);
}
template <class C> static __device__ C log_sigmoid(C x) {
    return x != x ? x : fmin(x, (C)0) - log1p(exp(-fabs(x)));
}

#define CASE_4(name, expr)                                                                                   \
    CUDA_CASE_OF(name, expr, const C a = x[0][j], b = x[1][j], c = x[2][j], d = x[3][j])
template <class C> struct loss_value : cuda_job<C> {
    enum { INPUTS = 4, VECTOR = sizeof(C) == sizeof(float) ? 4 : 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[4][V], C (&y)[V]) const {
        const C border = this->n[0];
        switch (this->op) {
            CUDA_CASE_2(MSE, (a - b) * (a - b))
            CUDA_CASE_2(L1, fabs(a - b))
            CUDA_CASE_2(HUBER, bowl(fabs(a - b), border))
            CUDA_CASE_2(SMOOTH_L1, smooth(fabs(a - b), border))
            CUDA_CASE_2(SOFT_MARGIN, log1p(exp(-a * b)))
            CUDA_CASE_2(KL_DIV, (b == 0 ? (C)0 : b * log(b)) - b * a)
            CUDA_CASE_2(KL_DIV_LOG, exp(b) * (b - a))
            CUDA_CASE_3(BCE, c * bce(a, b))
            CASE_4(BCE_LOGITS, c * ((1 - b) * a - ((d - 1) * b + 1) * log_sigmoid(a)))
        }
    }
};

/* ---- slopes: a is the gradient of the result, then what the values are of; after a mean `by` is 1 over
 * how many there are ---- */
template <class C> static __device__ C within(C x, C border) { /* NaN stays NaN */
    return x <= -border ? -border : x >= border ? border : x;
}
template <class C> static __device__ C slope_of(C gap, C beta) {
    return gap <= -beta ? (C)-1 : gap >= beta ? (C)1 : gap / beta;
}
template <class C> static __device__ C soft_margin_slope(C x, C target) {
    const C z = exp(-x * target);
    return -target * z / (1 + z);
}
template <class C> static __device__ C bce_slope(C p, C target) {
    return (p - target) / fmax((1 - p) * p, (C)1e-12);
}
template <class C> static __device__ C logits_slope(C x, C target, C positive) {
    return (positive * target + 1 - target) / (1 + exp(-x)) - positive * target;
}

#define CASE_5(name, expr)                                                                                   \
    CUDA_CASE_OF(name, expr, const C a = x[0][j], b = x[1][j], c = x[2][j], d = x[3][j], e = x[4][j])
template <class C> struct loss_slope : cuda_job<C> {
    enum { INPUTS = 5, VECTOR = sizeof(C) == sizeof(float) ? 4 : 1, HAS_INTS = 0 };
    template <int V> __device__ void operator()(const C (&x)[5][V], C (&y)[V]) const {
        const C by = this->n[0], border = this->n[1];
        switch (this->op) {
            CUDA_CASE_3(MSE, 2 * (b - c) * a * by)
            CUDA_CASE_3(L1, ((b > c) - (b < c)) * a * by)
            CUDA_CASE_3(HUBER, within(b - c, border) * a * by)
            CUDA_CASE_3(SMOOTH_L1, slope_of(b - c, border) * a * by)
            CUDA_CASE_3(SOFT_MARGIN, soft_margin_slope(b, c) * a * by)
            CUDA_CASE_OF(KL_DIV, -c * a * by, const C a = x[0][j], c = x[2][j])
            CUDA_CASE_OF(KL_DIV_LOG, -exp(c) * a * by, const C a = x[0][j], c = x[2][j])
            CUDA_CASE_OF(BCE, a * bce_slope(b, c) * d * by, const C a = x[0][j], b = x[1][j], c = x[2][j],
                         d = x[3][j])
            CASE_5(BCE_LOGITS, a * d * by * logits_slope(b, c, e))
        }
    }
};

/* ---- whole calls ---- */
/* the dims that a and b stretch to, as if dense; operators have looked whether they do */
static void stretch(rl_view *all, const rl_view *a, const rl_view *b, int64_t *shape, int64_t *strides) {
    const int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    all->ndim = (uint8_t)ndim;
    all->shape = shape;
    all->strides = strides;
    all->numel = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        const int of_a = d - (ndim - a->ndim), of_b = d - (ndim - b->ndim);
        shape[d] = of_a < 0 || a->shape[of_a] == 1 ? of_b < 0 ? 1 : b->shape[of_b] : a->shape[of_a];
        strides[d] = all->numel;
        all->numel *= shape[d];
    }
}

__global__ void __launch_bounds__(CUDA_THREADS)
    probabilities_check(cuda_walk w, cuda_operand<float> p, cuda_operand<float> target, unsigned *fault) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_walk_seek(w, i, at);
        const float a = cuda_read(p, at[0]), b = cuda_read(target, at[1]);
        if (!(a >= 0 && a <= 1 && b >= 0 && b <= 1)) cuda_fault(fault, CUDA_FAULT_VALUE);
    }
}

/* The CPU looks before it computes; here, who waits next hears of it. */
static rl_status check_probabilities(rl_call *k) {
    const rl_view *views[2] = {rl_in(k, 0), rl_in(k, 1)};
    cuda_walk w;
    if (views[0]->device == RL_CPU || !cuda_can_read(views[0], views[1])) return RL_UNSUPPORTED;
    if (!cuda_walk_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    unsigned *fault = rl_cuda_begin(k, views[0]) == RL_OK ? rl_cuda_fault(k) : nullptr;
    if (!fault) return RL_FAIL;
    CUDA_LAUNCH(probabilities_check, cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                cuda_operand_of<float>(views[0]), cuda_operand_of<float>(views[1]), fault);
    return RL_OK;
}

/* weights: how many arguments behind input and target are weights, which may be None */
static rl_status values(rl_call *k, int op, int weights, int reduction, double number) {
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1), *views[] = {k->out[0], a, b, NULL, NULL};
    const cuda_numbers numbers = {{number}, {}};
    int64_t shape[RL_MAX_DIMS], strides[RL_MAX_DIMS];
    for (int i = 0; i < weights; i++) views[3 + i] = rl_in(k, 2 + i);
    if (rl_int(k, reduction) == NONE) return cuda_elementwise<loss_value>(k, views, op, numbers);
    rl_view all = *a;
    stretch(&all, a, b, shape, strides);
    if (all.numel == a->numel) all = *a; /* whose memory says in which order to go */
    const double divisor = rl_int(k, reduction) == MEAN ? (double)all.numel : 1;
    return a->dtype == RL_F64 ? cuda_total<loss_value<double>, double>(k, views, &all, op, numbers, divisor)
                              : cuda_total<loss_value<float>, float>(k, views, &all, op, numbers, divisor);
}

static rl_status slopes(rl_call *k, int op, int weights, int reduction, double number) {
    const rl_view *out = k->out[0], *views[6] = {out, rl_in(k, 0), rl_in(k, 1), rl_in(k, 2)};
    const double by = rl_int(k, reduction) == MEAN ? 1 / (double)out->numel : 1;
    for (int i = 0; i < weights; i++) views[4 + i] = rl_in(k, 3 + i);
    return cuda_elementwise<loss_slope>(k, views, op, {{by, number}, {}});
}

#define LOSS(name, op, weights, reduction, number)                                                           \
    CUDA_KERNEL(cuda_##name) {                                                                               \
        return values(k, op, weights, reduction, number);                                                    \
    }
#define SLOPE(name, op, weights, reduction, number)                                                          \
    CUDA_KERNEL(cuda_##name##_backward) {                                                                    \
        return slopes(k, op, weights, reduction, number);                                                    \
    }
LOSS(mse_loss, MSE, 0, 2, 0)
SLOPE(mse_loss, MSE, 0, 3, 0)
LOSS(l1_loss, L1, 0, 2, 0)
SLOPE(l1_loss, L1, 0, 3, 0)
LOSS(huber_loss, HUBER, 0, 2, rl_num(k, 3))
SLOPE(huber_loss, HUBER, 0, 3, rl_num(k, 4))
LOSS(smooth_l1_loss, SMOOTH_L1, 0, 2, rl_num(k, 3))
SLOPE(smooth_l1_loss, SMOOTH_L1, 0, 3, rl_num(k, 4))
LOSS(soft_margin_loss, SOFT_MARGIN, 0, 2, 0)
SLOPE(soft_margin_loss, SOFT_MARGIN, 0, 3, 0)
LOSS(kl_div, rl_int(k, 3) ? KL_DIV_LOG : KL_DIV, 0, 2, 0)
SLOPE(kl_div, rl_int(k, 4) ? KL_DIV_LOG : KL_DIV, 0, 3, 0)
CUDA_KERNEL(cuda_binary_cross_entropy) {
    const rl_status status = check_probabilities(k);
    return status == RL_OK ? values(k, BCE, 1, 3, 0) : status;
}
SLOPE(binary_cross_entropy, BCE, 1, 4, 0)
LOSS(binary_cross_entropy_with_logits, BCE_LOGITS, 2, 4, 0)
SLOPE(binary_cross_entropy_with_logits, BCE_LOGITS, 2, 5, 0)
