/* Reductions: sums, products, moments, extremes, scans, segments. */
#include "reduce.h"
#include "lines.h"
#include "loops.h"
#include <math.h>

/* ---- the engine of reductions, and sums, products, means, variances, any and all ---- */
typedef struct {
    const rl_reduction *how;
    rl_iter kept, reduced; /* operand 0: the input's elements */
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

static void pass_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reduce_pass *pass = (reduce_pass *)ctx;
    const rl_iter *kept = &pass->job->kept;
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
    rl_iter reduced = job->reduced;
    char *base = job->kept.base[0];
    int n = 0;
    rl_iter_seek(&job->kept, at, &base);
    reduced.base[0] = base;
    do {
        pass.first = 0;
        how->start(&tile);
        rl_iter_range(&reduced, 0, reduced.numel, pass_loop, &pass);
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
    rl_iter_begin(&job.kept, x, RL_READ);
    job.reduced = job.kept;
    rl_iter_drop(&job.kept, mask);
    rl_iter_drop(&job.reduced, ~mask);
    rl_iter_merge(&job.kept);
    rl_iter_merge(&job.reduced);
    const rl_iter *kept = &job.kept, *reduced = &job.reduced;
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

/* ---- logsumexp, sums without NaN, counts, and variances together with their means ---- */
static void zero_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = t->b[j] = 0, t->i[j] = 0;
}

/* ---- the largest element first, then powers below it ---- */
static void powers_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = -INFINITY, t->b[j] = 0;
}

static void powers_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    (void)first;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) {
            double v = x[r * t->width + j];
            if (t->at[0])
                t->b[j] += exp(v - t->mean[j]);
            else if (v > t->a[j] || v != v)
                t->a[j] = v;
        }
}

static bool powers_finish(rl_tile *t, int64_t count, int pass, double number) {
    (void)count, (void)number;
    t->at[0] = 1; /* from now on powers */
    for (int j = 0; j < t->width; j++) {
        if (pass == 0)
            t->mean[j] = isfinite(t->a[j]) ? t->a[j] : 0;
        else
            t->a[j] = t->mean[j] + log(t->b[j]);
    }
    return pass == 0;
}

RL_KERNEL(ref_logsumexp) {
    static const rl_reduction how = {powers_start, powers_doubles, NULL, powers_finish, true, false};
    return rl_reduce(k, &how, 0);
}

/* ---- sums and counts ---- */
static void nansum_doubles(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    double numbers[RL_BLOCK];
    for (int64_t i = 0; i < rows * t->width; i++) numbers[i] = x[i] == x[i] ? x[i] : 0;
    rl_sum_doubles(t, numbers, rows, first);
}

RL_KERNEL(ref_nansum) {
    static const rl_reduction how = {zero_start, nansum_doubles, rl_sum_ints, rl_sum_finish, true, false};
    return rl_reduce(k, &how, 0);
}

#define COUNT_FOLD(name, T)                                                                                  \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        (void)first;                                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) t->i[j] += x[r * t->width + j] != 0;                          \
    }
COUNT_FOLD(count_doubles, double)
COUNT_FOLD(count_ints, int64_t)

RL_KERNEL(ref_count_nonzero) {
    static const rl_reduction how = {zero_start, count_doubles, count_ints, as_is_finish, false, false};
    return rl_reduce(k, &how, 0);
}

/* ---- variance and mean ---- */
static bool var_mean_finish(rl_tile *t, int64_t count, int pass, double correction) {
    bool again = rl_var_finish(t, count, pass, correction);
    for (int j = 0; !again && j < t->width; j++) t->b[j] = t->mean[j];
    return again;
}

static bool std_mean_finish(rl_tile *t, int64_t count, int pass, double correction) {
    bool again = var_mean_finish(t, count, pass, correction);
    for (int j = 0; !again && j < t->width; j++) t->a[j] = sqrt(t->a[j]);
    return again;
}

RL_KERNEL(ref_var_mean) {
    static const rl_reduction how = {zero_start, rl_var_doubles, NULL, var_mean_finish, true, true};
    return rl_reduce(k, &how, rl_correction(k));
}

RL_KERNEL(ref_std_mean) {
    static const rl_reduction how = {zero_start, rl_var_doubles, NULL, std_mean_finish, true, true};
    return rl_reduce(k, &how, rl_correction(k));
}

/* Largest and smallest elements and where they are. NaN beats every number; the first of equals wins. */
static void extreme_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->at[j] = -1; /* nothing seen */
}

