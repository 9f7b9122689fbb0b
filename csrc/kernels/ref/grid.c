/* Images sampled at the points of a grid, and grids of affine maps. */
#include "kernels/shared/grid.h"
#include "loops.h"

/* ---- pictures sampled at the places of a grid, and the gradients: Note [Grid points] ---- */
/* A view by its bytes: of dims (N, C, spaces) or, a grid, (N, spaces, coordinates). */
typedef struct {
    char *at;
    int dtype;
    int64_t n, c, step[3]; /* step: along x, y, z; c: from channel to channel or coordinate to coordinate */
} field;

typedef struct {
    rl_grid g;
    field picture, places, direction, result; /* result: of the sampling, or its gradient */
    int64_t channels, n_places, size[3];      /* size: of the grid, along x, y, z */
    field to;
    rl_rooms rooms; /* a picture of one channel for each thread */
    int64_t volume;
} grid_job;

static field field_of(const rl_view *v, int mode, int channel) {
    const int64_t item = rl_itemsize(v->dtype);
    field f = {.at = rl_data(v, mode), .dtype = v->dtype, .n = v->strides[0] * item};
    f.c = v->strides[channel] * item;
    const int last = channel == 1 ? v->ndim - 1 : v->ndim - 2;
    for (int d = 0; d < v->ndim - 2; d++) f.step[d] = v->strides[last - d] * item;
    return f;
}

/* place number p of a picture as an offset */
static int64_t offset_of(const grid_job *job, const field *f, int64_t p) {
    int64_t offset = 0;
    for (int d = 0; d < job->g.dims; p /= job->size[d++]) offset += p % job->size[d] * f->step[d];
    return offset;
}

static void coordinates(const grid_job *job, const field *f, int64_t n, int64_t p, double *to) {
    const char *at = f->at + n * f->n + offset_of(job, f, p);
    for (int d = 0; d < job->g.dims; d++) to[d] = rl_row_double(f->dtype, at + d * f->c);
}

static void place_find(const grid_job *job, int64_t n, int64_t p, bool slopes, rl_grid_place *place) {
    double at[3], direction[3];
    coordinates(job, &job->places, n, p, at);
    if (job->direction.at) coordinates(job, &job->direction, n, p, direction);
    rl_grid_find(&job->g, at, job->direction.at ? direction : NULL, slopes, place);
}

static double place_sum(const grid_job *job, const rl_grid_place *place, const double *weight,
                        const char *from) {
    double sum = 0;
    for (int i = 0; i < place->n; i++) {
        const double x = place->at[i] < 0 ? 0 : rl_row_double(job->picture.dtype, from + place->at[i]);
        sum += weight[i] * x;
    }
    return sum;
}

/* args: pictures and grid, and behind `arg` the mode, padding, align_corners and perhaps a direction */
static void grid_begin(const rl_call *k, grid_job *job, const rl_view *picture, const rl_view *result,
                       int grid, int arg) {
    const rl_view *places = k->arg[grid].u.t, *direction = k->n_arg > arg + 3 ? rl_in(k, arg + 3) : NULL;
    job->g = rl_grid_read(k, picture, arg);
    job->channels = picture->shape[1];
    job->places = field_of(places, RL_READ, places->ndim - 1);
    if (direction) job->direction = field_of(direction, RL_READ, direction->ndim - 1);
    job->n_places = 1;
    for (int d = 0; d < job->g.dims; d++) {
        job->size[d] = result->shape[result->ndim - 1 - d];
        job->n_places *= job->size[d];
    }
}

static const double PLACE_NS = 100;

/* ---- the samples ---- */
static void sample_places(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    rl_grid_place place;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->n_places, p = i % job->n_places;
        char *to = job->result.at + n * job->result.n + offset_of(job, &job->result, p);
        place_find(job, n, p, false, &place);
        for (int64_t c = 0; c < job->channels; c++) {
            const char *from = job->picture.at + n * job->picture.n + c * job->picture.c;
            rl_row_put_double(job->result.dtype, to + c * job->result.c,
                              place_sum(job, &place, place.weight, from));
        }
    }
}

RL_KERNEL(ref_grid_sampler) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    grid_job job = {.volume = 0};
    if (out->numel == 0) return RL_OK;
    grid_begin(k, &job, x, out, 1, 2);
    job.picture = field_of(x, RL_READ, 1);
    job.result = field_of(out, RL_WRITE, 1);
    for (int d = 0; d < job.g.dims; d++) job.g.step[d] = job.picture.step[d];
    k->svc->parallel(k, x->shape[0] * job.n_places, PLACE_NS + 10 * (double)job.channels, sample_places,
                     &job);
    return RL_OK;
}

