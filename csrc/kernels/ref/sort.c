/* Sorting, topk, the median, unique rows, counts and bins, binary search. */
#include "lines.h"
#include "loops.h"
#include <math.h>
#include <string.h>

/* ---- elements in order: sorting, the largest, the middle one ---- */
static bool before(const rl_line_job *job, rl_element a, rl_element b) {
    if (job->floats)
        return job->descending ? a.d > b.d || (a.d != a.d && b.d == b.d)
                               : a.d < b.d || (b.d != b.d && a.d == a.d);
    return job->descending ? a.i > b.i : a.i < b.i;
}

/* merges sorted runs of doubling length, from one pair of arrays to the other */
static void line_sort(const rl_line_job *job, rl_line *l) {
    const int64_t n = job->n;
    for (int64_t i = 0; i < n; i++) l->order[i] = i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t low = 0; low < n; low += 2 * run) {
            int64_t middle = low + run < n ? low + run : n, high = low + 2 * run < n ? low + 2 * run : n;
            for (int64_t a = low, b = middle, to = low; to < high; to++) {
                bool second = a == middle || (b < high && before(job, l->values[b], l->values[a]));
                int64_t from = second ? b++ : a++;
                l->other[to] = l->values[from];
                l->places[to] = l->order[from];
            }
        }
        rl_line swapped = {l->other, l->values, l->places, l->order};
        *l = swapped;
    }
}

static void values_put(const rl_line_job *job, const rl_line *l, char *to) {
    if (job->floats)
        rl_row_put_doubles(job->dtype, to, job->step[0], job->keep, &l->values->d);
    else
        rl_row_put_ints(job->dtype, to, job->step[0], job->keep, &l->values->i);
}

static void sort_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    values_put(job, l, p[0]);
    rl_row_put_ints(RL_I64, p[1], job->step[1], job->keep, l->order);
}

static void argsort_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    rl_row_put_ints(RL_I64, p[0], job->step[0], job->n, l->order);
}

