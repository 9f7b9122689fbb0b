/* Padding, and the gradient of the kinds that repeat the input. */
#include "moves.h"

enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* A dim: the input's size and what is put in front of it and behind it; less than nothing crops. */
typedef struct {
    int64_t size, before, after, out, step; /* step: of the input, or of the gradient in the output's place */
} pad_dim;
typedef struct {
    int mode, ndim;
    pad_dim dim[CUDA_DIMS];
} pad_plan;

/* where output index i comes from, or -1 for the constant */
static __device__ int64_t pad_source(const pad_dim &d, int mode, int64_t i) {
    const int64_t at = i - d.before;
    if (mode == PAD_CIRCULAR) { /* what is left after cropping repeats */
        const int64_t first = d.before < 0 ? -d.before : 0,
                      left = d.size - first + (d.after < 0 ? d.after : 0);
        return at < first ? at + left : at >= first + left ? at - left : at;
    }
    if (at >= 0 && at < d.size) return at;
    if (mode == PAD_REFLECT) return at < 0 ? -at : 2 * (d.size - 1) - at;
    if (mode == PAD_REPLICATE) return at < 0 ? 0 : d.size - 1;
    return -1;
}

template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    pad_elements(cuda_walk w, pad_plan plan, T *to, const T *from, T constant) {
    CUDA_EACH(i, w) {
        int64_t at[1], source = 0, rest = i;
        bool inside = true;
        cuda_walk_seek(w, i, at);
        CUDA_ROLLED
        for (int d = plan.ndim - 1; d >= 0; d--) {
            const pad_dim &p = plan.dim[d];
            const int64_t place = pad_source(p, plan.mode, rest % p.out);
            inside = inside && place >= 0;
            source += place * p.step;
            rest /= p.out;
        }
        to[at[0]] = inside ? from[source] : constant;
    }
}

/* the dims of `small`, whose numbers for the last ones are at `pad`; false: more than a launch carries */
static bool plan_make(pad_plan *plan, const rl_call *k, const rl_view *small, const rl_view *large,
                      const int64_t *step, rl_ints pad) {
    plan->mode = (int)k->attr[0];
    plan->ndim = small->ndim;
    if (small->ndim > CUDA_DIMS) return false;
    for (int d = 0; d < small->ndim; d++) {
        const int argument = 2 * (small->ndim - 1 - d);
        const bool padded = argument < pad.n;
        plan->dim[d] = {small->shape[d], padded ? pad.at[argument] : 0, padded ? pad.at[argument + 1] : 0,
                        large->shape[d], step[d]};
    }
    return true;
}

static rl_ints pad_numbers(const rl_call *k, int arg) {
    const rl_slot *s = &k->arg[arg];
    return {s->u.ints, s->tag == RL_INTS ? s->n : 0};
}

