/* Pooling: max, average, adaptive, fractional, unpooling, and their gradients. */
#include "kernels/shared/pool.h"
#include "loops.h"
#include "kernel_abi/window.h"
#include <math.h>

/* ---- where the largest elements of windows stand ---- */

/* Gradients of operators whose outputs are weighted sums over boxes of the input: Note [Boxes] in
 * kernels/ref/pool.c. */
typedef struct {
    int64_t start, end;
    double weight, last;
} rl_box;

typedef struct {
    rl_iter planes; /* of the gradient */
    int dtype;
    int64_t out[3], size[3], step[3], volume; /* step: bytes, of the gradient */
    rl_box *boxes[3];
    double factor;
    char *to;
    rl_rooms rooms; /* a plane of the input for each thread */
} rl_box_job;

/* Pooling over windows of planes. The kernels of kernels/ref/pool.c for every rank would do, but means
 * take 10 to 30 % longer with them, and the largest elements need room for indices. */
typedef struct {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    int64_t size[2], out[2], step[2]; /* input, output, input steps in bytes */
    bool count_pad;
    int64_t divisor;
    rl_iter planes; /* operands output, input */
    int dtype;
    void (*plane)(const void *job, const char *from, char *to);
} pool_job;

static void pool_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const pool_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_iter_seek(&job->planes, i, p);
        job->plane(job, p[1], p[0]);
    }
}

static rl_status pool_run(rl_call *k, pool_job *job) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int n = x->ndim;
    const rl_window *a = rl_window_of(k);
    rl_iter *w = &job->planes;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    for (int i = 0; i < 2; i++) {
        job->kernel[i] = a->kernel[1 + i];
        job->stride[i] = a->stride[1 + i];
        job->pad[i] = a->before[1 + i];
        job->dilation[i] = a->dilation[1 + i];
        job->size[i] = x->shape[n - 2 + i];
        job->out[i] = out->shape[n - 2 + i];
        job->step[i] = x->strides[n - 2 + i] * rl_itemsize(x->dtype);
    }
    rl_iter_begin(w, out, RL_WRITE);
    w->nops = 2;
    w->base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < n; d++) w->stride[1][d] = x->strides[d] * rl_itemsize(x->dtype);
    rl_iter_drop(w, 3ull << (n - 2));
    rl_iter_merge(w);
    int64_t cost = job->out[0] * job->out[1];
    k->svc->parallel(k, w->numel, 4 * RL_REF_NS * (double)cost, pool_part, job);
    return RL_OK;
}

/* ---- max: NaN wins ---- */
#define MAX_PLANE(D, T, C, LOAD, STORE, name, lowest)                                                        \
    static void name##_##D(const void *ctx, const char *from, char *to) {                                    \
        const pool_job *job = ctx;                                                                           \
        for (int64_t oh = 0; oh < job->out[0]; oh++)                                                         \
            for (int64_t ow = 0; ow < job->out[1]; ow++, to += sizeof(T)) {                                  \
                int64_t top = oh * job->stride[0] - job->pad[0], left = ow * job->stride[1] - job->pad[1];   \
                C most = lowest;                                                                             \
                for (int64_t kh = 0; kh < job->kernel[0]; kh++) {                                            \
                    int64_t ih = top + kh * job->dilation[0];                                                \
                    if (ih < 0 || ih >= job->size[0]) continue;                                              \
                    for (int64_t kw = 0; kw < job->kernel[1]; kw++) {                                        \
                        int64_t iw = left + kw * job->dilation[1];                                           \
                        if (iw < 0 || iw >= job->size[1]) continue;                                          \
                        const C x = LOAD(*(const T *)(from + ih * job->step[0] + iw * job->step[1]));        \
                        if (x > most || x != x) most = x;                                                    \
                    }                                                                                        \
                }                                                                                            \
                *(T *)to = STORE(most);                                                                      \
            }                                                                                                \
    }