RL_KERNEL(ref_sort) {
    rl_line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_topk) {
    rl_line_job job = {.run = sort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_argsort) {
    rl_line_job job = {.run = argsort_line, .descending = k->attr[1] != 0};
    return rl_lines_run(k, &job);
}

/* ---- one element of each line, by sorting it ---- */
static void put_one(const rl_line_job *job, const rl_line *l, int64_t at, char *const *p) {
    rl_line one = {l->values + at, NULL, NULL, NULL};
    values_put(job, &one, p[0]);
    if (job->along.in == 2) rl_row_put_ints(RL_I64, p[1], 0, 1, l->order + at);
}

static bool is_nan(const rl_line_job *job, rl_element a) {
    return job->floats && a.d != a.d;
}

static bool are_equal(const rl_line_job *job, rl_element a, rl_element b) {
    return job->floats ? a.d == b.d : a.i == b.i;
}

static void kth_line(const rl_line_job *job, rl_line *l, char *const *p) {
    line_sort(job, l);
    put_one(job, l, job->place, p);
}

static void median_line(const rl_line_job *job, rl_line *l, char *const *p) {
    int64_t numbers = job->n;
    line_sort(job, l);
    while (numbers && is_nan(job, l->values[numbers - 1])) numbers--;
    const bool is_number = numbers == job->n || (numbers && job->ignores_nan);
    put_one(job, l, is_number ? (numbers - 1) / 2 : numbers, p);
}

static void mode_line(const rl_line_job *job, rl_line *l, char *const *p) {
    int64_t found = 0;
    line_sort(job, l);
    for (int64_t i = 1, run = 1, longest = 1; i < job->n; i++) {
        run = are_equal(job, l->values[i], l->values[i - 1]) ? run + 1 : 1;
        if (run > longest) longest = run, found = i;
    }
    put_one(job, l, found, p);
}

/* of no elements: NaN, as integers have it that are made of one */
static rl_status median_of_none(rl_call *k) {
    const rl_view *out = k->out[0];
    const double nan = __builtin_nan("");
    const int64_t least = out->dtype == RL_I64 ? INT64_MIN : out->dtype == RL_I32 ? INT32_MIN : 0;
    if (rl_is_float(out->dtype))
        rl_row_put_doubles(out->dtype, rl_data(out, RL_WRITE), 0, 1, &nan);
    else
        rl_row_put_ints(out->dtype, rl_data(out, RL_WRITE), 0, 1, &least);
    return RL_OK;
}

static rl_status median(rl_call *k, bool ignores_nan) {
    rl_line_job job = {.run = median_line, .ignores_nan = ignores_nan};
    return k->attr[0] < 0 && rl_tensor_arg(k, 0)->numel == 0 ? median_of_none(k) : rl_lines_run(k, &job);
}

RL_KERNEL(ref_kthvalue) {
    rl_line_job job = {.run = kth_line, .place = k->attr[1] - 1};
    return rl_lines_run(k, &job);
}
RL_KERNEL(ref_median) {
    return median(k, false);
}
RL_KERNEL(ref_nanmedian) {
    return median(k, true);
}
RL_KERNEL(ref_mode) {
    rl_line_job job = {.run = mode_line};
    return rl_lines_run(k, &job);
}

/* ---- rows in order; numbers and bins counted ---- */
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
#define BIN_LOOP(D, T, C, LOAD, STORE, _)                                                                    \
    static void bin_loop_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {              \
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
    static void range_loop_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {            \
        double *found = (double *)ctx;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const C x = LOAD(*(const T *)(p[0] + i * step[0]));                                              \
            if (x < found[0] || x != x) found[0] = x;                                                        \
            if (x > found[1] || x != x) found[1] = x;                                                        \
        }                                                                                                    \
    }
RL_EACH_FLOAT(BIN_LOOP, _)
#define BIN_ENTRY(D, T, C, LOAD, STORE, _)   [RL_##D] = bin_loop_##D,
#define RANGE_ENTRY(D, T, C, LOAD, STORE, _) [RL_##D] = range_loop_##D,
static const rl_inner_loop bin_loops[RL_NDTYPES] = {RL_EACH_FLOAT(BIN_ENTRY, _)};
static const rl_inner_loop range_loops[RL_NDTYPES] = {RL_EACH_FLOAT(RANGE_ENTRY, _)};

typedef struct {
    const rl_iter *w;
    bins_job *job;
    rl_inner_loop loop;
    rl_rooms rooms; /* bins of each thread */
} counting;

static void count_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const counting *c = ctx;
    bins_job own = *c->job;
    own.counts = (int64_t *)rl_room(&c->rooms, thread);
    rl_iter_range(c->w, begin, end, c->loop, &own);
}

