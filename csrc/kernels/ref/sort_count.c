/* Rows in order; numbers and bins counted. */
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- rows of a matrix ---- */
typedef struct {
    const double *d; /* the elements, of floats */
    const int64_t *i;
    int64_t m;
} rows;

static bool comes_before(const rows *r, int64_t a, int64_t b) {
    for (int64_t at = 0; at < r->m; at++) {
        if (r->d) {
            const double x = r->d[a * r->m + at], y = r->d[b * r->m + at];
            if (x < y || x > y) return x < y;
        } else {
            const int64_t x = r->i[a * r->m + at], y = r->i[b * r->m + at];
            if (x != y) return x < y;
        }
    }
    return false;
}

static const int64_t *rows_sorted(const rows *r, int64_t *order, int64_t *other, int64_t n) {
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t low = 0; low < n; low += 2 * run) {
            const int64_t middle = low + run < n ? low + run : n;
            const int64_t high = low + 2 * run < n ? low + 2 * run : n;
            for (int64_t a = low, b = middle, to = low; to < high; to++) {
                const bool second = a == middle || (b < high && comes_before(r, order[b], order[a]));
                other[to] = order[second ? b++ : a++];
            }
        }
        int64_t *sorted = other;
        other = order, order = sorted;
    }
    return order;
}

RL_KERNEL(ref_sort_rows) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t n = x->shape[0], m = x->shape[1], item = rl_itemsize(x->dtype);
    const bool floats = rl_is_float(x->dtype);
    if (n == 0) return RL_OK;
    void *elements = k->svc->scratch(k, RL_COUNT(n, m), 8);
    int64_t *order = k->svc->scratch(k, RL_COUNT(n), sizeof *order);
    int64_t *other = k->svc->scratch(k, RL_COUNT(n), sizeof *other);
    if (!elements || !order || !other) return RL_FAIL;
    rows r = {floats ? elements : NULL, floats ? NULL : elements, m};
    for (int64_t row = 0; row < n; row++) {
        const char *from = (const char *)rl_data(x, RL_READ) + row * x->strides[0] * item;
        if (floats)
            rl_row_doubles(x->dtype, from, x->strides[1] * item, m, (double *)elements + row * m);
        else
            rl_row_ints(x->dtype, from, x->strides[1] * item, m, (int64_t *)elements + row * m);
    }
    rl_row_put_ints(RL_I64, rl_data(out, RL_WRITE), out->strides[0] * 8, n, rows_sorted(&r, order, other, n));
    return RL_OK;
}

/* ---- numbers ---- */
enum { CHUNK = 512 };

static int64_t step_of(const rl_view *v) {
    return v->ndim ? v->strides[0] * rl_itemsize(v->dtype) : 0;
}

/* counts numbers, or adds up their weights */
static rl_status count_into(rl_call *k, int64_t bins, int64_t *counts, double *sums) {
    const rl_view *x = k->arg[0].u.t, *weights = rl_in(k, 1);
    const char *p = rl_data(x, RL_READ), *w = weights ? rl_data(weights, RL_READ) : NULL;
    int64_t numbers[CHUNK];
    double each[CHUNK];
    for (int64_t at = 0, n; at < x->numel; at += n) {
        n = x->numel - at < CHUNK ? x->numel - at : CHUNK;
        rl_row_ints(x->dtype, p + at * step_of(x), step_of(x), n, numbers);
        if (w) rl_row_doubles(weights->dtype, w + at * step_of(weights), step_of(weights), n, each);
        for (int64_t i = 0; i < n; i++) {
            if (numbers[i] < 0 || numbers[i] >= bins)
                return rl_fail(k, RL_RUNTIME, "bincount only supports 1-d non-negative integral inputs.");
            if (w)
                sums[numbers[i]] += each[i];
            else
                counts[numbers[i]]++;
        }
    }
    return RL_OK;
}

RL_KERNEL(ref_bin_counts) {
    const rl_view *out = k->out[0];
    const int64_t bins = out->numel;
    void *room = k->svc->scratch(k, RL_COUNT(bins), 8);
    if (!room) return RL_FAIL;
    memset(room, 0, (size_t)bins * 8);
    if (count_into(k, bins, room, room) != RL_OK) return RL_FAIL;
    if (rl_in(k, 1))
        rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), step_of(out), bins, room);
    else
        rl_row_put_ints(RL_I64, rl_data(out, RL_WRITE), step_of(out), bins, room);
    return RL_OK;
}

