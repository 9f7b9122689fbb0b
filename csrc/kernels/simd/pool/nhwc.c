/* Pooling of tensors that lie channels last.
 *
 * Note [Channels last]
 *   Vectors go over channels, a part of them at a time, so that neither windows nor steps need care: outputs
 *   look at the elements of their windows, inputs gather from the outputs that see them. The gradient of
 *   largest elements is two passes: where they stand, then each input takes the gradients whose place it is.
 */
#include "pool.h"
enum { NHWC_PART = 256, NHWC_SPREAD = 64 }; /* channels that one item has */
typedef enum { NHWC_MEAN, NHWC_MAX, NHWC_BOTH, NHWC_INDICES } nhwc_what;
typedef struct {
    pool_job job;
    int64_t channels, parts;
    void *counts; /* by an output of a plane: what its mean divides by; backward: 1 / that */
    int64_t *indices;
    void *places;
    const void *grad;
    const int64_t *given; /* indices of the backward */
    pool_seen *seen[3];
    int64_t bad; /* an index out of range */
    int faults;
} nhwc_job;
#define ISA_IMPL "kernels/simd/pool/nhwc_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

/* v with its channels as the last dim, which is contiguous where it lies channels last */
static rl_view turned(const rl_view *v, int64_t room[2 * RL_SMALL_DIMS]) {
    rl_view t = *v;
    t.shape = room, t.strides = room + RL_SMALL_DIMS;
    for (int d = 0; d < v->ndim; d++) {
        int from = d == 0 ? 0 : d == v->ndim - 1 ? 1 : d + 1;
        t.shape[d] = v->shape[from];
        t.strides[d] = v->strides[from];
    }
    return t;
}
static const void *block_of(rl_call *k, const rl_view *v, int dtype) {
    int64_t room[2 * RL_SMALL_DIMS];
    rl_view t = turned(v, room);
    return simd_block_of(k, &t, dtype);
}

RL_CHOOSER
static rl_status nhwc_read(rl_call *k, nhwc_job *s, const rl_view *input, const rl_view *output,
                           bool adaptive) {
    const rl_view *out = k->out[0];
    int64_t room[2 * RL_SMALL_DIMS];
    if (out->ndim != rl_window_of(k)->spatial + 2) return RL_UNSUPPORTED;
    rl_view t = turned(out, room);
    if (!rl_is_contiguous(&t)) return RL_UNSUPPORTED;
    rl_status status = simd_pool_read(k, &s->job, input, output, adaptive);
    if (status != RL_OK) return status;
    s->channels = input->shape[1];
    s->parts = simd_ceil_div(s->channels, NHWC_PART);
    s->job.out = out->dtype == s->job.computes ? rl_data(out, RL_WRITE)
                                               : k->svc->scratch(k, RL_COUNT(out->numel), s->job.item);
    return s->job.out ? RL_OK : RL_FAIL;
}
static rl_status nhwc_end(rl_call *k, nhwc_job *s) {
    int64_t room[2 * RL_SMALL_DIMS];
    rl_view t = turned(k->out[0], room);
    if (t.dtype != s->job.computes) simd_block_put(k, &t, s->job.out, s->job.computes);
    return RL_OK;
}

static bool counts_make(rl_call *k, nhwc_job *s, bool inverse) {
    const rl_pool_plan *g = &s->job.plan;
    s->counts = k->svc->scratch(k, RL_COUNT(g->places), s->job.item);
    for (int64_t o = 0; s->counts && o < g->places; o++) {
        double count = (double)rl_pool_count(k, g, 0, o / g->out[2] / g->out[1]) *
                       (double)rl_pool_count(k, g, 1, o / g->out[2] % g->out[1]) *
                       (double)rl_pool_count(k, g, 2, o % g->out[2]);
        double one = inverse ? 1 / count : count;
        if (s->job.computes == RL_F64)
            ((double *)s->counts)[o] = one;
        else
            ((float *)s->counts)[o] = (float)one;
    }
    return s->counts;
}

/* over rows of outputs, or of inputs */
static void nhwc_run(rl_call *k, nhwc_job *s, const int64_t *rows, double seen, pool_bodies bodies) {
    int64_t n = s->job.planes / s->channels * rows[0] * rows[1];
    double ns = 10 + POOL_NS * (double)rows[2] * (double)simd_min(s->channels, NHWC_PART) * seen / 4;
    k->svc->parallel(k, n * s->parts, ns, pool_body_of(&s->job, bodies), s);
}
static double window_size(const pool_job *j) {
    return (double)j->kernel[0] * (double)j->kernel[1] * (double)j->kernel[2];
}

/* Outputs of one element a channel lie in either order: what stands among the ordinary kernels, too, is for
 * inputs that really lie channels last. */
RL_CHOOSER
static bool lies_nhwc(const rl_call *k, const rl_view *x) {
    int64_t room[2 * RL_SMALL_DIMS];
    if (rl_is_contiguous(x) || x->ndim != rl_window_of(k)->spatial + 2) return false;
    rl_view t = turned(x, room);
    return rl_is_contiguous(&t) || !rl_is_contiguous(k->out[0]);
}

RL_CHOOSER
static rl_status forward(rl_call *k, bool adaptive, nhwc_what what) {
    nhwc_job s = {0};
    const rl_view *x = rl_in(k, 0);
    if (!lies_nhwc(k, x)) return RL_UNSUPPORTED;
    rl_status status = nhwc_read(k, &s, x, k->out[0], adaptive);
    if (status != RL_OK) return status;
    if (!(s.job.in = block_of(k, x, s.job.computes)) || (what == NHWC_MEAN && !counts_make(k, &s, false)))
        return RL_FAIL;
    if (what == NHWC_BOTH) s.indices = rl_data(k->out[1], RL_WRITE);
    nhwc_run(k, &s, s.job.plan.out, window_size(&s.job),
             what == NHWC_MEAN  ? POOL_BODIES(nhwc_mean)
             : what == NHWC_MAX ? POOL_BODIES(nhwc_max)
                                : POOL_BODIES(nhwc_both));
    return nhwc_end(k, &s);
}

