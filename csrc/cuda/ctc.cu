/* Connectionist temporal classification: Note [Lattice] in kernels/shared/ctc.h. A block for each example,
 * whose threads take the states of one step of time; sums are made in one order, so that results repeat.
 * attr[0]: the length of the longest target. */
#include "device.h"
#include "types.cuh"

enum { EXAMPLES = 64, THREADS = 128 }; /* of a launch, of a block */
typedef struct {
    const void *logs, *targets, *grad, *loss_given;
    void *alpha, *loss, *out;
    double *rows; /* of each example of the launch: beta twice, powers, each `states` long */
    int64_t *labels;
    unsigned *fault;
    int64_t log_step[3], out_step[3], alpha_step[3], target_step, grad_step, loss_step;
    int64_t classes, all_times, states, blank, first;
    int dtype;
    bool narrow, zero_infinity; /* targets are int32 */
    int64_t times[EXAMPLES], lengths[EXAMPLES], offsets[EXAMPLES];
} ctc_job;

#define EACH_STATE(s, n) for (int64_t s = threadIdx.x; s < (n); s += THREADS)

/* one example */
struct lattice {
    const ctc_job &j;
    int64_t example, times, states;
    const int64_t *labels;
    __device__ double log_of(int64_t t, int64_t c) const {
        return cuda_load<double>(j.dtype, j.logs,
                                 t * j.log_step[0] + example * j.log_step[1] + c * j.log_step[2]);
    }
    __device__ int64_t alpha_at(int64_t t, int64_t s) const {
        return example * j.alpha_step[0] + t * j.alpha_step[1] + s * j.alpha_step[2];
    }
    __device__ double alpha(int64_t t, int64_t s) const {
        return s < 0 ? -(double)INFINITY : cuda_load<double>(j.dtype, j.alpha, alpha_at(t, s));
    }
    __device__ void put(int64_t t, int64_t c, double x) const {
        cuda_store(j.dtype, j.out, t * j.out_step[0] + example * j.out_step[1] + c * j.out_step[2], x);
    }
    /* may a path pass over the blank before state s, or behind it? */
    __device__ bool skips(int64_t s) const { return s % 2 && s >= 3 && labels[s] != labels[s - 2]; }
    __device__ bool skips_back(int64_t s) const {
        return s % 2 && s + 2 < states && labels[s] != labels[s + 2];
    }
};

/* A label that there is not is heard of by who waits next, and stands for the blank. Until
 * its kernel's next barrier a thread reads only labels that it wrote, as paths pass over none at the first
 * time and at the last: the barrier here orders nothing, but without it nvcc spills. */
static __device__ lattice lattice_begin(const ctc_job &j) {
    const int64_t b = blockIdx.x, states = 2 * j.lengths[b] + 1;
    int64_t *labels = j.labels + b * j.states;
    EACH_STATE(s, states) {
        const int64_t at = j.offsets[b] + s / 2 * j.target_step;
        int64_t c = j.blank;
        if (s % 2) c = j.narrow ? ((const int32_t *)j.targets)[at] : ((const int64_t *)j.targets)[at];
        if ((uint64_t)c >= (uint64_t)j.classes) {
            cuda_fault(j.fault, CUDA_FAULT_INDEX);
            c = j.blank;
        }
        labels[s] = c;
    }
    __syncthreads();
    return {j, j.first + b, j.times[b], states, labels};
}

static __device__ double log_sum(double a, double b, double c) {
    const double most = fmax(a, fmax(b, c)), shift = most == -(double)INFINITY ? 0 : most;
    return log(exp(a - shift) + exp(b - shift) + exp(c - shift)) + shift;
}