#define EXTREME_FOLD(name, T, best, beats)                                                                   \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const T v = x[r * t->width + j], old = t->best[j];                                           \
                if (t->at[j] < 0 || (beats)) t->best[j] = v, t->at[j] = first + r;                           \
            }                                                                                                \
    }
EXTREME_FOLD(max_doubles, double, a, (v > old || (v != v && old == old)))
EXTREME_FOLD(max_ints, int64_t, i, v > old)
EXTREME_FOLD(min_doubles, double, a, (v < old || (v != v && old == old)))
EXTREME_FOLD(min_ints, int64_t, i, v < old)

static bool value_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)t, (void)count, (void)pass, (void)correction;
    return false;
}

static bool place_finish(rl_tile *t, int64_t count, int pass, double correction) {
    (void)count, (void)pass, (void)correction;
    for (int j = 0; j < t->width; j++) t->i[j] = t->at[j];
    return false;
}

RL_KERNEL(ref_amax) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, value_finish, true, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_amin) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, value_finish, true, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_max_dim) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_min_dim) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_argmax) {
    static const rl_reduction how = {extreme_start, max_doubles, max_ints, place_finish, false, false};
    return rl_reduce(k, &how, 0);
}

RL_KERNEL(ref_argmin) {
    static const rl_reduction how = {extreme_start, min_doubles, min_ints, place_finish, false, false};
    return rl_reduce(k, &how, 0);
}

/* ---- both: the smallest in a (or i), the largest in b (or at) ---- */
#define BOTH_FOLD(name, T, least, most, is_nan)                                                              \
    static void name(rl_tile *t, const T *x, int64_t rows, int64_t first) {                                  \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const T v = x[r * t->width + j];                                                             \
                const bool wins = first + r == 0 || (is_nan);                                                \
                if (wins || v < t->least[j]) t->least[j] = v;                                                \
                if (wins || v > t->most[j]) t->most[j] = v;                                                  \
            }                                                                                                \
    }
BOTH_FOLD(both_doubles, double, a, b, v != v)
BOTH_FOLD(both_ints, int64_t, i, at, false)

RL_KERNEL(ref_aminmax) {
    static const rl_reduction how = {extreme_start, both_doubles, both_ints, value_finish, true, true};
    return rl_reduce(k, &how, 0);
}

/* ---- running sums and products ---- */
#define SCAN(name, start, float_op, int_op)                                                                  \
    static void name##_line(const rl_line_job *job, rl_line *l, char *const *p) {                            \
        rl_element total = {.i = start};                                                                     \
        if (job->floats) total.d = start;                                                                    \
        for (int64_t i = 0; i < job->n; i++) {                                                               \
            if (job->floats)                                                                                 \
                l->values[i].d = total.d = total.d float_op l->values[i].d;                                  \
            else                                                                                             \
                l->values[i].i = total.i = RL_WRAP(total.i, int_op, l->values[i].i);                         \
        }                                                                                                    \
        if (job->floats)                                                                                     \
            rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);                       \
        else                                                                                                 \
            rl_row_put_ints(job->dtype, p[0], job->step[0], job->n, &l->values->i);                          \
    }                                                                                                        \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_line_job job = {.run = name##_line};                                                              \
        return rl_lines_run(k, &job);                                                                        \
    }
SCAN(cumsum, 0, +, +)
SCAN(cumprod, 1, *, *)

/* ---- running logarithms of sums of powers; running extremes and where they stand ---- */
static double log_add(double a, double b) {
    double high = a > b || a != a ? a : b, low = high == a ? b : a;
    if (high == low && isinf(high)) return high;
    return high + log1p(exp(low - high));
}

static void logcumsumexp_line(const rl_line_job *job, rl_line *l, char *const *p) {
    double total = -INFINITY;
    for (int64_t i = 0; i < job->n; i++) l->values[i].d = total = log_add(total, l->values[i].d);
    rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);
}

RL_KERNEL(ref_logcumsumexp) {
    rl_line_job job = {.run = logcumsumexp_line};
    return rl_lines_run(k, &job);
}

