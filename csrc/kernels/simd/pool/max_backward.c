/* Gradients of max pooling: the maxima are searched again, or a tensor of indices names them. */
#include "pool.h"
typedef struct {
    indices_job places;
    const char *grad;
    const int64_t *indices;
    int64_t bad; /* an index out of range */
    int seen;
} max_job;
#define ISA_IMPL "kernels/simd/pool/max_backward_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

/* Each gradient goes to where its index says; an index is looked at where it is used. */
#define SCATTER(T, name)                                                                                     \
    static void name(void *ctx, int64_t begin, int64_t end, int thread) {                                    \
        max_job *m = ctx;                                                                                    \
        const rl_pool_plan *g = &m->places.job.plan;                                                         \
        (void)thread;                                                                                        \
        for (int64_t p = begin; p < end; p++) {                                                              \
            T *to = (T *)m->places.job.out + p * g->volume;                                                  \
            const T *grad = (const T *)m->places.job.in + p * g->places;                                     \
            const int64_t *at = m->indices + p * g->places;                                                  \
            __builtin_memset(to, 0, (size_t)g->volume * sizeof(T));                                          \
            for (int64_t i = 0; i < g->places; i++) {                                                        \
                const int64_t one = at[i];                                                                   \
                if (RL_LIKELY((uint64_t)one < (uint64_t)g->volume)) {                                        \
                    to[one] += grad[i];                                                                      \
                } else {                                                                                     \
                    __atomic_store_n(&m->bad, one, __ATOMIC_RELAXED);                                        \
                    __atomic_store_n(&m->seen, 1, __ATOMIC_RELAXED);                                         \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
SCATTER(float, scatter_floats)
SCATTER(double, scatter_doubles)

/* windows of 2 x 2 side by side, none over the edge */
RL_CHOOSER
static bool is_pairs(const pool_job *j) {
    const rl_pool_plan *g = &j->plan;
    bool pairs = g->size[0] == 1 && g->out[0] == 1;
    for (int i = 1; i < 3; i++)
        pairs = pairs && j->kernel[i] == 2 && j->stride[i] == 2 && !j->pad[i] && g->dilation[i] == 1 &&
                2 * g->out[i] <= g->size[i];
    return pairs;
}

RL_CHOOSER
RL_KERNEL(simd_max_pool_back) {
    max_job m = {0};
    pool_job *j = &m.places.job;
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    rl_status read = simd_pool_read(k, j, in, grad, false);
    if (read != RL_OK) return read;
    bool pairs = is_pairs(j);
    if (!pairs && !indices_lines(&m.places)) return RL_UNSUPPORTED;
    if (simd_pool_begin(k, j, in, out) != RL_OK || !(m.grad = simd_block_of(k, grad, j->computes)))
        return RL_FAIL;
    k->svc->parallel(k, j->planes, POOL_NS * (double)j->plan.volume,
                     pool_body_of(j, pairs ? POOL_BODIES(max_pairs_back) : POOL_BODIES(max_planes_back)), &m);
    return simd_pool_end(k, j, out);
}

/* indices: argument `at` */
RL_CHOOSER
static rl_status by_indices(rl_call *k, int at) {
    max_job m = {0};
    pool_job *j = &m.places.job;
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    rl_status read = simd_pool_read(k, j, out, grad, at != 7);
    if (read != RL_OK) return read;
    m.indices = simd_block_of(k, rl_in(k, at), RL_I64);
    if (!m.indices || simd_pool_begin(k, j, grad, out) != RL_OK) return RL_FAIL;
    k->svc->parallel(k, j->planes, POOL_NS * (double)(j->plan.volume + 4 * j->plan.places),
                     j->computes == RL_F64 ? scatter_doubles : scatter_floats, &m);
    if (m.seen)
        return rl_fail(k, RL_RUNTIME, "found an invalid max index: %lld (a plane has %lld elements)",
                       (long long)m.bad, (long long)j->plan.volume);
    return simd_pool_end(k, j, out);
}

RL_KERNEL(simd_max_pool_indices_back) {
    return by_indices(k, 7);
}
RL_KERNEL(simd_adaptive_max_pool_back) {
    return by_indices(k, 2);
}
RL_KERNEL(simd_fractional_max_pool_back) {
    return by_indices(k, 4);
}