/* ---- back to the picture: (grad_output, grid, input_size, ...) ---- */
static void spread_pictures(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    double *sums = (double *)rl_room(&job->rooms, thread);
    const int64_t item = rl_itemsize(job->to.dtype);
    rl_grid_place place;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->channels, c = i % job->channels;
        const char *from = job->result.at + n * job->result.n + c * job->result.c;
        for (int64_t v = 0; v < job->volume; v++) sums[v] = 0;
        for (int64_t p = 0; p < job->n_places; p++) {
            const double grad = rl_row_double(job->result.dtype, from + offset_of(job, &job->result, p));
            place_find(job, n, p, false, &place);
            for (int j = 0; j < place.n; j++)
                if (place.at[j] >= 0) sums[place.at[j]] += grad * place.weight[j];
        }
        rl_row_put_doubles(job->to.dtype, job->to.at + i * job->volume * item, item, job->volume, sums);
    }
}

RL_KERNEL(ref_grid_sampler_input) {
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    grid_job job = {.volume = 1};
    if (out->numel == 0) return RL_OK;
    grid_begin(k, &job, out, grad, 1, 3);
    job.result = field_of(grad, RL_READ, 1);
    job.to = field_of(out, RL_WRITE, 1);
    for (int d = 0; d < job.g.dims; d++) { /* the sums lie side by side */
        job.g.step[d] = job.volume;
        job.volume *= job.g.size[d];
    }
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(job.volume), sizeof(double), &job.rooms)) return RL_FAIL;
    k->svc->parallel(k, out->shape[0] * job.channels, (PLACE_NS + 10) * (double)job.n_places, spread_pictures,
                     &job);
    return RL_OK;
}

/* ---- back to the grid: (grad_output, input, grid, ...) ---- */
static void slope_places(void *ctx, int64_t begin, int64_t end, int thread) {
    const grid_job *job = ctx;
    rl_grid_place place;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = i / job->n_places, p = i % job->n_places;
        const char *grad = job->result.at + n * job->result.n + offset_of(job, &job->result, p);
        const char *from = job->picture.at + n * job->picture.n;
        double sum[3] = {0, 0, 0};
        place_find(job, n, p, true, &place);
        for (int64_t c = 0; c < job->channels; c++) {
            const double g = rl_row_double(job->result.dtype, grad + c * job->result.c);
            for (int d = 0; d < job->g.dims; d++)
                sum[d] += g * place_sum(job, &place, place.slope[d], from + c * job->picture.c);
        }
        char *to = job->to.at + n * job->to.n + offset_of(job, &job->to, p);
        for (int d = 0; d < job->g.dims; d++) rl_row_put_double(job->to.dtype, to + d * job->to.c, sum[d]);
    }
}

RL_KERNEL(ref_grid_sampler_grid) {
    const rl_view *grad = k->arg[0].u.t, *x = k->arg[1].u.t, *out = k->out[0];
    grid_job job = {.volume = 0};
    if (out->numel == 0) return RL_OK;
    grid_begin(k, &job, x, grad, 2, 3);
    job.picture = field_of(x, RL_READ, 1);
    job.result = field_of(grad, RL_READ, 1);
    job.to = field_of(out, RL_WRITE, out->ndim - 1);
    for (int d = 0; d < job.g.dims; d++) job.g.step[d] = job.picture.step[d];
    k->svc->parallel(k, x->shape[0] * job.n_places, PLACE_NS + 30 * (double)job.channels, slope_places, &job);
    return RL_OK;
}

/* ---- grids of affine maps: the product of each place's coordinates, and 1, with a matrix ---- */
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
    rl_iter w;
    rl_iter_begin(&w, grad, RL_READ);
    rl_iter_add(&w, grad);
    const int64_t item = rl_itemsize(grad->dtype);
    int64_t step = item;
    w.base[0] = dense;
    for (int d = grad->ndim - 1; d >= 0; step *= grad->shape[d--]) w.stride[0][d] = step;
    rl_iter_merge(&w);
    if (grad->numel) rl_iter_parallel(k, &w, RL_REF_NS, rl_inner_loop_copy(item), NULL);
    job.theta = dense;
    job.n = out->strides[0] * item, job.row = out->strides[1] * item, job.col = out->strides[2] * item;
    k->svc->parallel(k, out->shape[0], 40 * (double)job.n_places, matrix_sums, &job);
    return RL_OK;
}
