/* Resizing, of any dtype, and of bytes in integers. */
#include "kernels/shared/resize.h"
#include "loops.h"
#include <math.h>

/* ---- filters over bytes ---- */
/* the call of a smooth mode whose input is bytes */
static rl_status rl_resize_bytes(rl_call *k);

/* ---- resizing by the tables of Note [Taps], of any dtype and strides; sums are made in double ---- */
enum { CHUNK = 64 };

typedef struct {
    rl_taps taps[3];
    rl_iter planes; /* operands output, input */
    int dtype;
    int64_t to_step[3], from_step[3]; /* bytes */
    rl_rooms rooms;                   /* a row of the input for each thread */
} resize_job;

static void sums_add(const resize_job *job, const char *row, double weight, bool begins, double *sums) {
    double x[CHUNK];
    for (int64_t at = 0, n; at < job->taps[2].in; at += n) {
        n = job->taps[2].in - at < CHUNK ? job->taps[2].in - at : CHUNK;
        rl_row_doubles(job->dtype, row + at * job->from_step[2], job->from_step[2], n, x);
        if (begins) /* not added to 0, which would lose the sign of another */
            for (int64_t i = 0; i < n; i++) sums[at + i] = weight * x[i];
        else
            for (int64_t i = 0; i < n; i++) sums[at + i] += weight * x[i];
    }
}

/* the weighted sum of the rows that make a row of the output */
static void rows_join(const resize_job *job, const char *plane, int64_t deep, int64_t high, double *sums) {
    const rl_taps *d = &job->taps[0], *h = &job->taps[1];
    bool begins = true;
    for (int64_t i = 0; i < rl_taps_count(d, deep); i++)
        for (int64_t j = 0; j < rl_taps_count(h, high); j++) {
            const char *row =
                plane + (d->start[deep] + i) * job->from_step[0] + (h->start[high] + j) * job->from_step[1];
            sums_add(job, row, d->weight[d->first[deep] + i] * h->weight[h->first[high] + j], begins, sums);
            begins = false;
        }
    for (int64_t i = 0; begins && i < job->taps[2].in; i++) sums[i] = 0;
}

static void row_fill(const resize_job *job, const double *sums, char *to) {
    const rl_taps *t = &job->taps[2];
    double y[CHUNK];
    for (int64_t at = 0, n; at < t->out; at += n) {
        n = t->out - at < CHUNK ? t->out - at : CHUNK;
        for (int64_t i = 0; i < n; i++) {
            const double *x = sums + t->start[at + i], *weight = t->weight + t->first[at + i];
            const int64_t count = rl_taps_count(t, at + i);
            double sum = count ? x[0] * weight[0] : 0;
            for (int64_t j = 1; j < count; j++) sum += x[j] * weight[j];
            y[i] = sum;
        }
        rl_row_put_doubles(job->dtype, to + at * job->to_step[2], job->to_step[2], n, y);
    }
}

static void resize_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const resize_job *job = ctx;
    const int64_t high = job->taps[1].out, rows = job->taps[0].out * high;
    double *sums = (double *)rl_room(&job->rooms, thread);
    for (int64_t row = begin; row < end; row++) {
        const int64_t d = row % rows / high, h = row % high;
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_iter_seek(&job->planes, row / rows, p);
        rows_join(job, p[1], d, h, sums);
        row_fill(job, sums, p[0] + d * job->to_step[0] + h * job->to_step[1]);
    }
}

RL_KERNEL(ref_resize) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int spatial = (int)rl_resize_of(k)->spatial;
    const int64_t item = rl_itemsize(x->dtype);
    resize_job job = {.dtype = x->dtype};
    if (out->numel == 0) return RL_OK;
    if (x->dtype == RL_U8 && rl_resize_of(k)->mode > RL_RESIZE_EXACT) return rl_resize_bytes(k);
    if (rl_resize_taps(k, job.taps) != RL_OK) return RL_FAIL;
    for (int i = 3 - spatial; i < 3; i++) {
        job.to_step[i] = out->strides[out->ndim - 3 + i] * item;
        job.from_step[i] = x->strides[x->ndim - 3 + i] * item;
    }
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(job.taps[2].in), sizeof(double), &job.rooms)) return RL_FAIL;
    rl_iter_begin(&job.planes, out, RL_WRITE);
    job.planes.nops = 2;
    job.planes.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) job.planes.stride[1][d] = x->strides[d] * item;
    rl_iter_drop(&job.planes, ((1ull << spatial) - 1) << 2);
    rl_iter_merge(&job.planes);
    const rl_taps *t = job.taps;
    const double sums = (double)t[2].in * (double)t[0].most * (double)t[1].most,
                 fill = (double)t[2].out * (double)t[2].most;
    k->svc->parallel(k, out->numel / t[2].out, RL_REF_NS * (4 * sums + 4 * fill + 50), resize_rows, &job);
    return RL_OK;
}

