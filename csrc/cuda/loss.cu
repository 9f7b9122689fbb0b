/* Losses and their gradients: element by element, and with margins. */
#include "cuda/reduce/reduce.cuh"
#include "elementwise.cuh"
#include "strided_iterator.cuh"
#include <math.h>

/* ==== element by element: Note [Element losses] in kernels/ref/loss.c. They compute in float, or in
 * double where the tensors are ==== */
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
    probabilities_check(cuda_iter w, cuda_operand<float> p, cuda_operand<float> target, unsigned *fault) {
    CUDA_EACH(i, w) {
        int64_t at[2];
        cuda_iter_seek(w, i, at);
        const float a = cuda_read(p, at[0]), b = cuda_read(target, at[1]);
        if (!(a >= 0 && a <= 1 && b >= 0 && b <= 1)) cuda_fault(fault, CUDA_FAULT_VALUE);
    }
}

/* The CPU looks before it computes; here, who waits next hears of it. */
static rl_status check_probabilities(rl_call *k) {
    const rl_view *views[2] = {rl_in(k, 0), rl_in(k, 1)};
    cuda_iter w;
    if (views[0]->device == RL_CPU || !cuda_can_read(views[0], views[1])) return RL_UNSUPPORTED;
    if (!cuda_iter_make_along(&w, views, 2)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    unsigned *fault = rl_cuda_begin(k, views[0]) == RL_OK ? rl_cuda_fault(k) : nullptr;
    if (!fault) return RL_FAIL;
    CUDA_LAUNCH(probabilities_check, cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
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

/* ==== with a margin. attr[0]: samples, attr[1]: classes ==== */
/* One target a sample, or in a row of as many as classes those before the first -1. A target that is no
 * class ends them, too, and targets_copy says so. */
typedef struct {
    const void *x, *weight; /* weight NULL: 1 */
    const int64_t *target;
    int64_t classes, x_step, weight_step;
    bool is_multilabel, is_squared;
    int dtype;
    double margin;
} margin_loss;

/* ---- a sample: where its row of x and its targets begin ---- */
template <class C> struct margin_row {
    const margin_loss &l;
    int64_t x, target;
    __device__ C at(int64_t c) const { return cuda_load<C>(l.dtype, l.x, x + c * l.x_step); }
    __device__ int64_t label(int64_t i) const { /* -1: no more */
        if (i == (l.is_multilabel ? l.classes : 1)) return -1;
        return l.target[target + i];
    }
    __device__ bool is_label(int64_t c) const {
        int64_t t = -1;
        for (int64_t i = 0; (t = label(i)) >= 0; i++)
            if (t == c) return true;
        return false;
    }
    __device__ C gap(int64_t t, int64_t c) const { return (C)l.margin - at(t) + at(c); }
    __device__ C weight() const {
        return l.weight ? cuda_load<C>(l.dtype, l.weight, label(0) * l.weight_step) : 1;
    }
    /* what class c, which is no label, adds to the loss; its slope */
    __device__ C loss(int64_t c) const {
        C sum = 0;
        int64_t t;
        for (int64_t i = 0; (t = label(i)) >= 0; i++) {
            const C z = gap(t, c);
            if (z > 0) sum += l.is_squared ? z * z : z;
        }
        return sum * weight();
    }
    __device__ C slope_by(int64_t t, int64_t c) const {
        const C z = gap(t, c);
        return z > 0 ? weight() * (l.is_squared ? 2 * z : 1) : 0;
    }
    __device__ C slope(int64_t c) const {
        C sum = 0;
        int64_t t;
        if (!is_label(c)) {
            for (int64_t i = 0; (t = label(i)) >= 0; i++) sum += slope_by(t, c);
            return sum;
        }
        for (int64_t other = 0; other < l.classes; other++)
            if (!is_label(other)) sum -= slope_by(c, other);
        C times = 0; /* a label may come more than once */
        for (int64_t i = 0; (t = label(i)) >= 0; i++) times += t == c;
        return sum * times;
    }
};

/* operands of both: the class, its row of x, its row of targets */
enum { CLASS, ROW, TARGETS, MARGIN_OPS };
template <class C> struct margin_fold {
    typedef C value_type;
    enum { OPERANDS = MARGIN_OPS };
    margin_loss l;
    void *to;
    C over;
    __device__ C start() const { return 0; }
    __device__ C value(const int64_t (&at)[OPERANDS]) const {
        const margin_row<C> row = {l, at[ROW], at[TARGETS]};
        return row.is_label(at[CLASS]) ? 0 : row.loss(at[CLASS]);
    }
    __device__ C join(C a, C b) const { return a + b; }
    __device__ void store(int64_t i, C v) const { cuda_store(l.dtype, to, i, v / over); }
};

/* and then the gradient of the loss, that of x */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    margin_slopes(margin_loss l, cuda_iter w, void *to, const void *grad, C over) {
    CUDA_EACH(i, w) {
        int64_t at[MARGIN_OPS + 2];
        cuda_iter_seek(w, i, at);
        const margin_row<C> row = {l, at[ROW], at[TARGETS]};
        const C g = cuda_load<C>(l.dtype, grad, at[MARGIN_OPS]) / over;
        cuda_store(l.dtype, to, at[MARGIN_OPS + 1], row.slope(at[CLASS]) * g);
    }
}

/* ---- calls ---- */
/* A thread for each sample copies its targets, row by row. One that is no class becomes class 0, or ends a
 * row of several, and who waits next hears of it. */
__global__ void __launch_bounds__(CUDA_THREADS) targets_copy(margin_loss l, int64_t samples, int64_t row_step,
                                                             int64_t step, int64_t *to, unsigned *fault) {
    const int64_t n = l.is_multilabel ? l.classes : 1, end = l.is_multilabel ? -1 : 0;
    CUDA_EACH_OF(row, samples) {
        int64_t t = 0;
        for (int64_t i = 0; i < n; i++) {
            if (t >= 0) t = l.target[row * row_step + i * step];
            if (t >= l.classes || t < end) {
                cuda_fault(fault, CUDA_FAULT_INDEX);
                t = end;
            }
            to[row * n + i] = t;
        }
    }
}

typedef struct {
    margin_loss l;
    cuda_subview dims[MARGIN_OPS];
    const rl_view *view[MARGIN_OPS + 2];
    uint64_t classes; /* the dim of x that they are, or none: x is one number */
} margin_views;

static rl_status margin_begin(rl_call *k, margin_views *m, int at, const rl_view *weight) {
    const rl_view *x = rl_in(k, at), *target = rl_in(k, at + 1);
    const int last = x->ndim - 1, label = target->ndim - 1;
    const bool has_rows = target->ndim > (m->l.is_multilabel ? 1 : 0);
    int64_t *dense = (int64_t *)k->svc->scratch(k, RL_COUNT(target->numel), sizeof *dense);
    if (!dense || rl_cuda_begin(k, x) != RL_OK) return RL_FAIL;
    unsigned *fault = rl_cuda_fault(k);
    if (!fault) return RL_FAIL;
    m->classes = x->ndim ? (uint64_t)1 << last : 0;
    m->l.x = rl_const_data(x);
    m->l.target = (const int64_t *)rl_const_data(target);
    m->l.classes = k->attr[1];
    m->l.x_step = last < 0 ? 0 : x->strides[last];
    m->l.dtype = x->dtype;
    if (weight) {
        m->l.weight = rl_const_data(weight);
        m->l.weight_step = weight->ndim ? weight->strides[0] : 0;
    }
    cuda_subview_number(&m->dims[CLASS], x, m->classes);
    cuda_subview_copy(&m->dims[ROW], x);
    rl_view rows = *target; /* as they lie when they are copied */
    int64_t strides[2] = {m->l.is_multilabel && target->ndim == 2 ? target->shape[1] : 1, 1};
    rows.strides = strides;
    cuda_subview_spread(&m->dims[TARGETS], &rows, x, ~m->classes);
    if (last >= 0) m->dims[ROW].strides[last] = 0;
    for (int i = 0; i < MARGIN_OPS; i++) m->view[i] = &m->dims[i].view;
    const int64_t samples = has_rows ? target->shape[0] : 1;
    const int64_t step = m->l.is_multilabel && label >= 0 ? target->strides[label] : 0;
    if (target->numel > 0)
        CUDA_LAUNCH(targets_copy, cuda_blocks_of(samples), CUDA_THREADS, (cudaStream_t)k->stream, m->l,
                    samples, has_rows ? target->strides[0] : 0, step, dense, fault);
    m->l.target = dense;
    return RL_OK;
}

template <class C> static rl_status margin_sum(rl_call *k, const margin_views *m, int reduction) {
    const double samples = reduction == MEAN && k->attr[0] ? (double)k->attr[0] : 1;
    cuda_reduction r;
    if (!cuda_reduction_make(&r, m->view, MARGIN_OPS, reduction == NONE ? m->classes : ~(uint64_t)0, false))
        return RL_UNSUPPORTED;
    if (r.kept.numel == 0) return RL_OK;
    return cuda_reduce(k, r,
                       margin_fold<C>{m->l, rl_data(k->out[0], RL_WRITE), (C)((double)k->attr[1] * samples)});
}
static rl_status margin_value(rl_call *k, margin_views *m, const rl_view *weight, int reduction) {
    if (margin_begin(k, m, 0, weight) != RL_OK) return RL_FAIL;
    return m->l.dtype == RL_F64 ? margin_sum<double>(k, m, reduction) : margin_sum<float>(k, m, reduction);
}

template <class C> static rl_status margin_launch(rl_call *k, margin_views *m, int reduction) {
    const double samples = reduction == MEAN ? (double)k->attr[0] : 1;
    cuda_iter w;
    if (!cuda_iter_make(&w, m->view, MARGIN_OPS + 2)) return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK) return RL_FAIL;
    CUDA_LAUNCH((margin_slopes<C>), cuda_iter_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, m->l, w,
                rl_data(k->out[0], RL_WRITE), rl_const_data(rl_in(k, 0)), (C)((double)k->attr[1] * samples));
    return rl_cuda_end(k);
}
static rl_status margin_back(rl_call *k, margin_views *m, const rl_view *weight, int reduction) {
    cuda_subview grad;
    if (k->out[0]->numel == 0) return RL_OK;
    if (margin_begin(k, m, 1, weight) != RL_OK) return RL_FAIL;
    cuda_subview_spread(&grad, rl_in(k, 0), k->out[0], ~m->classes);
    m->view[MARGIN_OPS] = &grad.view;
    m->view[MARGIN_OPS + 1] = k->out[0];
    return m->l.dtype == RL_F64 ? margin_launch<double>(k, m, reduction)
                                : margin_launch<float>(k, m, reduction);
}

/* the arguments from `at` on are input, target, p, margin, weight, reduction */
static void multi_begin(const rl_call *k, margin_views *m, int at) {
    m->l = {};
    m->l.is_squared = rl_int(k, at + 2) == 2;
    m->l.margin = rl_num(k, at + 3);
}
CUDA_KERNEL(cuda_multi_margin_loss) {
    margin_views m;
    multi_begin(k, &m, 0);
    return margin_value(k, &m, rl_in(k, 4), (int)rl_int(k, 5));
}
CUDA_KERNEL(cuda_multi_margin_loss_backward) {
    margin_views m;
    multi_begin(k, &m, 1);
    return margin_back(k, &m, rl_in(k, 5), (int)rl_int(k, 6));
}

static void multilabel_begin(margin_views *m) {
    m->l = {};
    m->l.is_multilabel = true;
    m->l.margin = 1;
}
CUDA_KERNEL(cuda_multilabel_margin_loss) {
    margin_views m;
    multilabel_begin(&m);
    return margin_value(k, &m, nullptr, (int)rl_int(k, 2));
}
CUDA_KERNEL(cuda_multilabel_margin_loss_backward) {
    margin_views m;
    multilabel_begin(&m);
    return margin_back(k, &m, nullptr, (int)rl_int(k, 3));
}
