/* The engine of reductions, and sums, products, means, variances, any and all. */
#include "reduce.h"
#include <math.h>

typedef struct {
    const rl_reduction *how;
    rl_walk kept, reduced; /* operand 0: the input's elements */
    rl_view *out[2];
    int in_dtype, width;
    int64_t row; /* outputs of a row of tiles */
    double correction;
    char *to[2];
} reduce_job;

typedef struct {
    const reduce_job *job;
    rl_tile *tile;
    char *shift; /* from the walk's first element to the tile's */
    int64_t rows, first;
    union {
        double d[RL_BLOCK];
        int64_t i[RL_BLOCK];
    } x;
} reduce_pass;

static void pass_flush(reduce_pass *pass) {
    const rl_reduction *how = pass->job->how;
    if (pass->rows == 0) return;
    if (pass->tile->floats)
        how->fold_doubles(pass->tile, pass->x.d, pass->rows, pass->first);
    else
        how->fold_ints(pass->tile, pass->x.i, pass->rows, pass->first);
    pass->first += pass->rows;
    pass->rows = 0;
}

static void pass_load(reduce_pass *pass, const char *p, int64_t step, int64_t n, int64_t at) {
    if (pass->tile->floats)
        rl_row_doubles(pass->job->in_dtype, p, step, n, pass->x.d + at);
    else
        rl_row_ints(pass->job->in_dtype, p, step, n, pass->x.i + at);
}

static void pass_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reduce_pass *pass = (reduce_pass *)ctx;
    const rl_walk *kept = &pass->job->kept;
    int64_t width = pass->tile->width, most = RL_BLOCK / width;
    for (int64_t at = 0; at < n;) {
        if (pass->rows == most) pass_flush(pass);
        const char *from = p[0] + at * step[0];
        int64_t m = width > 1 ? 1 : n - at < most - pass->rows ? n - at : most - pass->rows;
        pass_load(pass, from, width > 1 ? kept->stride[0][kept->ndim - 1] : step[0], width > 1 ? width : m,
                  pass->rows * width);
        pass->rows += m;
        at += m;
    }
}

/* one tile: `width` outputs from number `at` */
static void reduce_tile(const reduce_job *job, int64_t at, int width) {
    const rl_reduction *how = job->how;
    rl_tile tile = {.floats = rl_is_float(job->in_dtype), .width = width};
    reduce_pass pass = {.job = job, .tile = &tile};
    rl_walk reduced = job->reduced;
    char *base = job->kept.base[0];
    int n = 0;
    rl_walk_seek(&job->kept, at, &base);
    reduced.base[0] = base;
    do {
        pass.first = 0;
        how->start(&tile);
        rl_walk_range(&reduced, 0, reduced.numel, pass_strip, &pass);
        pass_flush(&pass);
    } while (how->finish(&tile, reduced.numel, n++, job->correction));
    int64_t item = rl_itemsize(job->out[0]->dtype),
            other = how->two_outs ? rl_itemsize(job->out[1]->dtype) : 0;
    if (how->floats_out && tile.floats)
        rl_row_put_doubles(job->out[0]->dtype, job->to[0] + at * item, item, width, tile.a);
    else
        rl_row_put_ints(job->out[0]->dtype, job->to[0] + at * item, item, width, tile.i);
    if (how->two_outs && rl_is_float(job->out[1]->dtype))
        rl_row_put_doubles(job->out[1]->dtype, job->to[1] + at * other, other, width, tile.b);
    else if (how->two_outs)
        rl_row_put_ints(job->out[1]->dtype, job->to[1] + at * other, other, width, tile.at);
}

static void reduce_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const reduce_job *job = ctx;
    int64_t tiles = (job->row + job->width - 1) / job->width; /* in one row */
    (void)thread;
    for (int64_t t = begin; t < end; t++) {
        int64_t from = t % tiles * job->width, left = job->row - from;
        reduce_tile(job, t / tiles * job->row + from, (int)(left < job->width ? left : job->width));
    }
}

rl_status rl_reduce(rl_call *k, const rl_reduction *how, double correction) {
    const rl_view *x = k->arg[0].u.t;
    uint64_t mask = (uint64_t)k->attr[0];
    reduce_job job = {.how = how, .in_dtype = x->dtype, .correction = correction};
    if (k->out[0]->numel == 0) return RL_OK;
    for (int i = 0; i < 1 + how->two_outs; i++) {
        job.out[i] = k->out[i];
        job.to[i] = rl_data(k->out[i], RL_WRITE);
    }
    rl_walk_begin(&job.kept, x, RL_READ);
    job.reduced = job.kept;
    rl_walk_drop(&job.kept, mask);
    rl_walk_drop(&job.reduced, ~mask);
    rl_walk_merge(&job.kept);
    rl_walk_merge(&job.reduced);
    const rl_walk *kept = &job.kept, *reduced = &job.reduced;
    job.row = kept->size[kept->ndim - 1];
    int64_t across = kept->stride[0][kept->ndim - 1], along = reduced->stride[0][reduced->ndim - 1];
    bool beside = job.row > 1 && across == rl_itemsize(x->dtype) && along != across && reduced->numel > 1;
    job.width = beside ? RL_TILE : 1;
    int64_t tiles = kept->numel / job.row * ((job.row + job.width - 1) / job.width);
    int64_t cost = (reduced->numel + 16) * job.width;
    k->svc->parallel(k, tiles, RL_REF_NS * (double)cost, reduce_part, &job);
    return RL_OK;
}