/* ---- equal bins ---- */
typedef struct {
    int64_t bins;
    double least, most;
    int64_t *counts;
} bins_job;

/* PyTorch's arithmetic, rounded to the dtype at every step */
#define BIN_STRIP(D, T, C, LOAD, STORE, _)                                                                   \
    static void bin_strip_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {             \
        const bins_job *j = ctx;                                                                             \
        const C least = (C)j->least, most = (C)j->most, width = LOAD(STORE(most - least));                   \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C x = LOAD(*(const T *)(p[0] + i * step[0]));                                              \
            if (!(x >= least && x <= most)) continue;                                                        \
            const C part = LOAD(STORE(LOAD(STORE(x - least)) * (C)j->bins));                                 \
            const int64_t bin = (int64_t)LOAD(STORE(part / width));                                          \
            j->counts[bin < 0 ? 0 : bin >= j->bins ? j->bins - 1 : bin]++;                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void range_strip_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {           \
        double *found = (double *)ctx;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C x = LOAD(*(const T *)(p[0] + i * step[0]));                                              \
            if (x < found[0] || x != x) found[0] = x;                                                        \
            if (x > found[1] || x != x) found[1] = x;                                                        \
        }                                                                                                    \
    }
RL_EACH_FLOAT(BIN_STRIP, _)
#define BIN_ENTRY(D, T, C, LOAD, STORE, _)   [RL_##D] = bin_strip_##D,
#define RANGE_ENTRY(D, T, C, LOAD, STORE, _) [RL_##D] = range_strip_##D,
static const rl_strip bin_strips[RL_NDTYPES] = {RL_EACH_FLOAT(BIN_ENTRY, _)};
static const rl_strip range_strips[RL_NDTYPES] = {RL_EACH_FLOAT(RANGE_ENTRY, _)};

typedef struct {
    const rl_walk *w;
    bins_job *job;
    rl_strip strip;
    rl_rooms rooms; /* bins of each thread */
} counting;

static void count_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const counting *c = ctx;
    bins_job own = *c->job;
    own.counts = (int64_t *)rl_room(&c->rooms, thread);
    rl_walk_range(c->w, begin, end, c->strip, &own);
}

/* the bins' borders, in the input's dtype */
static rl_status borders(rl_call *k, const rl_walk *w, bins_job *job) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    double found[2] = {rl_num(k, 2), rl_num(k, 3)};
    if (found[0] > found[1]) return rl_fail(k, RL_RUNTIME, "torch.histc: max must be larger than min");
    if (found[0] == found[1] && w->numel) {
        found[0] = INFINITY, found[1] = -INFINITY;
        rl_walk_range(w, 0, w->numel, range_strips[dtype], found);
    }
    if (!isfinite(found[0]) || !isfinite(found[1]))
        return rl_fail(k, RL_RUNTIME, "torch.histc: range of [%g, %g] is not finite", found[0], found[1]);
    if (found[0] == found[1]) found[0] -= 1, found[1] += 1;
    for (int i = 0; i < 2; i++) {
        char rounded[8];
        rl_row_put_double(dtype, rounded, found[i]);
        found[i] = rl_row_double(dtype, rounded);
    }
    job->least = found[0], job->most = found[1];
    return RL_OK;
}

