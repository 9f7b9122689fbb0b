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
__device__ static int64_t pad_source(const pad_dim &d, int mode, int64_t i) {
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
/* The output indices of one input index: the one in the middle, and up to one run of them in each border. */
typedef struct {
    int64_t first[3], count[3], all;
} pad_runs;

__device__ static void run_add(pad_runs *r, int n, const pad_dim &d, int mode, int64_t at, int64_t first,
                               int64_t count) {
    const bool known = count == 1 && ((n > 0 && first == r->first[0]) || (n > 1 && first == r->first[1]));
    if (first < 0 || first >= d.out || count < 0 || known || pad_source(d, mode, first) != at) count = 0;
    r->first[n] = first;
    r->count[n] = count;
    r->all += count;
}

__device__ static pad_runs runs_of(const pad_dim &d, int mode, int64_t at) {
    pad_runs r = {};
    const int64_t o = at + d.before, end = d.before + d.size;
    int64_t low = d.before - at, high = end + d.size - 2 - at, lows = 1, highs = 1;
    if (mode == PAD_CIRCULAR) {
        const int64_t left = d.size + (d.before < 0 ? d.before : 0) + (d.after < 0 ? d.after : 0);
        low = o - left, high = o + left;
    } else if (mode == PAD_REPLICATE) {
        low = 0, lows = at == 0 ? (d.before < d.out ? d.before : d.out) : 0;
        high = end > 0 ? end : 0, highs = at == d.size - 1 ? d.out - high : 0;
    }
    run_add(&r, 0, d, mode, at, o, 1);
    run_add(&r, 1, d, mode, at, low, lows);
    run_add(&r, 2, d, mode, at, high, highs);
    return r;
}

__device__ static int64_t run_at(const pad_runs &r, int64_t i) {
    if (i < r.count[0]) return r.first[0];
    i -= r.count[0];
    return i < r.count[1] ? r.first[1] + i : r.first[2] + i - r.count[1];
}

enum { PADDED = 3 }; /* the last dims, of which there are at most so many */
template <class T, class C>
__global__ void __launch_bounds__(CUDA_THREADS)
    pad_gradient(cuda_walk w, pad_plan plan, T *to, const T *grad) {
    CUDA_EACH(i, w) {
        int64_t at[1], lead = 0, rest = i;
        pad_runs runs[PADDED];
        C sum = 0;
        cuda_walk_seek(w, i, at);
        CUDA_UNROLL
        for (int d = PADDED - 1; d >= 0; d--) {
            runs[d] = runs_of(plan.dim[d], plan.mode, rest % plan.dim[d].size);
            rest /= plan.dim[d].size;
        }
        CUDA_ROLLED
        for (int d = plan.ndim - 1; d >= PADDED; d--) {
            lead += rest % plan.dim[d].size * plan.dim[d].step;
            rest /= plan.dim[d].size;
        }
        for (int64_t x = 0; x < runs[0].all; x++)
            for (int64_t y = 0; y < runs[1].all; y++)
                for (int64_t z = 0; z < runs[2].all; z++)
                    sum += cuda_cast<C>(
                        grad[lead + run_at(runs[0], x) * plan.dim[0].step +
                             run_at(runs[1], y) * plan.dim[1].step + run_at(runs[2], z) * plan.dim[2].step]);
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