RL_EACH_FLOAT(MAX_PLANE, max, -INFINITY)
#define MAX_INT(D, T, C, LOAD, STORE, name)                                                                  \
    MAX_PLANE(D, T, C, LOAD, STORE, name, (T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2)
RL_EACH_INT(MAX_INT, max)

RL_KERNEL(ref_max_pool2d) {
    static void (*const planes[RL_NDTYPES])(const void *, const char *, char *) = {
        RL_EACH_FLOAT(RL_ENTRY, max) RL_EACH_INT(RL_ENTRY, max)};
    pool_job job = {.plane = planes[rl_tensor_arg(k, 0)->dtype]};
    return pool_run(k, &job);
}

/* ---- averages ---- */
static double window_sum(const pool_job *job, const char *from, int64_t h0, int64_t h1, int64_t w0,
                         int64_t w1) {
    double row[64], sum = 0;
    for (int64_t h = h0; h < h1; h++)
        for (int64_t w = w0; w < w1; w += 64) {
            int64_t n = w1 - w < 64 ? w1 - w : 64;
            rl_row_doubles(job->dtype, from + h * job->step[0] + w * job->step[1], job->step[1], n, row);
            for (int64_t i = 0; i < n; i++) sum += row[i];
        }
    return sum;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t not_below(int64_t a) {
    return a > 0 ? a : 0;
}

static void avg_plane(const void *ctx, const char *from, char *to) {
    const pool_job *job = ctx;
    for (int64_t oh = 0; oh < job->out[0]; oh++)
        for (int64_t ow = 0; ow < job->out[1]; ow++, to += rl_itemsize(job->dtype)) {
            int64_t h0 = oh * job->stride[0] - job->pad[0], w0 = ow * job->stride[1] - job->pad[1];
            int64_t h1 = least(h0 + job->kernel[0], job->size[0] + job->pad[0]);
            int64_t w1 = least(w0 + job->kernel[1], job->size[1] + job->pad[1]);
            int64_t padded = (h1 - h0) * (w1 - w0);
            h0 = not_below(h0), w0 = not_below(w0);
            h1 = least(h1, job->size[0]), w1 = least(w1, job->size[1]);
            double mean = 0;
            if (h0 < h1 && w0 < w1) {
                int64_t count = job->divisor ? job->divisor : job->count_pad ? padded : (h1 - h0) * (w1 - w0);
                mean = window_sum(job, from, h0, h1, w0, w1) / (double)count;
            }
            rl_row_put_double(job->dtype, to, mean);
        }
}

RL_KERNEL(ref_avg_pool2d) {
    pool_job job = {.plane = avg_plane,
                    .count_pad = rl_window_of(k)->count_padding != 0,
                    .divisor = rl_window_of(k)->divisor};
    return pool_run(k, &job);
}

static void adaptive_plane(const void *ctx, const char *from, char *to) {
    const pool_job *job = ctx;
    for (int64_t oh = 0; oh < job->out[0]; oh++)
        for (int64_t ow = 0; ow < job->out[1]; ow++, to += rl_itemsize(job->dtype)) {
            int64_t h0 = oh * job->size[0] / job->out[0], w0 = ow * job->size[1] / job->out[1];
            int64_t h1 = ((oh + 1) * job->size[0] + job->out[0] - 1) / job->out[0];
            int64_t w1 = ((ow + 1) * job->size[1] + job->out[1] - 1) / job->out[1];
            rl_row_put_double(job->dtype, to,
                              window_sum(job, from, h0, h1, w0, w1) / (double)((h1 - h0) * (w1 - w0)));
        }
}

RL_KERNEL(ref_adaptive_avg_pool2d) {
    pool_job job = {.plane = adaptive_plane};
    return pool_run(k, &job);
}

/* ---- pooling of one to three dimensions, with or without indices, plain and adaptive ---- */
typedef struct nd_job nd_job;
struct nd_job {
    rl_iter planes; /* operand 0: the input */
    rl_pool_plan plan;
    int dtype;
    int64_t step[3];
    bool count_pad;
    int64_t divisor;
    char *to, *indices; /* contiguous outputs */
    void (*one)(const nd_job *job, const char *from, const rl_span *w[3], int64_t at);
    /* or a whole line of outputs, w[2] being its first window */
    void (*line)(const nd_job *job, const char *from, const rl_span *w[3], int64_t at);
    int64_t kernel, stride, pad; /* along the line */
};

static void nd_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const nd_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *from = job->planes.base[0];
        int64_t at = i * job->plan.places;
        rl_iter_seek(&job->planes, i, &from);
        for (int64_t d = 0; d < job->plan.out[0]; d++)
            for (int64_t h = 0; h < job->plan.out[1]; h++) {
                const rl_span *w[3] = {&job->plan.spans[0][d], &job->plan.spans[1][h], job->plan.spans[2]};
                if (job->line) job->line(job, from, w, at);
                for (int64_t o = 0; !job->line && o < job->plan.out[2]; o++, w[2]++)
                    job->one(job, from, w, at + o);
                at += job->plan.out[2];
            }
    }
}