CUDA_KERNEL(cuda_pad) {
    const rl_view *x = rl_in(k, 0), *out = k->out[0];
    uint64_t constant[2] = {0, 0};
    pad_plan plan;
    cuda_walk w;
    if (k->arg[3].tag != RL_NONE && cuda_element(k, 3, x->dtype, constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (!plan_make(&plan, k, x, out, x->strides, pad_numbers(k, 1)) || !cuda_walk_make(&w, &out, 1))
        return RL_UNSUPPORTED;
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(x->dtype)) {
#define X(bytes, T)                                                                                          \
    case bytes:                                                                                              \
        CUDA_LAUNCH((pad_elements<T>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, plan,       \
                    (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(x), cuda_from_words<T>(constant)); \
        break;
        CUDA_SIZES(X)
#undef X
    default: break;
    }
    return rl_cuda_end(k);
}

/* ---- the gradient: (grad_output, input_size, pad, mode, channels_last) ---- */
/* The output indices of one input index: the one in the middle, and a run of them in each border. */
enum { PADDED = 3, RUNS = 3 }; /* the last dims, of which there are at most so many */
typedef struct {
    int64_t first, count;
} pad_run;

static __device__ pad_run run_guess(const pad_dim &d, int mode, int64_t at, int run) {
    const int64_t o = at + d.before, end = d.before + d.size;
    if (run == 0) return {o, 1};
    if (mode == PAD_CIRCULAR) {
        const int64_t left = d.size + (d.before < 0 ? d.before : 0) + (d.after < 0 ? d.after : 0);
        return {run == 1 ? o - left : o + left, 1};
    }
    if (mode == PAD_REFLECT) return {run == 1 ? d.before - at : end + d.size - 2 - at, 1};
    if (run == 1) return {0, at > 0 ? 0 : d.before < d.out ? d.before : d.out};
    const int64_t behind = end > 0 ? end : 0;
    return {behind, at < d.size - 1 ? 0 : d.out - behind};
}

/* ... of those that there are: each once */
static __device__ pad_run run_of(const pad_dim &d, int mode, int64_t at, int run) {
    pad_run r = run_guess(d, mode, at, run);
    bool known = r.first < 0 || r.first >= d.out || pad_source(d, mode, r.first) != at;
    if (run > 0 && r.count == 1) known = known || r.first == at + d.before;
    if (run > 1 && r.count == 1) known = known || r.first == run_guess(d, mode, at, 1).first;
    if (known) r.count = 0;
    return r;
}

template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    pad_gradient(cuda_walk w, pad_plan plan, T *to, const T *grad) {
    CUDA_EACH(i, w) {
        int64_t at[1], place[PADDED], lead = 0, rest = i;
        C sum = 0;
        cuda_walk_seek(w, i, at);
        CUDA_UNROLL
        for (int d = PADDED - 1; d >= 0; d--) {
            place[d] = rest % plan.dim[d].size;
            rest /= plan.dim[d].size;
        }
        CUDA_ROLLED
        for (int d = plan.ndim - 1; d >= PADDED; d--) {
            lead += rest % plan.dim[d].size * plan.dim[d].step;
            rest /= plan.dim[d].size;
        }
        CUDA_ROLLED
        for (int runs = 0; runs < RUNS * RUNS * RUNS; runs++) {
            const pad_run a = run_of(plan.dim[0], plan.mode, place[0], runs / (RUNS * RUNS));
            const pad_run b = run_of(plan.dim[1], plan.mode, place[1], runs / RUNS % RUNS);
            const pad_run c = run_of(plan.dim[2], plan.mode, place[2], runs % RUNS);
            const int64_t n = a.count * b.count * c.count;
            CUDA_ROLLED
            for (int64_t j = 0; j < n; j++)
                sum += cuda_cast<C>(grad[lead + (a.first + j / c.count / b.count) * plan.dim[0].step +
                                         (b.first + j / c.count % b.count) * plan.dim[1].step +
                                         (c.first + j % c.count) * plan.dim[2].step]);
        }
        to[at[0]] = cuda_cast<T>(sum);
    }
}

/* The padded dims come first, those that are missing have one element; then the others. */
static void plan_turn(pad_plan *plan, int padded) {
    const pad_plan all = *plan;
    const int others = all.ndim - padded;
    for (int d = 0; d < PADDED; d++) {
        const int at = d - (PADDED - padded);
        plan->dim[d] = at < 0 ? pad_dim{1, 0, 0, 1, 0} : all.dim[others + at];
    }
    for (int d = 0; d < others; d++) plan->dim[PADDED + d] = all.dim[d];
    plan->ndim = PADDED + others;
}

CUDA_KERNEL(cuda_pad_backward) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    const rl_ints pad = pad_numbers(k, 2);
    pad_plan plan;
    cuda_walk w;
    if (out->numel == 0) return RL_OK;
    if (!plan_make(&plan, k, out, grad, grad->strides, pad) || !cuda_walk_make(&w, &out, 1))
        return RL_UNSUPPORTED;
    plan_turn(&plan, pad.n / 2);
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    switch (out->dtype) {
#define X(tag, T, C)                                                                                         \
    case tag:                                                                                                \
        CUDA_LAUNCH((pad_gradient<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, cuda_stream_of(k), w, plan,    \
                    (T *)rl_data(out, RL_WRITE), (const T *)rl_const_data(grad));                            \
        break;
        CUDA_FLOAT_TYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