/* ---- sums ---- */
/* Note [Compensated blocks]
 * A block is summed in eight lanes, then added to the total with the rounding error carried in t->b
 * (Neumaier, 1974): the error does not grow with the number of elements. */
static void compensated_add(double *sum, double *error, double x) {
    double total = *sum + x;
    *error += fabs(*sum) >= fabs(x) ? *sum - total + x : x - total + *sum;
    *sum = total;
}

static double lanes_sum(const double *x, int64_t n) {
    double lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) lane[j] += x[i + j];
    for (; i < n; i++) lane[i & 7] += x[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static void sum_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = t->b[j] = 0, t->i[j] = 0;
}

void rl_sum_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    double part[RL_TILE] = {0};
    const int width = t->width;
    (void)first;
    if (width == 1) {
        compensated_add(&t->a[0], &t->b[0], lanes_sum(x, rows));
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < width; j++) part[j] += x[r * width + j];
    for (int j = 0; j < width; j++) compensated_add(&t->a[j], &t->b[j], part[j]);
}

void rl_sum_ints(rl_tile *t, const int64_t *x, int64_t rows, int64_t first) {
    (void)first;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) t->i[j] = RL_WRAP(t->i[j], +, x[r * t->width + j]);
}

/* infinities leave NaN in the error term: then the plain total is the answer */
static double sum_total(const rl_tile *t, int j) {
    return isfinite(t->b[j]) ? t->a[j] + t->b[j] : t->a[j];
}

bool rl_sum_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)count, (void)pass, (void)correction;
    for (int j = 0; j < t->width; j++) t->a[j] = sum_total(t, j);
    return false;
}

static bool mean_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)pass, (void)correction;
    for (int j = 0; j < t->width; j++) t->a[j] = sum_total(t, j) / (double)count;
    return false;
}

RL_KERNEL(ref_sum) {
    static const rl_reduction how = {sum_start, rl_sum_doubles, rl_sum_ints, rl_sum_finish, true, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_mean) {
    static const rl_reduction how = {sum_start, rl_sum_doubles, rl_sum_ints, mean_finish, true, false};
    return rl_reduce(k, &how, 0);
}

/* ---- variance: one pass for the mean, one for the squares around it ---- */
static void var_start(rl_tile *t) {
    sum_start(t);
}

void rl_var_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    double square[RL_BLOCK];
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) {
            double d = x[r * t->width + j] - t->mean[j];
            square[r * t->width + j] = t->at[0] ? d * d : x[r * t->width + j];
        }
    rl_sum_doubles(t, square, rows, first);
}

bool rl_var_finish(rl_tile *t, int64_t count, int pass, double correction) {
    double left = (double)count - correction;
    t->at[0] = 1; /* from now on squares */
    for (int j = 0; j < t->width; j++) {
        if (pass == 0)
            t->mean[j] = sum_total(t, j) / (double)count;
        else
            t->a[j] = sum_total(t, j) / (left > 0 ? left : 0);
    }
    return pass == 0;
}

static bool std_finish(rl_tile *t, int64_t count, int pass, double correction) {
    bool again = rl_var_finish(t, count, pass, correction);
    for (int j = 0; !again && j < t->width; j++) t->a[j] = sqrt(t->a[j]);
    return again;
}

/* the correction argument may be a fraction; the shape rules leave whole numbers in attr[1] */
double rl_correction(const rl_call *k) {
    return k->n_arg > 2 && k->arg[2].tag == RL_FLOAT ? k->arg[2].u.d : (double)k->attr[1];
}

RL_KERNEL(ref_var) {
    static const rl_reduction how = {var_start, rl_var_doubles, NULL, rl_var_finish, true, false};
    return rl_reduce(k, &how, rl_correction(k));
}

RL_KERNEL(ref_std) {
    static const rl_reduction how = {var_start, rl_var_doubles, NULL, std_finish, true, false};
    return rl_reduce(k, &how, rl_correction(k));
}

/* ---- products ---- */
static void prod_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = 1, t->i[j] = 1;
}

static void prod_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    (void)first;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) t->a[j] *= x[r * t->width + j];
}

static void prod_ints(rl_tile *t, const int64_t *x, int64_t rows, int64_t first) {
    (void)first;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) t->i[j] = RL_WRAP(t->i[j], *, x[r * t->width + j]);
}

static bool as_is_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)t, (void)count, (void)pass, (void)correction;
    return false;
}

RL_KERNEL(ref_prod) {
    static const rl_reduction how = {prod_start, prod_doubles, prod_ints, as_is_finish, true, false};
    return rl_reduce(k, &how, 0);
}

/* ---- any and all: t->i, for floats as well ---- */
static void any_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->i[j] = 0;
}
static void all_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->i[j] = 1;
}
#define TRUTH_FOLD(name, T, op)                                                                              \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        (void)first;                                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) t->i[j] op(x[r * t->width + j] != 0);                         \
    }
TRUTH_FOLD(any_doubles, double, |=)
TRUTH_FOLD(any_ints, int64_t, |=)
TRUTH_FOLD(all_doubles, double, &=)
TRUTH_FOLD(all_ints, int64_t, &=)

RL_KERNEL(ref_any) {
    static const rl_reduction how = {any_start, any_doubles, any_ints, as_is_finish, false, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_all) {
    static const rl_reduction how = {all_start, all_doubles, all_ints, as_is_finish, false, false};
    return rl_reduce(k, &how, 0);
}