RL_KERNEL(simd_avg_pool_nhwc) {
    return forward(k, false, NHWC_MEAN);
}
RL_KERNEL(simd_adaptive_avg_pool_nhwc) {
    return forward(k, true, NHWC_MEAN);
}
RL_KERNEL(simd_max_pool_nhwc) {
    return forward(k, false, k->n_out == 2 ? NHWC_BOTH : NHWC_MAX);
}
RL_KERNEL(simd_adaptive_max_pool_nhwc) {
    return forward(k, true, NHWC_BOTH);
}

/* ---- backward ---- */
RL_CHOOSER
static bool gradient_read(rl_call *k, nhwc_job *s) {
    s->grad = block_of(k, rl_in(k, 0), s->job.computes);
    for (int i = 0; s->grad && i < 3; i++)
        if (!(s->seen[i] = simd_pool_seen(k, &s->job, i))) return false;
    return s->grad;
}

static rl_status mean_back(rl_call *k, bool adaptive) {
    nhwc_job s = {0};
    rl_status status = nhwc_read(k, &s, k->out[0], rl_in(k, 0), adaptive);
    if (status != RL_OK) return status;
    if (!gradient_read(k, &s) || !counts_make(k, &s, true)) return RL_FAIL;
    nhwc_run(k, &s, s.job.plan.size, 4, POOL_BODIES(nhwc_mean_back));
    return nhwc_end(k, &s);
}
RL_KERNEL(simd_avg_pool_nhwc_back) {
    return mean_back(k, false);
}
RL_KERNEL(simd_adaptive_avg_pool_nhwc_back) {
    return mean_back(k, true);
}

RL_KERNEL(simd_max_pool_nhwc_back) {
    nhwc_job s = {0};
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1);
    rl_status status = nhwc_read(k, &s, in, grad, false);
    if (status != RL_OK) return status;
    s.places = k->svc->scratch(k, RL_COUNT(grad->numel), s.job.item);
    if (!s.places || !(s.job.in = block_of(k, in, s.job.computes)) || !gradient_read(k, &s)) return RL_FAIL;
    nhwc_run(k, &s, s.job.plan.out, window_size(&s.job), POOL_BODIES(nhwc_indices));
    nhwc_run(k, &s, s.job.plan.size, 4, POOL_BODIES(nhwc_max_back));
    return nhwc_end(k, &s);
}

/* Each gradient goes to where its index says; an item is a part of the channels of an element of the batch.
 */
#define SCATTER(T, name)                                                                                     \
    static void name(void *ctx, int64_t begin, int64_t end, int thread) {                                    \
        nhwc_job *s = ctx;                                                                                   \
        const rl_pool_plan *g = &s->job.plan;                                                                \
        (void)thread;                                                                                        \
        for (int64_t item = begin; item < end; item++) {                                                     \
            int64_t n = item / s->parts, c = item % s->parts * NHWC_SPREAD;                                  \
            int64_t many = simd_min(NHWC_SPREAD, s->channels - c);                                           \
            T *to = (T *)s->job.out + n * g->volume * s->channels + c;                                       \
            for (int64_t v = 0; v < g->volume; v++)                                                          \
                __builtin_memset(to + v * s->channels, 0, (size_t)many * sizeof(T));                         \
            for (int64_t o = 0; o < g->places; o++) {                                                        \
                int64_t from = (n * g->places + o) * s->channels + c;                                        \
                for (int64_t i = 0; i < many; i++) {                                                         \
                    const int64_t at = s->given[from + i];                                                   \
                    if (RL_LIKELY((uint64_t)at < (uint64_t)g->volume)) {                                     \
                        to[at * s->channels + i] += ((const T *)s->grad)[from + i];                          \
                    } else {                                                                                 \
                        __atomic_store_n(&s->bad, at, __ATOMIC_RELAXED);                                     \
                        __atomic_store_n(&s->faults, 1, __ATOMIC_RELAXED);                                   \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
SCATTER(float, scatter_floats)
SCATTER(double, scatter_doubles)

/* indices: argument `at` */
static rl_status by_indices(rl_call *k, int at) {
    nhwc_job s = {0};
    rl_status status = nhwc_read(k, &s, k->out[0], rl_in(k, 0), at != 7);
    if (status != RL_OK) return status;
    s.given = block_of(k, rl_in(k, at), RL_I64);
    s.grad = block_of(k, rl_in(k, 0), s.job.computes);
    if (!s.given || !s.grad) return RL_FAIL;
    s.parts = simd_ceil_div(s.channels, NHWC_SPREAD);
    double ns = POOL_NS * (double)(s.job.plan.volume + 4 * s.job.plan.places) *
                (double)simd_min(s.channels, NHWC_SPREAD);
    k->svc->parallel(k, s.job.planes / s.channels * s.parts, ns,
                     s.job.computes == RL_F64 ? scatter_doubles : scatter_floats, &s);
    if (s.faults)
        return rl_fail(k, RL_RUNTIME, "found an invalid max index: %lld (a plane has %lld elements)",
                       (long long)s.bad, (long long)s.job.plan.volume);
    return nhwc_end(k, &s);
}
RL_KERNEL(simd_max_pool_indices_nhwc_back) {
    return by_indices(k, 7);
}
RL_KERNEL(simd_adaptive_max_pool_nhwc_back) {
    return by_indices(k, 2);
}