/* `out` gives the dims of the answer; it goes to job->to and job->indices */
static rl_status nd_run(rl_call *k, nd_job *job, const rl_view *x, const rl_view *out, bool adaptive) {
    int n = (int)rl_window_of(k)->spatial, lead = x->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->dtype = x->dtype;
    if (rl_pool_plan_read(k, &job->plan, x, out, adaptive) != RL_OK) return RL_FAIL;
    for (int i = 0; i < 3; i++)
        job->step[i] = i < 3 - n ? 0 : x->strides[x->ndim - 3 + i] * rl_itemsize(x->dtype);
    rl_iter_begin(&job->planes, x, RL_READ);
    rl_iter_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_iter_merge(&job->planes);
    double ns = 16 * RL_REF_NS * (double)job->plan.places;
    k->svc->parallel(k, job->planes.numel, ns, nd_part, job);
    return RL_OK;
}

/* ---- the largest: NaN wins, the first of equals ---- */
#define MAX_ONE(D, T, C, LOAD, STORE, name, lowest)                                                          \
    static void name##_##D(const nd_job *job, const char *from, const rl_span *w[3], int64_t at) {           \
        C most = lowest;                                                                                     \
        int64_t place = (w[0]->start * job->plan.size[1] + w[1]->start) * job->plan.size[2] + w[2]->start;   \
        for (int64_t d = w[0]->start; d < w[0]->end; d += job->plan.dilation[0])                             \
            for (int64_t h = w[1]->start; h < w[1]->end; h += job->plan.dilation[1]) {                       \
                const char *row = from + d * job->step[0] + h * job->step[1];                                \
                for (int64_t i = w[2]->start; i < w[2]->end; i += job->plan.dilation[2]) {                   \
                    const C x = LOAD(*(const T *)(row + i * job->step[2]));                                  \
                    if (x > most || x != x) {                                                                \
                        most = x;                                                                            \
                        place = (d * job->plan.size[1] + h) * job->plan.size[2] + i;                         \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        ((T *)job->to)[at] = STORE(most);                                                                    \
        if (job->indices) ((int64_t *)job->indices)[at] = place;                                             \
    }
RL_EACH_FLOAT(MAX_ONE, nd_max, -INFINITY)
#define ND_MAX_INT(D, T, C, LOAD, STORE, name)                                                               \
    MAX_ONE(D, T, C, LOAD, STORE, name, (T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2)
RL_EACH_INT(ND_MAX_INT, nd_max)

/* Note [Lines of windows]
 * Windows with one step between them: element t of all windows of a line is compared in one loop without a
 * branch for the padding. `lo` to `hi` are the windows in which element t is no padding. */
static void line_range(const nd_job *job, int64_t t, int64_t *lo, int64_t *hi) {
    int64_t before = job->pad - t * job->plan.dilation[2], left = job->plan.size[2] + before;
    *lo = before > 0 ? (before + job->stride - 1) / job->stride : 0;
    *hi = left > 0 ? (left + job->stride - 1) / job->stride : 0;
    if (*hi > job->plan.out[2]) *hi = job->plan.out[2];
}

static void line_start(const nd_job *job, const rl_span *w[3], int64_t *place) {
    int64_t row = (w[0]->start * job->plan.size[1] + w[1]->start) * job->plan.size[2];
    for (int64_t o = 0; o < job->plan.out[2]; o++) place[o] = row + w[2][o].start;
}

/* most and place of the windows lo .. hi; x: of window lo, elements `step` bytes apart */
#define MAX_LINE(D, T, C, LOAD, STORE, name, lowest)                                                         \
    static void name##_row_##D(T *restrict most, int64_t *restrict place, const char *restrict x,            \
                               int64_t step, int64_t n, int64_t at, int64_t stride) {                        \
        for (int64_t o = 0; o < n; o++, x += step, at += stride) {                                           \
            const T v = *(const T *)x;                                                                       \
            const C a = LOAD(v), old = LOAD(most[o]);                                                        \
            bool beats = a > old || a != a;                                                                  \
            most[o] = beats ? v : most[o];                                                                   \
            place[o] = beats ? at : place[o];                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_line_##D(const nd_job *job, const char *from, const rl_span *w[3], int64_t at) {      \
        T *most = (T *)job->to + at;                                                                         \
        int64_t *place = (int64_t *)job->indices + at, lo, hi;                                               \
        for (int64_t o = 0; o < job->plan.out[2]; o++) most[o] = STORE((C)lowest);                           \
        line_start(job, w, place);                                                                           \
        for (int64_t d = w[0]->start; d < w[0]->end; d += job->plan.dilation[0])                             \
            for (int64_t h = w[1]->start; h < w[1]->end; h += job->plan.dilation[1]) {                       \
                const char *row = from + d * job->step[0] + h * job->step[1];                                \
                for (int64_t t = 0; t < job->kernel; t++) {                                                  \
                    line_range(job, t, &lo, &hi);                                                            \
                    int64_t x = lo * job->stride - job->pad + t * job->plan.dilation[2];                     \
                    name##_row_##D(most + lo, place + lo, row + x * job->step[2],                            \
                                   job->stride * job->step[2], hi - lo,                                      \
                                   (d * job->plan.size[1] + h) * job->plan.size[2] + x, job->stride);        \
                }                                                                                            \
            }                                                                                                \
    }
RL_EACH_FLOAT(MAX_LINE, nd_max, -INFINITY)
#define INT_LINE(D, T, C, LOAD, STORE, name)                                                                 \
    MAX_LINE(D, T, C, LOAD, STORE, name, ((T) - 1 > 0 ? 0 : -((int64_t)1 << (8 * sizeof(T) - 2)) * 2))
RL_EACH_INT(INT_LINE, nd_max)

typedef void (*max_fn)(const nd_job *, const char *, const rl_span *[3], int64_t);
static max_fn max_one_of(int dtype) {
    static const max_fn ones[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, nd_max) RL_EACH_INT(RL_ENTRY, nd_max)};
    return ones[dtype];
}
static max_fn max_line_of(int dtype) {
    static const max_fn lines[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, nd_max_line)
                                                 RL_EACH_INT(RL_ENTRY, nd_max_line)};
    return lines[dtype];
}

