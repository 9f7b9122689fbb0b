/* Grids of affine maps: the product of each place's coordinates, and 1, with a matrix. */
#include "loops.h"

typedef struct {
    int dims, dtype;
    bool wide;
    int64_t size[3], n_places; /* along x, y, z */
    double *line[3];           /* coordinates of the places of each dim */
    const char *theta;
    int64_t n, row, col; /* byte steps of the matrices */
    char *to;
} affine_job;

static double rounded(const affine_job *job, double x) {
    return job->wide ? x : (double)(float)x;
}

/* -1 to 1: middles of elements, or of the first and the last one; in PyTorch's steps from both ends */
static void line_fill(const affine_job *job, int64_t n, bool corners, double *to) {
    const double step = n > 1 ? rounded(job, 2 / rounded(job, (double)(n - 1))) : 0;
    const double inner = corners ? 1 : (double)(n - 1), outer = corners ? 1 : (double)n;
    for (int64_t i = 0; i < n; i++) {
        double x = n == 1      ? 0
                   : i < n / 2 ? rounded(job, -1 + step * (double)i)
                               : rounded(job, 1 - step * (double)(n - 1 - i));
        to[i] = rounded(job, rounded(job, x * inner) / outer);
    }
}

static rl_status affine_begin(rl_call *k, affine_job *job, const rl_view *grid) {
    job->dims = grid->ndim - 2;
    job->dtype = grid->dtype;
    job->wide = grid->dtype == RL_F64;
    job->n_places = 1;
    for (int d = 0; d < job->dims; d++) {
        job->size[d] = grid->shape[grid->ndim - 2 - d];
        job->n_places *= job->size[d];
        job->line[d] = k->svc->scratch(k, RL_COUNT(job->size[d]), sizeof(double));
        if (!job->line[d]) return RL_FAIL;
        line_fill(job, job->size[d], k->arg[2].u.i != 0, job->line[d]);
    }
    return RL_OK;
}

static void place_of(const affine_job *job, int64_t p, double *at) {
    for (int d = 0; d < job->dims; p /= job->size[d++]) at[d] = job->line[d][p % job->size[d]];
    at[job->dims] = 1;
}

static void affine_places(void *ctx, int64_t begin, int64_t end, int thread) {
    const affine_job *job = ctx;
    const int64_t item = rl_itemsize(job->dtype);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const char *theta = job->theta + i / job->n_places * job->n;
        double at[4];
        place_of(job, i % job->n_places, at);
        for (int d = 0; d < job->dims; d++) {
            double sum = 0;
            for (int e = 0; e <= job->dims; e++)
                sum += at[e] * rl_row_double(job->dtype, theta + d * job->row + e * job->col);
            rl_row_put_double(job->dtype, job->to + (i * job->dims + d) * item, sum);
        }
    }
}

RL_KERNEL(ref_affine_grid_generator) {
    const rl_view *theta = k->arg[0].u.t, *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    affine_job job = {.theta = rl_const_data(theta), .to = rl_data(out, RL_WRITE)};
    if (out->numel == 0) return RL_OK;
    if (affine_begin(k, &job, out) != RL_OK) return RL_FAIL;
    job.n = theta->strides[0] * item, job.row = theta->strides[1] * item, job.col = theta->strides[2] * item;
    k->svc->parallel(k, out->shape[0] * job.n_places, 40, affine_places, &job);
    return RL_OK;
}

/* ---- the gradient: (grad, size, align_corners) ---- */
static void matrix_sums(void *ctx, int64_t begin, int64_t end, int thread) {
    const affine_job *job = ctx;
    const int64_t item = rl_itemsize(job->dtype), width = job->dims + 1;
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        double sum[3][4] = {{0}}, at[4];
        for (int64_t p = 0; p < job->n_places; p++) {
            const char *grad = job->theta + (n * job->n_places + p) * job->dims * item;
            place_of(job, p, at);
            for (int d = 0; d < job->dims; d++)
                for (int64_t e = 0; e < width; e++)
                    sum[d][e] += at[e] * rl_row_double(job->dtype, grad + d * item);
        }
        for (int d = 0; d < job->dims; d++)
            rl_row_put_doubles(job->dtype, job->to + n * job->n + d * job->row, job->col, width, sum[d]);
    }
}

RL_KERNEL(ref_affine_grid_generator_back) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    affine_job job = {.to = rl_data(out, RL_WRITE)};
    void *dense = k->svc->scratch(k, RL_COUNT(grad->numel), rl_itemsize(grad->dtype));
    if (!dense || affine_begin(k, &job, grad) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    rl_walk w;
    rl_walk_begin(&w, grad, RL_READ);
    rl_walk_add(&w, grad);
    const int64_t item = rl_itemsize(grad->dtype);
    int64_t step = item;
    w.base[0] = dense;
    for (int d = grad->ndim - 1; d >= 0; step *= grad->shape[d--]) w.stride[0][d] = step;
    rl_walk_merge(&w);
    if (grad->numel) rl_walk_parallel(k, &w, RL_REF_NS, rl_strip_copy(item), NULL);
    job.theta = dense;
    job.n = out->strides[0] * item, job.row = out->strides[1] * item, job.col = out->strides[2] * item;
    k->svc->parallel(k, out->shape[0], 40 * (double)job.n_places, matrix_sums, &job);
    return RL_OK;
}
