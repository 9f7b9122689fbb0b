/* Fractional max pooling (Graham, 2014): windows stand at places that a random number of each plane and
 * dimension says. */
#include "kernels/shared/pool.h"
#include "loops.h"
#include <math.h>

typedef struct fractional_job fractional_job;
struct fractional_job {
    rl_walk planes; /* operand 0: the input */
    int n, dtype;
    int64_t size[3], out[3], kernel[3], step[3], places, channels;
    const char *samples;
    int64_t sample_step[3]; /* of batch, channel, dimension */
    rl_rooms rooms;         /* of each thread: where windows start along each dimension */
    int64_t starts[3];
    char *to;
    int64_t *indices;
    void (*plane)(const fractional_job *job, const char *from, int64_t *const *starts, int64_t at);
};

/* as the dtype rounds it */
static double rounded(int dtype, double x) {
    switch (dtype) {
    case RL_F16: return (double)rl_from_half(rl_to_half((float)x));
    case RL_BF16: return (double)rl_from_bfloat(rl_to_bfloat((float)x));
    case RL_F32: return (double)(float)x;
    default: return x;
    }
}
static int64_t whole(double x, int64_t most) { /* samples may be anything */
    return x >= (double)most ? most : x > -(double)most ? (int64_t)x : -most;
}

/* The places of the windows along a dimension: PyTorch's steps, each rounded as its dtype does. */
static void places_of(const fractional_job *job, int i, double sample, int64_t *starts) {
    int64_t n = job->out[i], rest = job->size[i] - job->kernel[i];
    int dtype = job->dtype;
    if (n > 1) {
        double alpha = rounded(dtype, rounded(dtype, (double)rest) / rounded(dtype, (double)(n - 1)));
        int64_t first = whole(rounded(dtype, sample * alpha), job->size[i]);
        for (int64_t o = 0; o < n - 1; o++) {
            double at = rounded(dtype, rounded(dtype, rounded(dtype, (double)o) + sample) * alpha);
            int64_t start = whole(at, 2 * job->size[i]) - first;
            starts[o] = start < 0 ? 0 : start > rest ? rest : start;
        }
    }
    starts[n - 1] = rest;
}

/* the largest of each window: NaN wins, the first of equals */
#define FRACTIONAL(D, T, C, LOAD, STORE, name, lowest)                                                       \
    static void name##_##D(const fractional_job *job, const char *from, int64_t *const *starts,              \
                           int64_t at) {                                                                     \
        const int64_t *kernel = job->kernel, *size = job->size;                                              \
        for (int64_t o = 0; o < job->places; o++) {                                                          \
            int64_t z0 = starts[0][o / job->out[2] / job->out[1]];                                           \
            int64_t y0 = starts[1][o / job->out[2] % job->out[1]], x0 = starts[2][o % job->out[2]];          \
            C most = lowest;                                                                                 \
            int64_t place = (z0 * size[1] + y0) * size[2] + x0;                                              \
            for (int64_t z = z0; z < z0 + kernel[0]; z++)                                                    \
                for (int64_t y = y0; y < y0 + kernel[1]; y++) {                                              \
                    const char *row = from + z * job->step[0] + y * job->step[1];                            \
                    for (int64_t x = x0; x < x0 + kernel[2]; x++) {                                          \
                        const C v = LOAD(*(const T *)(row + x * job->step[2]));                              \
                        bool beats = v > most || v != v;                                                     \
                        most = beats ? v : most;                                                             \
                        place = beats ? (z * size[1] + y) * size[2] + x : place;                             \
                    }                                                                                        \
                }                                                                                            \
            ((T *)job->to)[at + o] = STORE(most);                                                            \
            job->indices[at + o] = place;                                                                    \
        }                                                                                                    \
    }
RL_EACH_FLOAT(FRACTIONAL, fractional, -INFINITY)

static void fractional_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const fractional_job *job = ctx;
    int64_t *starts[3];
    for (int d = 0; d < 3; d++) starts[d] = (int64_t *)(rl_room(&job->rooms, thread) + job->starts[d]);
    for (int64_t i = begin; i < end; i++) {
        char *from = job->planes.base[0];
        const char *samples =
            job->samples + i / job->channels * job->sample_step[0] + i % job->channels * job->sample_step[1];
        rl_walk_seek(&job->planes, i, &from);
        starts[0][0] = 0;
        /* the first number is that of the last dimension, but of volumes that of the first */
        for (int d = 3 - job->n; d < 3; d++) {
            int which = job->n == 2 ? 2 - d : d;
            places_of(job, d, rl_row_double(job->dtype, samples + which * job->sample_step[2]), starts[d]);
        }
        job->plane(job, from, starts, i * job->places);
    }
}

static rl_layout fractional_layout(const rl_call *k, fractional_job *job) {
    rl_layout l = rl_layout_begin(k);
    for (int d = 0; d < 3; d++) job->starts[d] = rl_layout_add(&l, RL_COUNT(job->out[d]), sizeof(int64_t));
    return l;
}

RL_KERNEL(ref_fractional_max_pool) {
    static void (*const planes[RL_NDTYPES])(const fractional_job *, const char *, int64_t *const *,
                                            int64_t) = {RL_EACH_FLOAT(RL_ENTRY, fractional)};
    const rl_view *x = k->arg[0].u.t, *samples = k->arg[3].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = x->ndim - n;
    fractional_job job = {.n = n, .dtype = x->dtype, .places = 1, .plane = planes[x->dtype]};
    if (out->numel == 0) return RL_OK;
    double seen = 1;
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job.size[i] = lacks ? 1 : x->shape[at];
        job.out[i] = lacks ? 1 : out->shape[at];
        job.kernel[i] = lacks ? 1 : rl_window_of(k)->kernel[i];
        job.step[i] = lacks ? 0 : x->strides[at] * rl_itemsize(x->dtype);
        job.sample_step[i] = samples->strides[i] * rl_itemsize(samples->dtype);
        job.places *= job.out[i];
        seen *= (double)job.kernel[i];
    }
    job.channels = x->shape[lead - 1];
    job.samples = rl_const_data(samples);
    const rl_layout l = fractional_layout(k, &job);
    if (!k->svc->rooms(k, &l, k->threads, &job.rooms)) return RL_FAIL;
    job.to = rl_data(out, RL_WRITE);
    job.indices = rl_data(k->out[1], RL_WRITE);
    rl_walk_begin(&job.planes, x, RL_READ);
    rl_walk_drop(&job.planes, ((1ull << n) - 1) << lead);
    rl_walk_merge(&job.planes);
    k->svc->parallel(k, job.planes.numel, 4 * RL_REF_NS * seen * (double)job.places, fractional_part, &job);
    return RL_OK;
}