/* fills in what job->to and job->indices lack from scratch */
static rl_status max_lines(rl_call *k, nd_job *job, const rl_view *x, const rl_view *out) {
    job->line = max_line_of(x->dtype);
    job->kernel = rl_window_of(k)->kernel[2], job->stride = rl_window_of(k)->stride[2];
    job->pad = rl_window_of(k)->before[2];
    if (!job->to) job->to = k->svc->scratch(k, RL_COUNT(out->numel), rl_itemsize(x->dtype));
    if (!job->indices) job->indices = k->svc->scratch(k, RL_COUNT(out->numel), sizeof(int64_t));
    return job->to && job->indices ? nd_run(k, job, x, out, false) : RL_FAIL;
}

/* ... of x in its flat planes, for an output of the dims of `out` */
static rl_status rl_pool_indices(rl_call *k, const rl_view *x, const rl_view *out, int64_t *indices) {
    nd_job job = {.indices = (char *)indices};
    return max_lines(k, &job, x, out);
}

RL_CHOOSER
RL_KERNEL(ref_max_pool_nd) {
    const rl_view *x = k->arg[0].u.t;
    nd_job job = {0};
    job.to = rl_data(k->out[0], RL_WRITE);
    if (k->n_out == 2) job.indices = rl_data(k->out[1], RL_WRITE);
    return max_lines(k, &job, x, k->out[0]);
}
RL_KERNEL(ref_adaptive_max_pool_nd) {
    const rl_view *x = k->arg[0].u.t;
    nd_job job = {.one = max_one_of(x->dtype)};
    job.to = rl_data(k->out[0], RL_WRITE);
    job.indices = rl_data(k->out[1], RL_WRITE);
    return nd_run(k, &job, x, k->out[0], true);
}

/* ---- averages ---- */
static double nd_window_sum(const nd_job *job, const char *from, const rl_span *w[3]) {
    double row[64], sum = 0;
    for (int64_t d = w[0]->start; d < w[0]->end; d++)
        for (int64_t h = w[1]->start; h < w[1]->end; h++)
            for (int64_t i = w[2]->start; i < w[2]->end; i += 64) {
                int64_t n = w[2]->end - i < 64 ? w[2]->end - i : 64;
                rl_row_doubles(job->dtype, from + d * job->step[0] + h * job->step[1] + i * job->step[2],
                               job->step[2], n, row);
                for (int64_t j = 0; j < n; j++) sum += row[j];
            }
    return sum;
}