/* the last of equals is where it stands; a NaN is the extreme from then on, and the last of them */
#define EXTREME(name, op)                                                                                    \
    static void name##_line(const rl_line_job *job, rl_line *l, char *const *p) {                            \
        rl_element best = l->values[0];                                                                      \
        int64_t at = 0;                                                                                      \
        for (int64_t i = 0; i < job->n; i++) {                                                               \
            const rl_element x = l->values[i];                                                               \
            if (job->floats ? x.d != x.d || x.d op best.d : x.i op best.i) best = x, at = i;                 \
            l->values[i] = best, l->places[i] = at;                                                          \
        }                                                                                                    \
        if (job->floats)                                                                                     \
            rl_row_put_doubles(job->dtype, p[0], job->step[0], job->n, &l->values->d);                       \
        else                                                                                                 \
            rl_row_put_ints(job->dtype, p[0], job->step[0], job->n, &l->values->i);                          \
        rl_row_put_ints(RL_I64, p[1], job->step[1], job->n, l->places);                                      \
    }                                                                                                        \
    RL_KERNEL(ref_##name) {                                                                                  \
        rl_line_job job = {.run = name##_line};                                                              \
        return rl_lines_run(k, &job);                                                                        \
    }
EXTREME(cummax, >=)
EXTREME(cummin, <=)

/* Reductions over segments of one dimension, and their gradient.
 *
 * A line is the elements of data along the axis. Where its segments begin and end is read while it is
 * reduced, and kept inside of the line: another thread may write to lengths and offsets meanwhile. */
enum { SUM, MEAN, PROD, MOST, LEAST, CHUNK = 256 };
enum { GOOD, NEGATIVE, UNEVEN };
typedef struct {
    rl_iter lines, more;                   /* operands: output, data, segments; gradient, result */
    int64_t step[5];                       /* bytes along the axis */
    int64_t n, segments;                   /* elements of a line, segments of it */
    int dtype, marks, kind;                /* of data, of lengths or offsets */
    bool offsets, checked, given, outputs; /* given: an initial value; outputs: more operands */
    double initial;
    int bad;
} segment_job;
typedef struct {
    int64_t first, n;
} segment;

static int64_t mark(const segment_job *job, char *const *p, int64_t i) {
    int64_t value;
    rl_row_ints(job->marks, p[2] + i * job->step[2], 0, 1, &value);
    return value;
}

static segment segment_next(const segment_job *job, char *const *p, int64_t i, int64_t end) {
    int64_t first = job->offsets ? mark(job, p, i) : end;
    first = first < 0 ? 0 : first > job->n ? job->n : first;
    int64_t stop = job->offsets ? mark(job, p, i + 1) : 0, n = job->offsets ? stop : mark(job, p, i);
    if (job->offsets) n = stop <= first ? 0 : stop - first;
    return (segment){first, n < 0 ? 0 : n > job->n - first ? job->n - first : n};
}

static double join(int kind, double a, double x) {
    switch (kind) {
    case PROD: return a * x;
    case MOST: return a != a || a > x ? a : x;
    case LEAST: return a != a || a < x ? a : x;
    default: return a + x;
    }
}

static double line_fold(const segment_job *job, const char *from, segment s, int64_t skip) {
    static const double neutral[] = {0, 0, 1, -INFINITY, INFINITY};
    double x[CHUNK], all = job->given ? job->initial : neutral[job->kind];
    for (int64_t at = 0, m; at < s.n; at += m) {
        m = s.n - at < CHUNK ? s.n - at : CHUNK;
        rl_row_doubles(job->dtype, from + (s.first + at) * job->step[1], job->step[1], m, x);
        for (int64_t i = 0; i < m; i++)
            if (at + i != skip) all = join(job->kind, all, x[i]);
    }
    return all;
}

static void reduce_line(const segment_job *job, char *const *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < job->segments; i++) {
        segment s = segment_next(job, p, i, end);
        double all = line_fold(job, p[1], s, -1);
        if (job->kind == MEAN && s.n) all /= (double)s.n;
        if (job->kind == MEAN && !s.n && !job->given) all = NAN;
        rl_row_put_double(job->dtype, p[0] + i * job->step[0], all);
        end = s.first + s.n;
    }
}

static double element(const segment_job *job, const char *p) {
    return rl_row_double(job->dtype, p);
}

/* what goes to element i of a segment; share: how many are the extreme */
static double element_grad(const segment_job *job, const char *from, segment s, int64_t i, double grad,
                           double result, double share) {
    double x = element(job, from + (s.first + i) * job->step[1]);
    switch (job->kind) {
    case MEAN: return grad / (double)s.n;
    case PROD: return grad * (x == 0 || x != x ? line_fold(job, from, s, i) : result / x);
    case MOST:
    case LEAST: return x != x || x == result ? grad / share : 0;
    default: return grad;
    }
}

static double extremes(const segment_job *job, const char *from, segment s, double result) {
    double n = 0;
    for (int64_t i = 0; i < s.n; i++) {
        double x = element(job, from + (s.first + i) * job->step[1]);
        n += x != x || x == result;
    }
    return n;
}

