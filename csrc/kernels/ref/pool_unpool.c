/* The way back from max pooling: elements go where their indices say. */
#include "kernels/shared/pool.h"
#include "loops.h"

/* operands of the planes: input, indices */
typedef struct {
    rl_walk planes;
    int64_t size[3], step[2][3], places, volume, item; /* of the input; of a plane of the result */
    char *to;
    int64_t bad;
    int seen;
} unpool_job;

#define PUT(bits)                                                                                            \
    static void put_##bits(unpool_job *job, const char *x, const char *index, char *to) {                    \
        for (int64_t i = 0; i < job->size[2]; i++, x += job->step[0][2], index += job->step[1][2]) {         \
            const int64_t at = *(const int64_t *)index;                                                      \
            if (at >= 0 && at < job->volume) {                                                               \
                ((uint##bits##_t *)to)[at] = *(const uint##bits##_t *)x;                                     \
            } else {                                                                                         \
                __atomic_store_n(&job->bad, at, __ATOMIC_RELAXED);                                           \
                __atomic_store_n(&job->seen, 1, __ATOMIC_RELAXED);                                           \
            }                                                                                                \
        }                                                                                                    \
    }
PUT(16)
PUT(32)
PUT(64)

static void unpool_part(void *ctx, int64_t begin, int64_t end, int thread) {
    unpool_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]}, *to = job->to + i * job->volume * job->item;
        rl_walk_seek(&job->planes, i, p);
        __builtin_memset(to, 0, (size_t)(job->volume * job->item));
        for (int64_t line = 0; line < job->size[0] * job->size[1]; line++) {
            int64_t d = line / job->size[1], h = line % job->size[1];
            const char *x = p[0] + d * job->step[0][0] + h * job->step[0][1];
            const char *index = p[1] + d * job->step[1][0] + h * job->step[1][1];
            (job->item == 2 ? put_16 : job->item == 4 ? put_32 : put_64)(job, x, index, to);
        }
    }
}

static rl_status bad_index(rl_call *k, const unpool_job *job, const rl_view *out, int n) {
    const int64_t *size = out->shape + out->ndim - n;
    long long bad = (long long)job->bad;
    if (n == 2)
        return rl_fail(k, RL_RUNTIME,
                       "Found an invalid max index: %lld (output volumes are of size %lldx%lld)", bad,
                       (long long)size[0], (long long)size[1]);
    return rl_fail(k, RL_RUNTIME,
                   "Found an invalid max index: %lld (output volumes are of size %lldx%lldx%lld)", bad,
                   (long long)size[0], (long long)size[1], (long long)size[2]);
}

RL_KERNEL(ref_max_unpool) {
    const rl_view *x = k->arg[0].u.t, *indices = k->arg[1].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = x->ndim - n;
    unpool_job job = {.places = 1, .volume = 1, .item = rl_itemsize(x->dtype)};
    if (out->numel == 0) return RL_OK;
    rl_walk_begin(&job.planes, x, RL_READ);
    rl_walk_add(&job.planes, indices);
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job.size[i] = lacks ? 1 : x->shape[at];
        job.places *= job.size[i];
        job.volume *= lacks ? 1 : out->shape[at];
        for (int op = 0; op < 2; op++) job.step[op][i] = lacks ? 0 : job.planes.stride[op][at];
    }
    rl_walk_drop(&job.planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job.planes);
    job.to = rl_data(out, RL_WRITE);
    double ns = RL_REF_NS * (double)(4 * job.places + job.volume);
    k->svc->parallel(k, job.planes.numel, ns, unpool_part, &job);
    return job.seen ? bad_index(k, &job, out, n) : RL_OK;
}