/* the bins' borders, in the input's dtype */
static rl_status borders(rl_call *k, const rl_iter *w, bins_job *job) {
    const int dtype = rl_tensor_arg(k, 0)->dtype;
    double found[2] = {rl_num(k, 2), rl_num(k, 3)};
    if (found[0] > found[1]) return rl_fail(k, RL_RUNTIME, "torch.histc: max must be larger than min");
    if (found[0] == found[1] && w->numel) {
        found[0] = INFINITY, found[1] = -INFINITY;
        rl_iter_range(w, 0, w->numel, range_loops[dtype], found);
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
    rl_iter w;
    rl_iter_begin(&w, x, RL_READ);
    rl_iter_sort(&w, 0);
    rl_iter_merge(&w);
    if (borders(k, &w, &job) != RL_OK) return RL_FAIL;
    const int64_t threads = rl_is_serial(k, x->numel, 2) || job.bins > x->numel / 8 ? 1 : k->threads;
    counting c = {.w = &w, .job = &job, .loop = bin_loops[x->dtype]};
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

/* ---- binary search in sorted lines ---- */
/* Note [Search]
 * Operands: result, values, the line that belongs to them (one for all where it has stride 0). */
typedef struct {
    int64_t n, step; /* of a line, in elements */
    bool right, invert;
} search;

/* The first place whose element is not `before`, by PyTorch's steps: of lines that are out of order, or have
 * NaN, these decide. */
#define FIRST_NOT(D, before)                                                                                 \
    ({                                                                                                       \
        int64_t at_ = 0, end_ = s->n;                                                                        \
        while (at_ < end_) {                                                                                 \
            const int64_t middle_ = at_ + (end_ - at_) / 2;                                                  \
            const C e = at_##D(line, middle_ * by);                                                          \
            const bool is_before_ = before;                                                                  \
            at_ = is_before_ ? middle_ + 1 : at_;                                                            \
            end_ = is_before_ ? end_ : middle_;                                                              \
        }                                                                                                    \
        at_;                                                                                                 \
    })
#define EACH_VALUE(D, OUT, answer)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        const C v = value_##D(p[1] + i * step[1]);                                                           \
        *(OUT *)(p[0] + i * step[0]) = (OUT)(answer);                                                        \
    }
#define SEARCH(D, T, C_, LOAD, STORE, _)                                                                     \
    static inline C_ at_##D(const T *line, int64_t i) {                                                      \
        return LOAD(line[i]);                                                                                \
    }                                                                                                        \
    static inline C_ value_##D(const char *p) {                                                              \
        return LOAD(*(const T *)p);                                                                          \
    }                                                                                                        \
    static inline void places_##D(char *const *p, const int64_t *step, int64_t n, const search *s,           \
                                  int64_t by) {                                                              \
        typedef C_ C;                                                                                        \
        const T *line = (const T *)p[2];                                                                     \
        if (s->right)                                                                                        \
            EACH_VALUE(D, int64_t, FIRST_NOT(D, !(e > v)))                                                   \
        else                                                                                                 \
            EACH_VALUE(D, int64_t, FIRST_NOT(D, !(e >= v)))                                                  \
    }                                                                                                        \
    static inline void members_##D(char *const *p, const int64_t *step, int64_t n, const search *s,          \
                                   int64_t by) {                                                             \
        typedef C_ C;                                                                                        \
        const T *line = (const T *)p[2];                                                                     \
        EACH_VALUE(D, uint8_t, ({                                                                            \
                       const int64_t at = FIRST_NOT(D, e < v);                                               \
                       (at < s->n && at_##D(line, at * by) == v) != s->invert;                               \
                   }))                                                                                       \
    }                                                                                                        \
    static void search_places_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {         \
        const search *s = ctx;                                                                               \
        s->step == 1 ? places_##D(p, step, n, s, 1) : places_##D(p, step, n, s, s->step);                    \
    }                                                                                                        \
    static void search_members_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {        \
        const search *s = ctx;                                                                               \
        s->step == 1 ? members_##D(p, step, n, s, 1) : members_##D(p, step, n, s, s->step);                  \
    }
RL_EACH_FLOAT(SEARCH, _)
RL_EACH_INT(SEARCH, _)

/* arguments: values, sorted lines; the last dimension is searched in */
static rl_status run(rl_call *k, const rl_inner_loop *loops, search *s) {
    const rl_view *x = k->arg[0].u.t, *lines = k->arg[1].u.t;
    const int last = lines->ndim - 1;
    rl_iter w;
    if (k->out[0]->numel == 0) return RL_OK;
    s->n = lines->shape[last];
    s->step = lines->strides[last];
    rl_iter_begin(&w, k->out[0], RL_WRITE);
    rl_iter_add(&w, x);
    w.base[w.nops] = rl_data(lines, RL_READ);
    for (int d = 0; d < w.ndim; d++)
        w.stride[w.nops][d] = last && d < last ? lines->strides[d] * rl_itemsize(lines->dtype) : 0;
    w.nops++;
    rl_iter_merge(&w);
    double steps = 1;
    for (int64_t n = s->n; n > 1; n /= 2) steps++;
    rl_iter_parallel(k, &w, 2 * steps, loops[x->dtype], s);
    return RL_OK;
}

#define PLACES_ENTRY(D, T, C, LOAD, STORE, _)  [RL_##D] = search_places_##D,
#define MEMBERS_ENTRY(D, T, C, LOAD, STORE, _) [RL_##D] = search_members_##D,
RL_KERNEL(ref_search_places) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(PLACES_ENTRY, _)
                                                        RL_EACH_INT(PLACES_ENTRY, _)};
    search s = {.right = k->attr[0] != 0};
    return run(k, loops, &s);
}
RL_KERNEL(ref_search_members) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(MEMBERS_ENTRY, _)
                                                        RL_EACH_INT(MEMBERS_ENTRY, _)};
    search s = {.invert = k->attr[0] != 0};
    return run(k, loops, &s);
}