static void backward_line(const segment_job *job, char *const *p) {
    int64_t end = 0;
    for (int64_t i = 0; i < job->n; i++) rl_row_put_double(job->dtype, p[0] + i * job->step[0], 0);
    for (int64_t i = 0; i < job->segments; i++) {
        segment s = segment_next(job, p, i, end);
        double grad = element(job, p[3] + i * job->step[3]), result = element(job, p[4] + i * job->step[4]);
        double share = job->kind >= MOST ? extremes(job, p[1], s, result) : 1;
        for (int64_t j = 0; j < s.n; j++)
            rl_row_put_double(job->dtype, p[0] + (s.first + j) * job->step[0],
                              element_grad(job, p[1], s, j, grad, result, share));
        end = s.first + s.n;
    }
}

/* lengths must cover the line */
static int line_check(const segment_job *job, char *const *p) {
    int64_t all = 0;
    for (int64_t i = 0; i < job->segments; i++) {
        int64_t n = mark(job, p, i);
        if (n < 0) return NEGATIVE;
        all = RL_WRAP(all, +, n);
        if (n > job->n || all > job->n) return UNEVEN;
    }
    return all == job->n ? GOOD : UNEVEN;
}

static void segment_part(void *ctx, int64_t begin, int64_t end, int thread) {
    segment_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[5];
        for (int op = 0; op < 3; op++) p[op] = job->lines.base[op];
        rl_iter_seek(&job->lines, i, p);
        for (int op = 0; job->outputs && op < 2; op++) p[3 + op] = job->more.base[op];
        if (job->outputs) rl_iter_seek(&job->more, i, p + 3);
        int bad = job->checked ? line_check(job, p) : GOOD;
        if (bad)
            __atomic_store_n(&job->bad, bad, __ATOMIC_RELAXED);
        else if (job->outputs)
            backward_line(job, p);
        else
            reduce_line(job, p);
    }
}

/* one more operand, of as many dims as lead to its axis; answers its step along that */
static int64_t operand(rl_iter *w, const rl_view *v, int64_t axis) {
    const int op = w->nops++;
    const int64_t item = rl_itemsize(v->dtype);
    w->base[op] = rl_data(v, RL_READ);
    for (int d = 0; d < w->ndim; d++) w->stride[op][d] = d < v->ndim ? v->strides[d] * item : 0;
    return w->stride[op][axis];
}

static rl_status segments_run(rl_call *k, segment_job *job, const rl_view *data, const rl_view *marks,
                              int initial) {
    const int64_t axis = k->attr[0];
    if (k->out[0]->numel == 0) return RL_OK;
    job->kind = (int)k->attr[1];
    job->dtype = data->dtype, job->marks = marks->dtype;
    job->n = data->shape[axis];
    job->segments = marks->shape[axis] - job->offsets;
    job->given = k->arg[initial].tag != RL_NONE;
    if (job->given) job->initial = rl_num(k, initial);
    rl_iter_begin(&job->lines, k->out[0], RL_WRITE);
    job->step[0] = job->lines.stride[0][axis];
    job->more = job->lines;
    job->step[1] = operand(&job->lines, data, axis);
    job->step[2] = operand(&job->lines, marks, axis);
    rl_iter_drop(&job->lines, 1ull << axis);
    if (job->outputs) {
        job->more.nops = 0;
        job->step[3] = operand(&job->more, rl_in(k, 0), axis);
        job->step[4] = operand(&job->more, rl_in(k, 1), axis);
        rl_iter_drop(&job->more, 1ull << axis);
    }
    k->svc->parallel(k, job->lines.numel, 8 * RL_REF_NS * (double)(job->n + job->segments + 1), segment_part,
                     job);
    if (job->bad == NEGATIVE) return rl_fail(k, RL_RUNTIME, "lengths contains negative value!");
    if (job->bad)
        return rl_fail(k, RL_RUNTIME,
                       "segment_reduce(): Expected all rows of lengths along axis to sum to "
                       "data.size(lengths.dim()-1) when !unsafe.");
    return RL_OK;
}

RL_KERNEL(ref_segment_reduce) {
    const rl_view *offsets = rl_in(k, 4);
    segment_job job = {.offsets = offsets != NULL, .checked = !offsets && !k->arg[6].u.i};
    return segments_run(k, &job, rl_in(k, 0), offsets ? offsets : rl_in(k, 2), 7);
}

RL_KERNEL(ref_segment_reduce_backward) {
    const rl_view *offsets = rl_in(k, 5);
    segment_job job = {.offsets = offsets != NULL, .outputs = true};
    return segments_run(k, &job, rl_in(k, 2), offsets ? offsets : rl_in(k, 4), 7);
}