RL_KERNEL(ref_histc) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    bins_job job = {.bins = out->numel};
    rl_walk w;
    rl_walk_begin(&w, x, RL_READ);
    rl_walk_sort(&w, 0);
    rl_walk_merge(&w);
    if (borders(k, &w, &job) != RL_OK) return RL_FAIL;
    const int64_t threads = rl_is_serial(k, x->numel, 2) || job.bins > x->numel / 8 ? 1 : k->threads;
    counting c = {.w = &w, .job = &job, .strip = bin_strips[x->dtype]};
    if (!rl_thread_rooms(k, threads, RL_COUNT(job.bins), sizeof *job.counts, &c.rooms)) return RL_FAIL;
    for (int64_t t = 0; t < threads; t++)
        memset(rl_room(&c.rooms, t), 0, (size_t)job.bins * sizeof *job.counts);
    if (threads > 1)
        k->svc->parallel(k, w.numel, 2, count_part, &c);
    else
        count_part(&c, 0, w.numel, 0);
    for (int64_t i = 0; i < job.bins; i++) {
        int64_t count = 0;
        for (int64_t t = 0; t < threads; t++) count += ((int64_t *)rl_room(&c.rooms, t))[i];
        rl_row_put_double(out->dtype, (char *)rl_data(out, RL_WRITE) + i * step_of(out), (double)count);
    }
    return RL_OK;
}

/* ---- bins between edges ---- */
/* The bin of a number between the first and the last edge: where equal bins have it, or one beside that, else
 * by search. */
static int64_t cell_of(const double *edges, int64_t bins, double x) {
    int64_t at = (int64_t)((x - edges[0]) * (double)bins / (edges[bins] - edges[0]));
    at = at < 0 ? 0 : at >= bins ? bins - 1 : at;
    if (x < edges[at] && at > 0) at--;
    if (x >= edges[at + 1] && at + 1 < bins) at++;
    if (x >= edges[at] && (x < edges[at + 1] || at + 1 == bins)) return at;
    int64_t low = 0, high = bins; /* edges[low] <= x, and edges[high] > x or is the last */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (x >= edges[middle])
            low = middle;
        else
            high = middle;
    }
    return low;
}

RL_KERNEL(ref_cell_counts) {
    const rl_view *x = k->arg[0].u.t, *borders = k->arg[1].u.t, *weight = rl_in(k, 2), *out = k->out[0];
    const int64_t bins = out->numel;
    double *sums = k->svc->scratch(k, RL_COUNT(bins), sizeof *sums);
    double *edges = k->svc->scratch(k, RL_COUNT(borders->numel), sizeof *edges);
    if (!sums || !edges) return RL_FAIL;
    memset(sums, 0, (size_t)bins * sizeof *sums);
    rl_row_doubles(borders->dtype, rl_data(borders, RL_READ), step_of(borders), borders->numel, edges);
    const char *p = rl_data(x, RL_READ), *w = weight ? rl_data(weight, RL_READ) : NULL;
    double numbers[CHUNK], each[CHUNK];
    for (int64_t at = 0, n; at < x->numel; at += n) {
        n = x->numel - at < CHUNK ? x->numel - at : CHUNK;
        rl_row_doubles(x->dtype, p + at * step_of(x), step_of(x), n, numbers);
        if (w) rl_row_doubles(weight->dtype, w + at * step_of(weight), step_of(weight), n, each);
        for (int64_t i = 0; i < n; i++)
            if (numbers[i] >= edges[0] && numbers[i] <= edges[bins])
                sums[cell_of(edges, bins, numbers[i])] += w ? each[i] : 1;
    }
    rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), step_of(out), bins, sums);
    return RL_OK;
}

/* ---- runs ---- */
RL_KERNEL(ref_run_marks) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const char *p = rl_data(x, RL_READ);
    uint8_t *to = rl_data(out, RL_WRITE);
    const int64_t step = out->strides[0];
    const bool floats = rl_is_float(x->dtype);
    double d[CHUNK + 1] = {0}; /* the last one of the chunk before stands in front */
    int64_t whole[CHUNK + 1] = {0};
    for (int64_t at = 0, n; at < x->numel; at += n) {
        n = x->numel - at < CHUNK ? x->numel - at : CHUNK;
        if (floats)
            rl_row_doubles(x->dtype, p + at * step_of(x), step_of(x), n, d + 1);
        else
            rl_row_ints(x->dtype, p + at * step_of(x), step_of(x), n, whole + 1);
        for (int64_t i = 0; floats && i < n; i++) to[(at + i) * step] = d[i + 1] != d[i];
        for (int64_t i = 0; !floats && i < n; i++) to[(at + i) * step] = whole[i + 1] != whole[i];
        d[0] = d[n], whole[0] = whole[n];
    }
    if (x->numel) to[0] = 1;
    return RL_OK;
}