static void avg_one(const nd_job *job, const char *from, const rl_span *w[3], int64_t at) {
    int64_t count = 1, full = 1;
    for (int i = 0; i < 3; i++) {
        count *= w[i]->end > w[i]->start ? w[i]->end - w[i]->start : 0;
        full *= w[i]->full;
    }
    double mean = 0;
    if (count)
        mean = nd_window_sum(job, from, w) / (double)(job->divisor     ? job->divisor
                                                      : job->count_pad ? full
                                                                       : count);
    rl_row_put_double(job->dtype, job->to + at * rl_itemsize(job->dtype), mean);
}

RL_KERNEL(ref_avg_pool_nd) {
    nd_job job = {.one = avg_one,
                  .count_pad = rl_window_of(k)->count_padding != 0,
                  .divisor = rl_window_of(k)->divisor};
    job.to = rl_data(k->out[0], RL_WRITE);
    return nd_run(k, &job, k->arg[0].u.t, k->out[0], false);
}

RL_KERNEL(ref_adaptive_avg_pool_nd) {
    nd_job job = {.one = avg_one};
    job.to = rl_data(k->out[0], RL_WRITE);
    return nd_run(k, &job, k->arg[0].u.t, k->out[0], true);
}

/* Gradients of operators whose outputs are weighted sums over boxes of the input: means, resizing, padding.
 *
 * Note [Boxes]
 *   In each dimension output index o is made of the input indices [start, end): all have `weight` but the
 *   last, which has `last`. The weights of the dimensions multiply. The gradient goes back the same way. */
static double box_weight(const rl_box *b, int64_t at) {
    return at == b->end - 1 ? b->last : b->weight;
}

static void row_spread(const rl_box_job *job, const char *grad, double factor, double *sums) {
    double g[64];
    for (int64_t w = 0, n; w < job->out[2]; w += n) {
        n = job->out[2] - w < 64 ? job->out[2] - w : 64;
        rl_row_doubles(job->dtype, grad + w * job->step[2], job->step[2], n, g);
        for (int64_t i = 0; i < n; i++) {
            const rl_box *b = &job->boxes[2][w + i];
            for (int64_t at = b->start; at < b->end; at++) sums[at] += g[i] * factor * box_weight(b, at);
        }
    }
}

static void plane_spread(const rl_box_job *job, const char *grad, double *sums) {
    for (int64_t d = 0; d < job->out[0]; d++)
        for (int64_t h = 0; h < job->out[1]; h++) {
            const rl_box *deep = &job->boxes[0][d], *high = &job->boxes[1][h];
            const char *row = grad + d * job->step[0] + h * job->step[1];
            for (int64_t i = deep->start; i < deep->end; i++)
                for (int64_t j = high->start; j < high->end; j++)
                    row_spread(job, row, job->factor * box_weight(deep, i) * box_weight(high, j),
                               sums + (i * job->size[1] + j) * job->size[2]);
        }
}

static void box_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const rl_box_job *job = ctx;
    double *sums = (double *)rl_room(&job->rooms, thread);
    int64_t item = rl_itemsize(job->dtype);
    for (int64_t i = begin; i < end; i++) {
        char *grad = job->planes.base[0];
        rl_iter_seek(&job->planes, i, &grad);
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        plane_spread(job, grad, sums);
        rl_row_put_doubles(job->dtype, job->to + i * job->volume * item, item, job->volume, sums);
    }
}

/* Room for the boxes; what an operator lacks has size 1. The caller fills boxes of dimension i (0 to 2). */
static rl_status rl_box_begin(rl_call *k, rl_box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    *job = (rl_box_job){.dtype = grad->dtype, .volume = 1, .factor = 1};
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job->out[i] = lacks ? 1 : grad->shape[at];
        job->size[i] = lacks ? 1 : out->shape[at];
        job->step[i] = lacks ? 0 : grad->strides[at] * rl_itemsize(grad->dtype);
        job->volume *= job->size[i];
        job->boxes[i] = k->svc->scratch(k, RL_COUNT(job->out[i]), sizeof(rl_box));
        if (!job->boxes[i]) return RL_FAIL;
        for (int64_t o = 0; o < job->out[i]; o++) job->boxes[i][o] = (rl_box){0, 1, 1, 1};
    }
    return rl_thread_rooms(k, k->threads, RL_COUNT(job->volume), sizeof(double), &job->rooms) ? RL_OK
                                                                                              : RL_FAIL;
}