/* ---- forward ---- */
static __device__ double alpha_of(const lattice &l, int64_t t, int64_t s) {
    const double none = -(double)INFINITY;
    if (s >= l.states || t >= l.times) return none;
    if (t == 0) return s < 2 ? l.log_of(0, l.labels[s]) : none;
    const double over = l.skips(s) ? l.alpha(t - 1, s - 2) : none;
    return log_sum(l.alpha(t - 1, s), l.alpha(t - 1, s - 1), over) + l.log_of(t, l.labels[s]);
}
static __device__ double loss_of(const lattice &l) {
    const int64_t last = l.states - 1, t = l.times - 1;
    if (l.times == 0) return last ? (double)INFINITY : -0.0;
    return -(last ? log_sum(l.alpha(t, last), l.alpha(t, last - 1), -(double)INFINITY) : l.alpha(t, 0));
}

__global__ void __launch_bounds__(THREADS) ctc_forward(ctc_job j) {
    const lattice l = lattice_begin(j);
    for (int64_t t = 0; t < j.all_times; t++) {
        EACH_STATE(s, j.states) cuda_store(j.dtype, j.alpha, l.alpha_at(t, s), alpha_of(l, t, s));
        __syncthreads();
    }
    if (threadIdx.x == 0) cuda_store(j.dtype, j.loss, l.example, loss_of(l));
}

/* ---- backward ---- */
static __device__ void fill(const lattice &l, int64_t begin, int64_t end, double x) {
    for (int64_t t = begin; t < end; t++) EACH_STATE(c, l.j.classes) l.put(t, c, x);
}

static __device__ double beta_of(const lattice &l, int64_t t, int64_t s, const double *later) {
    const double none = -(double)INFINITY, here = l.log_of(t, l.labels[s]);
    if (t == l.times - 1) return s >= l.states - 2 ? here : none;
    const double next = s + 1 < l.states ? later[s + 1] : none, over = l.skips_back(s) ? later[s + 2] : none;
    return log_sum(later[s], next, over) + here;
}

/* The share of the paths that pass through the class of state s, if no state before has that class. */
static __device__ bool share_of(const lattice &l, int64_t s, const double *powers, double *share) {
    for (int64_t before = s % 2 ? 0 : s - 1; before < s; before++)
        if (before >= 0 && l.labels[before] == l.labels[s]) return false;
    if (s % 2 == 0 && s > 0) return false;
    *share = 0;
    for (int64_t same = s; same < l.states; same++)
        if (l.labels[same] == l.labels[s]) *share += powers[same];
    return true;
}

__global__ void __launch_bounds__(THREADS) ctc_backward(ctc_job j) {
    const lattice l = lattice_begin(j);
    double *beta = j.rows + blockIdx.x * 3 * j.states, *later = beta + j.states, *powers = later + j.states;
    const double loss = cuda_load<double>(j.dtype, j.loss_given, l.example * j.loss_step);
    const double grad = cuda_load<double>(j.dtype, j.grad, l.example * j.grad_step);
    fill(l, l.times, j.all_times, 0);
    if (!(loss < (double)INFINITY)) { /* the same in all threads */
        fill(l, 0, l.times, j.zero_infinity && loss == (double)INFINITY ? 0 : (double)NAN);
        return;
    }
    for (int64_t t = l.times - 1; t >= 0; t--) {
        double *last = later;
        later = beta, beta = last;
        EACH_STATE(s, l.states) {
            beta[s] = beta_of(l, t, s, later);
            powers[s] = exp(l.alpha(t, s) + beta[s] - l.log_of(t, l.labels[s]) + loss);
        }
        EACH_STATE(c, j.classes) {
            const double x = l.log_of(t, c);
            l.put(t, c, x == -(double)INFINITY ? (double)NAN : exp(x) * grad);
        }
        __syncthreads();
        EACH_STATE(s, l.states) {
            double share;
            const double x = l.log_of(t, l.labels[s]);
            if (x != -(double)INFINITY && share_of(l, s, powers, &share))
                l.put(t, l.labels[s], (exp(x) - share) * grad);
        }
        __syncthreads();
    }
}

