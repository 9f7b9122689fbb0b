/* Resizing by the tables of Note [Taps], of any dtype and strides; sums are made in double. */
#include "loops.h"
#include "resize_bytes.h"

enum { CHUNK = 64 };

typedef struct {
    rl_taps taps[3];
    rl_walk planes; /* operands output, input */
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
        rl_walk_seek(&job->planes, row / rows, p);
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
    rl_walk_begin(&job.planes, out, RL_WRITE);
    job.planes.nops = 2;
    job.planes.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) job.planes.stride[1][d] = x->strides[d] * item;
    rl_walk_drop(&job.planes, ((1ull << spatial) - 1) << 2);
    rl_walk_merge(&job.planes);
    const rl_taps *t = job.taps;
    const double sums = (double)t[2].in * (double)t[0].most * (double)t[1].most,
                 fill = (double)t[2].out * (double)t[2].most;
    k->svc->parallel(k, out->numel / t[2].out, RL_REF_NS * (4 * sums + 4 * fill + 50), resize_rows, &job);
    return RL_OK;
}