static rl_status rl_box_run(rl_call *k, rl_box_job *job) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    if (out->numel == 0) return RL_OK;
    job->to = rl_data(out, RL_WRITE);
    rl_iter_begin(&job->planes, grad, RL_READ);
    rl_iter_drop(&job->planes, ((1ull << n) - 1) << lead);
    rl_iter_merge(&job->planes);
    k->svc->parallel(k, out->numel / job->volume, 8 * RL_REF_NS * (double)job->volume, box_part, job);
    return RL_OK;
}

/* The gradients of pooling. Of the largest: each output's gradient goes back to where that element stood. */
/* operands of the planes: gradient, indices */
typedef struct {
    rl_iter planes;
    int dtype;
    int64_t out[3], step[2][3], places, volume; /* elements of a plane of the output, of the input */
    char *to;
    rl_rooms rooms; /* a plane for each thread */
    int64_t bad;    /* an index out of range */
    int seen;
} spread_job;

static void spread_row(spread_job *job, const char *grad, const char *index, double *sums) {
    double g[64];
    int64_t at[64];
    for (int64_t w = 0, n; w < job->out[2]; w += n) {
        n = job->out[2] - w < 64 ? job->out[2] - w : 64;
        rl_row_doubles(job->dtype, grad + w * job->step[0][2], job->step[0][2], n, g);
        rl_row_ints(RL_I64, index + w * job->step[1][2], job->step[1][2], n, at);
        for (int64_t i = 0; i < n; i++) {
            if (at[i] >= 0 && at[i] < job->volume) {
                sums[at[i]] += g[i];
            } else {
                __atomic_store_n(&job->bad, at[i], __ATOMIC_RELAXED);
                __atomic_store_n(&job->seen, 1, __ATOMIC_RELAXED);
            }
        }
    }
}

static void spread_part(void *ctx, int64_t begin, int64_t end, int thread) {
    spread_job *job = ctx;
    double *sums = (double *)rl_room(&job->rooms, thread);
    int64_t item = rl_itemsize(job->dtype);
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_iter_seek(&job->planes, i, p);
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        for (int64_t line = 0; line < job->out[0] * job->out[1]; line++) {
            int64_t d = line / job->out[1], h = line % job->out[1];
            spread_row(job, p[0] + d * job->step[0][0] + h * job->step[0][1],
                       p[1] + d * job->step[1][0] + h * job->step[1][1], sums);
        }
        rl_row_put_doubles(job->dtype, job->to + i * job->volume * item, item, job->volume, sums);
    }
}

/* indices lie as the view says, or densely at `computed` */
static rl_status spread(rl_call *k, const rl_view *indices, int64_t *computed) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    int n = (int)rl_window_of(k)->spatial, lead = grad->ndim - n;
    spread_job job = {.dtype = grad->dtype, .places = 1, .volume = 1};
    rl_iter w;
    int64_t dense = sizeof(int64_t);
    if (out->numel == 0) return RL_OK;
    rl_iter_begin(&w, grad, RL_READ);
    w.nops = 2;
    w.base[1] = computed ? (char *)computed : rl_data(indices, RL_READ);
    for (int d = grad->ndim - 1; d >= 0; d--) {
        w.stride[1][d] = computed ? dense : indices->strides[d] * (int64_t)sizeof(int64_t);
        dense *= grad->shape[d];
    }
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        job.out[i] = i < 3 - n ? 1 : grad->shape[at];
        job.volume *= i < 3 - n ? 1 : out->shape[at];
        for (int op = 0; op < 2; op++) job.step[op][i] = i < 3 - n ? 0 : w.stride[op][at];
    }
    rl_iter_drop(&w, ((1ull << n) - 1) << lead);
    rl_iter_merge(&w);
    job.planes = w;
    job.to = rl_data(out, RL_WRITE);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(job.volume), sizeof(double), &job.rooms)) return RL_FAIL;
    k->svc->parallel(k, w.numel, 8 * RL_REF_NS * (double)job.volume, spread_part, &job);
    if (!job.seen) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "found an invalid max index: %lld (a plane has %lld elements)",
                   (long long)job.bad, (long long)job.volume);
}