/* ---- calls ---- */
static void steps_of(const rl_view *v, int64_t *to) {
    for (int d = 0; d < 3; d++) to[d] = v->strides[d];
}

/* the arguments from `logs` on are log_probs, targets and both lengths; run(job, blocks) launches */
template <class Run> static rl_status ctc_run(rl_call *k, ctc_job *j, int logs, Run run) {
    const rl_view *x = rl_in(k, logs), *targets = rl_in(k, logs + 1);
    const rl_ints times = rl_ints_of(k, logs + 2), lengths = rl_ints_of(k, logs + 3);
    const int64_t n = x->shape[1], step = targets->strides[0];
    int64_t labels = 0;
    if (x->device == RL_CPU || targets->device == RL_CPU) return RL_UNSUPPORTED;
    const int64_t at_once = n < EXAMPLES ? n : (int64_t)EXAMPLES;
    j->states = 2 * k->attr[0] + 1;
    j->labels = (int64_t *)k->svc->scratch(k, RL_COUNT(at_once, j->states), sizeof *j->labels);
    j->rows = (double *)k->svc->scratch(k, RL_COUNT(at_once, j->states, 3), sizeof *j->rows);
    if (!j->labels || !j->rows || rl_cuda_begin(k, k->out[0]) != RL_OK || !(j->fault = rl_cuda_fault(k)))
        return RL_FAIL;
    j->logs = rl_const_data(x);
    j->targets = rl_const_data(targets);
    j->target_step = targets->strides[targets->ndim - 1];
    j->narrow = targets->dtype == RL_I32;
    j->classes = x->shape[2];
    j->all_times = x->shape[0];
    j->dtype = x->dtype;
    steps_of(x, j->log_step);
    for (j->first = 0; j->first < n; j->first += EXAMPLES) {
        const int m = n - j->first < EXAMPLES ? (int)(n - j->first) : (int)EXAMPLES;
        for (int i = 0; i < m; i++) {
            const int64_t b = j->first + i;
            j->times[i] = times.at[b];
            j->lengths[i] = lengths.at[b];
            j->offsets[i] = (targets->ndim == 1 ? labels : b) * step;
            labels += lengths.at[b];
        }
        run(*j, (unsigned)m, (cudaStream_t)k->stream);
    }
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_ctc_loss) { /* (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity) */
    ctc_job j = {};
    j.blank = rl_int(k, 4);
    j.loss = rl_data(k->out[0], RL_WRITE);
    j.alpha = rl_data(k->out[1], RL_WRITE);
    steps_of(k->out[1], j.alpha_step);
    return ctc_run(k, &j, 0, [](const ctc_job &job, unsigned blocks, cudaStream_t stream) {
        CUDA_LAUNCH_BLOCKS(ctc_forward, blocks, THREADS, 0, stream, job);
    });
}

/* (grad, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank, zero_infinity) */
CUDA_KERNEL(cuda_ctc_loss_backward) {
    const rl_view *grad = rl_in(k, 0), *loss = rl_in(k, 5), *alpha = rl_in(k, 6);
    ctc_job j = {};
    if (grad->device == RL_CPU || loss->device == RL_CPU || alpha->device == RL_CPU) return RL_UNSUPPORTED;
    j.blank = rl_int(k, 7);
    j.zero_infinity = rl_int(k, 8) != 0;
    j.grad = rl_const_data(grad);
    j.loss_given = rl_const_data(loss);
    j.alpha = (void *)rl_const_data(alpha); /* read alone */
    j.grad_step = grad->strides[0];
    j.loss_step = loss->strides[0];
    j.out = rl_data(k->out[0], RL_WRITE);
    steps_of(alpha, j.alpha_step);
    steps_of(k->out[0], j.out_step);
    return ctc_run(k, &j, 1, [](const ctc_job &job, unsigned blocks, cudaStream_t stream) {
        CUDA_LAUNCH_BLOCKS(ctc_backward, blocks, THREADS, 0, stream, job);
    });
}
