/* upsample: nearest and bilinear, with PyTorch's index arithmetic: float32 unless the input is float64. */
#include "resize.h"
#include <math.h>

typedef struct {
    int64_t low, high; /* byte offsets of the two neighbours */
    double weight;     /* of the higher one */
} resize_tap;

typedef struct {
    rl_walk planes; /* operands output, input */
    int dtype;
    int64_t size[2], out[2], step[2];
    int64_t *nearest[2];
    resize_tap *taps[2];
    void (*plane)(const void *job, const char *from, char *to);
} resize_job;

static void resize_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const resize_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->planes.base[0], job->planes.base[1]};
        rl_walk_seek(&job->planes, i, p);
        job->plane(job, p[1], p[0]);
    }
}

static void resize_begin(rl_call *k, resize_job *job) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    job->dtype = x->dtype;
    for (int i = 0; i < 2; i++) {
        job->size[i] = x->shape[2 + i];
        job->out[i] = out->shape[2 + i];
        job->step[i] = x->strides[2 + i] * rl_itemsize(x->dtype);
    }
    rl_walk_begin(&job->planes, out, RL_WRITE);
    job->planes.nops = 2;
    job->planes.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < 4; d++) job->planes.stride[1][d] = x->strides[d] * rl_itemsize(x->dtype);
    rl_walk_drop(&job->planes, 12);
    rl_walk_merge(&job->planes);
}

static rl_status resize_end(rl_call *k, resize_job *job) {
    int64_t cost = job->out[0] * job->out[1];
    if (k->out[0]->numel == 0) return RL_OK;
    k->svc->parallel(k, job->planes.numel, 4 * RL_REF_NS * (double)cost, resize_part, job);
    return RL_OK;
}

int64_t rl_resize_nearest(const rl_call *k, int arg, int64_t size, int64_t out, int64_t at) {
    float unit = k->arg[arg].tag != RL_NONE && rl_num(k, arg) > 0 ? (float)(1 / rl_num(k, arg))
                                                                  : (float)size / (float)out;
    float source = floorf((float)at * unit); /* infinite, or NaN, for a scale near 0 */
    if (!(source > 0)) return 0;
    return source < 0x1p62f && (int64_t)source < size ? (int64_t)source : size - 1;
}

/* input units for one output unit; a given scale factor counts instead of the sizes */
static double unit_of(const rl_call *k, int arg, int64_t size, int64_t out) {
    double scale = k->arg[arg].tag == RL_NONE ? 0 : rl_num(k, arg);
    return scale > 0 ? 1 / scale : (double)size / (double)out;
}

int64_t rl_resize_linear(const rl_call *k, int dtype, bool corners, int arg, int64_t size, int64_t out,
                         int64_t at, double *weight) {
    double unit =
               corners ? (out > 1 ? (double)(size - 1) / (double)(out - 1) : 0) : unit_of(k, arg, size, out),
           place;
    if (dtype == RL_F64) {
        place = corners ? unit * (double)at : unit * ((double)at + 0.5) - 0.5;
    } else {
        float narrow = (float)unit;
        place = corners ? narrow * (float)at : narrow * ((float)at + 0.5f) - 0.5f;
    }
    if (place < 0) place = 0;
    int64_t low = place < (double)(size - 1) ? (int64_t)place : size - 1;
    double part = place - (double)low;
    *weight = part < 0 ? 0 : part > 1 ? 1 : part;
    return low;
}

/* ---- nearest ---- */
static void nearest_plane(const void *ctx, const char *from, char *to) {
    const resize_job *job = ctx;
    const int64_t item = rl_itemsize(job->dtype);
    const rl_strip copy = rl_strip_copy(item);
    for (int64_t h = 0; h < job->out[0]; h++)
        for (int64_t w = 0; w < job->out[1]; w++, to += item) {
            char *p[2] = {to, (char *)from + job->nearest[0][h] + job->nearest[1][w]};
            copy(p, (const int64_t[2]){0, 0}, 1, NULL);
        }
}

RL_KERNEL(ref_upsample_nearest2d) {
    resize_job job = {.plane = nearest_plane};
    resize_begin(k, &job);
    for (int i = 0; i < 2; i++) {
        job.nearest[i] = k->svc->scratch(k, RL_COUNT(job.out[i]), sizeof(int64_t));
        if (!job.nearest[i]) return RL_FAIL;
        for (int64_t o = 0; o < job.out[i]; o++)
            job.nearest[i][o] = rl_resize_nearest(k, 2 + i, job.size[i], job.out[i], o) * job.step[i];
    }
    return resize_end(k, &job);
}

/* ---- bilinear ---- */
static void bilinear_plane(const void *ctx, const char *from, char *to) {
    const resize_job *job = ctx;
    const int64_t item = rl_itemsize(job->dtype);
    for (int64_t h = 0; h < job->out[0]; h++) {
        const resize_tap *y = &job->taps[0][h];
        const char *up = from + y->low, *down = from + y->high;
        for (int64_t w = 0; w < job->out[1]; w++, to += item) {
            const resize_tap *x = &job->taps[1][w];
            double a = rl_row_double(job->dtype, up + x->low), b = rl_row_double(job->dtype, up + x->high);
            double c = rl_row_double(job->dtype, down + x->low),
                   d = rl_row_double(job->dtype, down + x->high);
            double top = a * (1 - x->weight) + b * x->weight, bottom = c * (1 - x->weight) + d * x->weight;
            rl_row_put_double(job->dtype, to, top * (1 - y->weight) + bottom * y->weight);
        }
    }
}

static void bilinear_taps(const rl_call *k, resize_job *job, int i) {
    for (int64_t o = 0; o < job->out[i]; o++) {
        double weight;
        int64_t low =
            rl_resize_linear(k, job->dtype, k->arg[2].u.i != 0, 3 + i, job->size[i], job->out[i], o, &weight);
        job->taps[i][o] =
            (resize_tap){low * job->step[i], (low + (low < job->size[i] - 1)) * job->step[i], weight};
    }
}

RL_KERNEL(ref_upsample_bilinear2d) {
    resize_job job = {.plane = bilinear_plane};
    resize_begin(k, &job);
    for (int i = 0; i < 2; i++) {
        job.taps[i] = k->svc->scratch(k, RL_COUNT(job.out[i]), sizeof(resize_tap));
        if (!job.taps[i]) return RL_FAIL;
        bilinear_taps(k, &job, i);
    }
    return resize_end(k, &job);
}