RL_KERNEL(ref_max_pool_back) {
    const rl_view *grad = k->arg[0].u.t;
    int64_t *indices = k->svc->scratch(k, RL_COUNT(grad->numel), sizeof *indices);
    if (!indices || rl_pool_indices(k, k->arg[1].u.t, grad, indices) != RL_OK) return RL_FAIL;
    return spread(k, NULL, indices);
}
RL_KERNEL(ref_max_pool_indices_back) {
    return spread(k, k->arg[7].u.t, NULL);
}
RL_KERNEL(ref_adaptive_max_pool_back) {
    return spread(k, k->arg[2].u.t, NULL);
}
RL_KERNEL(ref_fractional_max_pool_back) {
    return spread(k, k->arg[4].u.t, NULL);
}

/* ---- means: Note [Boxes] in kernels/ref/pool.c ---- */
static rl_status avg_back(rl_call *k, bool adaptive) {
    rl_box_job job;
    int n = (int)rl_window_of(k)->spatial;
    bool full = !adaptive && rl_window_of(k)->count_padding != 0;
    int64_t divisor = adaptive ? 0 : rl_window_of(k)->divisor;
    if (rl_box_begin(k, &job) != RL_OK) return RL_FAIL;
    if (divisor) job.factor = 1 / (double)divisor;
    for (int i = 3 - n; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            rl_span w =
                adaptive ? rl_pool_adaptive(o, job.size[i], job.out[i]) : rl_pool_span(k, i, o, job.size[i]);
            double weight = divisor ? 1 : 1 / (double)(full ? w.full : w.end - w.start);
            job.boxes[i][o] = (rl_box){w.start, w.end, weight, weight};
        }
    return rl_box_run(k, &job);
}

RL_KERNEL(ref_avg_pool_back) {
    return avg_back(k, false);
}
RL_KERNEL(ref_adaptive_avg_pool_back) {
    return avg_back(k, true);
}

/* Fractional max pooling (Graham, 2014): windows stand at places that a random number of each plane and
 * dimension says. */
typedef struct fractional_job fractional_job;
struct fractional_job {
    rl_iter planes; /* operand 0: the input */
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

static int64_t whole(double x, int64_t most) { /* samples may be anything */
    return x >= (double)most ? most : x > -(double)most ? (int64_t)x : -most;
}

/* The places of the windows along a dimension: PyTorch's steps, each rounded as its dtype does. */
static void places_of(const fractional_job *job, int i, double sample, int64_t *starts) {
    int64_t n = job->out[i], rest = job->size[i] - job->kernel[i];
    int dtype = job->dtype;
    if (n > 1) {
        double alpha =
            rl_rounded(dtype, rl_rounded(dtype, (double)rest) / rl_rounded(dtype, (double)(n - 1)));
        int64_t first = whole(rl_rounded(dtype, sample * alpha), job->size[i]);
        for (int64_t o = 0; o < n - 1; o++) {
            double at = rl_rounded(dtype, rl_rounded(dtype, rl_rounded(dtype, (double)o) + sample) * alpha);
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
        rl_iter_seek(&job->planes, i, &from);
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
    rl_iter_begin(&job.planes, x, RL_READ);
    rl_iter_drop(&job.planes, ((1ull << n) - 1) << lead);
    rl_iter_merge(&job.planes);
    k->svc->parallel(k, job.planes.numel, 4 * RL_REF_NS * seen * (double)job.places, fractional_part, &job);
    return RL_OK;
}

/* ---- the way back from max pooling: elements go where their indices say ---- */
/* operands of the planes: input, indices */
typedef struct {
    rl_iter planes;
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
        rl_iter_seek(&job->planes, i, p);
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
    rl_iter_begin(&job.planes, x, RL_READ);
    rl_iter_add(&job.planes, indices);
    for (int i = 0; i < 3; i++) {
        int at = lead + i - (3 - n);
        bool lacks = i < 3 - n;
        job.size[i] = lacks ? 1 : x->shape[at];
        job.places *= job.size[i];
        job.volume *= lacks ? 1 : out->shape[at];
        for (int op = 0; op < 2; op++) job.step[op][i] = lacks ? 0 : job.planes.stride[op][at];
    }
    rl_iter_drop(&job.planes, ((1ull << n) - 1) << lead);
    rl_iter_merge(&job.planes);
    job.to = rl_data(out, RL_WRITE);
    double ns = RL_REF_NS * (double)(4 * job.places + job.volume);
    k->svc->parallel(k, job.planes.numel, ns, unpool_part, &job);
    return job.seen ? bad_index(k, &job, out, n) : RL_OK;
}