/* Filters over bytes, in PyTorch's integers: weights of 16 bits, rows before columns, bytes in between. */
typedef struct {
    rl_taps taps;
    int16_t *weight;
    int shift;
} byte_taps;

typedef struct {
    byte_taps high, wide;
    rl_iter planes; /* operands output, input */
    int64_t to_step[2], from_step[2];
    rl_rooms rooms; /* for each thread a plane whose rows are done */
} byte_job;

static uint8_t byte_of(int32_t sum, int shift) {
    sum >>= shift;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* sums of n runs of elements `step` apart, one starting at each of from[0], from[side], ... */
static void bytes_sum(const byte_taps *t, int64_t i, const uint8_t *from, int64_t step, int64_t side,
                      uint8_t *to, int64_t to_side, int64_t n) {
    const int16_t *weight = t->weight + t->taps.first[i];
    const int64_t count = rl_taps_count(&t->taps, i);
    from += t->taps.start[i] * step;
    for (int64_t at = 0; at < n; at++, from += side, to += to_side) {
        int32_t sum = 1 << t->shift >> 1;
        for (int64_t j = 0; j < count; j++) sum += weight[j] * from[j * step];
        *to = byte_of(sum, t->shift);
    }
}

static void byte_planes(void *ctx, int64_t begin, int64_t end, int thread) {
    const byte_job *job = ctx;
    const rl_taps *high = &job->high.taps, *wide = &job->wide.taps;
    uint8_t *rows = (uint8_t *)rl_room(&job->rooms, thread);
    for (int64_t plane = begin; plane < end; plane++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_iter_seek(&job->planes, plane, p);
        for (int64_t w = 0; w < wide->out; w++)
            bytes_sum(&job->wide, w, (uint8_t *)p[1], job->from_step[1], job->from_step[0], rows + w,
                      wide->out, high->in);
        for (int64_t h = 0; h < high->out; h++)
            bytes_sum(&job->high, h, rows, wide->out, 1, (uint8_t *)p[0] + h * job->to_step[0],
                      job->to_step[1], wide->out);
    }
}

/* as many bits as the largest weight leaves */
static rl_status byte_weights(rl_call *k, byte_taps *t) {
    const int64_t n = t->taps.first[t->taps.out];
    double most = 0;
    t->weight = k->svc->scratch(k, RL_COUNT(n), sizeof *t->weight);
    if (!t->weight) return RL_FAIL;
    for (int64_t i = 0; i < n; i++) most = t->taps.weight[i] > most ? t->taps.weight[i] : most;
    while (t->shift < 22 && 0.5 + ldexp(most, t->shift + 1) < 1 << 15) t->shift++;
    for (int64_t i = 0; i < n; i++) t->weight[i] = (int16_t)round(ldexp(t->taps.weight[i], t->shift));
    return RL_OK;
}

static rl_status rl_resize_bytes(rl_call *k) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    rl_taps taps[3];
    byte_job job = {.to_step = {0}};
    if (out->numel == 0) return RL_OK;
    if (rl_resize_taps(k, taps) != RL_OK) return RL_FAIL;
    job.high.taps = taps[1];
    job.wide.taps = taps[2];
    if (byte_weights(k, &job.high) != RL_OK || byte_weights(k, &job.wide) != RL_OK) return RL_FAIL;
    const rl_count plane = RL_COUNT(job.high.taps.in, job.wide.taps.out);
    if (!rl_thread_rooms(k, k->threads, plane, 1, &job.rooms)) return RL_FAIL;
    for (int i = 0; i < 2; i++) job.to_step[i] = out->strides[2 + i], job.from_step[i] = x->strides[2 + i];
    rl_iter_begin(&job.planes, out, RL_WRITE);
    job.planes.nops = 2;
    job.planes.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < 4; d++) job.planes.stride[1][d] = x->strides[d];
    rl_iter_drop(&job.planes, 12);
    rl_iter_merge(&job.planes);
    const double ns = (double)out->shape[3] * ((double)x->shape[2] * (double)taps[2].most +
                                               (double)out->shape[2] * (double)taps[1].most);
    k->svc->parallel(k, job.planes.numel, RL_REF_NS * 2 * ns, byte_planes, &job);
    return RL_OK;
}
