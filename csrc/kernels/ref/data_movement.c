/* Elements that move unchanged: flip, repeat, roll, concatenation, padding, triangles. */
#include "loops.h"
#include <string.h>

/* ---- copies of one tensor into another place by place, for kernels that only set dims and strides ---- */

/* ---- elements that move unchanged: flip, repeat, diagonals, pixels ---- */
/* ---- copies whose last dim is short: strips go along the dim before it ---- */
enum { SHORT_LINE = 16, TILE_LINES = 256 };
typedef struct {
    rl_iter outer; /* without the last two dims */
    int64_t lines, width, line_step[2], step[2], tiles;
    rl_inner_loop copy;
} tile_job;

static void tile_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const tile_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % job->tiles * TILE_LINES, left = job->lines - first;
        char *p[2] = {job->outer.base[0] + first * job->line_step[0],
                      job->outer.base[1] + first * job->line_step[1]};
        rl_iter_seek(&job->outer, i / job->tiles, p);
        for (int64_t c = 0; c < job->width; c++) {
            job->copy(p, job->line_step, left < TILE_LINES ? left : TILE_LINES, NULL);
            p[0] += job->step[0];
            p[1] += job->step[1];
        }
    }
}

static void copy_tiles(rl_call *k, const rl_iter *w, rl_inner_loop copy) {
    const int last = w->ndim - 1;
    tile_job job = {.outer = *w, .lines = w->size[last - 1], .width = w->size[last], .copy = copy};
    for (int i = 0; i < 2; i++) {
        job.step[i] = w->stride[i][last];
        job.line_step[i] = w->stride[i][last - 1];
    }
    rl_iter_drop(&job.outer, 3ull << (last - 1));
    job.tiles = (job.lines + TILE_LINES - 1) / TILE_LINES;
    const int64_t n = job.lines < TILE_LINES ? job.lines : TILE_LINES;
    k->svc->parallel(k, job.outer.numel * job.tiles, RL_REF_NS * (double)(n * job.width), tile_part, &job);
}

/* Copies operand 1 into operand 0 in any order. */
static void rl_copy_iter(rl_call *k, rl_iter *w, int64_t item) {
    const rl_inner_loop copy = rl_inner_loop_copy(item);
    rl_iter_merge(w);
    const int last = w->ndim - 1;
    if (last > 0 && w->size[last] < SHORT_LINE && w->size[last - 1] > w->size[last])
        copy_tiles(k, w, copy);
    else
        rl_iter_parallel(k, w, RL_REF_NS, copy, NULL);
}

/* Operands output, input: two tensors of one shape. */
static void rl_iter_pair(rl_iter *w, const rl_view *out, const rl_view *x) {
    int64_t item = rl_itemsize(x->dtype);
    rl_iter_begin(w, out, RL_WRITE);
    w->nops = 2;
    w->base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) w->stride[1][d] = x->strides[d] * item;
}

RL_KERNEL(ref_flip) {
    const rl_view *x = k->arg[0].u.t;
    rl_iter w;
    if (x->numel == 0) return RL_OK;
    rl_iter_pair(&w, k->out[0], x);
    for (int d = 0; d < w.ndim; d++) {
        if (!((uint64_t)k->attr[0] >> d & 1)) continue;
        w.base[1] += (w.size[d] - 1) * w.stride[1][d];
        w.stride[1][d] = -w.stride[1][d];
    }
    rl_copy_iter(k, &w, rl_itemsize(x->dtype));
    return RL_OK;
}

/* A dim of the output is (times, size) of the input. Dims of size 1 are left out: those that remain are fewer
 * than the bits of a size. */
RL_KERNEL(ref_repeat) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(x->dtype);
    rl_iter all, w = {.nops = 2};
    if (out->numel == 0) return RL_OK;
    rl_iter_begin(&all, out, RL_WRITE);
    w.base[0] = all.base[0];
    w.base[1] = rl_data(x, RL_READ);
    w.numel = out->numel;
    for (int d = 0; d < out->ndim; d++) {
        int at = d - (out->ndim - x->ndim);
        int64_t size = at < 0 ? 1 : x->shape[at], times = out->shape[d] / size;
        for (int part = 0; part < 2; part++) {
            int64_t n = part ? size : times;
            if (n == 1) continue;
            w.size[w.ndim] = n;
            w.stride[0][w.ndim] = all.stride[0][d] * (part ? 1 : size);
            w.stride[1][w.ndim++] = part ? x->strides[at] * item : 0;
        }
    }
    rl_copy_iter(k, &w, item);
    return RL_OK;
}

/* ---- diagonals ---- */
RL_KERNEL(ref_diag) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const rl_view *matrix = x->ndim == 2 ? x : out, *vector = x->ndim == 2 ? out : x;
    int64_t offset = k->arg[1].u.i, item = rl_itemsize(x->dtype);
    uint64_t zero = 0;
    if (x->ndim == 1 && rl_view_fill(k, out, &zero) != RL_OK) return RL_FAIL;
    if (vector->numel == 0) return RL_OK;
    int64_t start = offset >= 0 ? offset * matrix->strides[1] : -offset * matrix->strides[0];
    char *along = (char *)rl_data(matrix, x->ndim == 1 ? RL_WRITE : RL_READ) + start * item;
    char *line = rl_data(vector, x->ndim == 2 ? RL_WRITE : RL_READ);
    int64_t step[2] = {(matrix->strides[0] + matrix->strides[1]) * item, vector->strides[0] * item};
    char *p[2] = {along, line};
    if (x->ndim == 2) { /* the strip copies from operand 1 to operand 0 */
        char *t = p[0];
        int64_t s = step[0];
        p[0] = p[1], p[1] = t;
        step[0] = step[1], step[1] = s;
    }
    rl_inner_loop_copy(item)(p, step, vector->numel, NULL);
    return RL_OK;
}

/* ---- pixels: the wide picture (..., C, H, r, W, r) and the deep one (..., C, r, r, H, W) ---- */
static rl_status pixels(rl_call *k, const rl_view *wide, const rl_view *deep, bool to_wide) {
    int64_t r = k->arg[1].u.i, item = rl_itemsize(wide->dtype);
    int n = wide->ndim, lead = n - 2, a = to_wide ? 0 : 1, b = 1 - a;
    rl_iter w = {.nops = 2, .ndim = n + 2, .numel = wide->numel};
    if (wide->numel == 0) return RL_OK;
    w.base[a] = rl_data(wide, to_wide ? RL_WRITE : RL_READ);
    w.base[b] = rl_data(deep, to_wide ? RL_READ : RL_WRITE);
    for (int d = 0; d < lead; d++) {
        w.size[d] = wide->shape[d];
        w.stride[a][d] = wide->strides[d] * item;
        w.stride[b][d] = deep->strides[d] * item * (d == lead - 1 ? r * r : 1);
    }
    for (int i = 0; i < 2; i++) { /* height, then width */
        int place = lead + 2 * i;
        w.size[place] = deep->shape[lead + i];
        w.size[place + 1] = r;
        w.stride[a][place] = wide->strides[lead + i] * r * item;
        w.stride[a][place + 1] = wide->strides[lead + i] * item;
        w.stride[b][place] = deep->strides[lead + i] * item;
        w.stride[b][place + 1] = deep->strides[lead - 1] * item * (i ? 1 : r);
    }
    rl_copy_iter(k, &w, item);
    return RL_OK;
}

RL_KERNEL(ref_pixel_shuffle) {
    return pixels(k, k->out[0], k->arg[0].u.t, true);
}
RL_KERNEL(ref_pixel_unshuffle) {
    return pixels(k, k->arg[0].u.t, k->out[0], false);
}

/* the result's channels as (each of a group, group), the input's the other way round */
RL_KERNEL(ref_channel_shuffle) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int64_t groups = k->arg[1].u.i, each = x->shape[1] / groups, item = rl_itemsize(x->dtype);
    rl_iter w = {.nops = 2, .ndim = x->ndim + 1, .numel = x->numel};
    if (x->numel == 0) return RL_OK;
    w.base[0] = rl_data(out, RL_WRITE), w.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) {
        int to = d < 2 ? d : d + 1;
        w.size[to] = d == 1 ? each : x->shape[d];
        w.stride[0][to] = out->strides[d] * item * (d == 1 ? groups : 1);
        w.stride[1][to] = x->strides[d] * item;
    }
    w.size[2] = groups;
    w.stride[0][2] = out->strides[1] * item;
    w.stride[1][2] = x->strides[1] * item * each;
    rl_copy_iter(k, &w, item);
    return RL_OK;
}

/* ---- elements that move in runs: roll, and the triangles of matrices ---- */
static int64_t shift_within(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* ---- roll of the flat tensor: element i goes to i + shift ---- */
typedef struct {
    rl_iter to, from;
    int64_t shift, step[2];
    rl_inner_loop copy;
} flat_job;

static inline int64_t run_at(const rl_iter *w, int64_t at) { /* elements from here to the end of its line */
    const int64_t width = w->size[w->ndim - 1];
    return width - at % width;
}

static void flat_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const flat_job *job = ctx;
    const int64_t n = job->from.numel;
    (void)thread;
    for (int64_t i = begin, run; i < end; i += run) {
        const int64_t at = i < n - job->shift ? i + job->shift : i + job->shift - n;
        const int64_t room = run_at(&job->to, at);
        char *p[2] = {job->to.base[0], job->from.base[0]};
        run = run_at(&job->from, i);
        if (run > room) run = room;
        if (run > n - at) run = n - at;
        if (run > end - i) run = end - i;
        rl_iter_seek(&job->to, at, &p[0]);
        rl_iter_seek(&job->from, i, &p[1]);
        job->copy(p, job->step, run, NULL);
    }
}

static void roll_flat(rl_call *k, int64_t shift) {
    const rl_view *x = k->arg[0].u.t;
    flat_job job = {.shift = shift_within(shift, x->numel),
                    .copy = rl_inner_loop_copy(rl_itemsize(x->dtype))};
    rl_iter_begin(&job.to, k->out[0], RL_WRITE);
    rl_iter_begin(&job.from, x, RL_READ);
    rl_iter_merge(&job.to);
    rl_iter_merge(&job.from);
    job.step[0] = job.to.stride[0][job.to.ndim - 1];
    job.step[1] = job.from.stride[0][job.from.ndim - 1];
    k->svc->parallel(k, x->numel, RL_REF_NS, flat_part, &job);
}

/* ---- roll along dims: each has a part that moves on and one that comes in again, and all pairs of parts
 * are boxes ---- */
static void roll_boxes(rl_call *k, const rl_iter *whole, const int64_t *shift, int dim, int64_t item) {
    while (dim < whole->ndim && shift[dim] == 0) dim++;
    if (dim == whole->ndim) {
        rl_iter box = *whole;
        rl_copy_iter(k, &box, item);
        return;
    }
    const int64_t size = whole->size[dim];
    for (int again = 0; again < 2; again++) {
        rl_iter part = *whole;
        part.size[dim] = again ? shift[dim] : size - shift[dim];
        part.numel = whole->numel / size * part.size[dim];
        if (again)
            part.base[1] += (size - shift[dim]) * part.stride[1][dim];
        else
            part.base[0] += shift[dim] * part.stride[0][dim];
        roll_boxes(k, &part, shift, dim + 1, item);
    }
}

RL_KERNEL(ref_roll) {
    const rl_view *x = k->arg[0].u.t;
    rl_ints shifts = rl_ints_of(k, 1), dims = rl_ints_of(k, 2); /* as many, or one shift without dims */
    int64_t shift[RL_MAX_DIMS] = {0};
    rl_iter w;
    if (x->numel == 0) return RL_OK;
    if (dims.n == 0) {
        roll_flat(k, shifts.at[0]);
        return RL_OK;
    }
    for (int i = 0; i < dims.n; i++) {
        const int64_t d = dims.at[i] < 0 ? dims.at[i] + x->ndim : dims.at[i], size = x->shape[d];
        shift[d] = shift_within(shift[d] + shift_within(shifts.at[i], size), size);
    }
    rl_iter_pair(&w, k->out[0], x);
    roll_boxes(k, &w, shift, 0, rl_itemsize(x->dtype));
    return RL_OK;
}

/* ---- triangles: each row keeps the columns [0, cut) or [cut, n) ---- */
typedef struct {
    rl_iter rows; /* operands output, input; without columns */
    int64_t row_count, columns, step[2], item, diagonal;
    bool lower;
    rl_inner_loop copy;
} triangle_job;

static int64_t triangle_cut(const triangle_job *job, int64_t row) {
    /* diagonals may be as far away as an int64 can say */
    if (job->diagonal >= job->columns) return job->columns;
    if (job->diagonal < -job->row_count) return 0;
    const int64_t cut = row + job->diagonal + job->lower;
    return cut < 0 ? 0 : cut > job->columns ? job->columns : cut;
}

static void triangle_zero(const triangle_job *job, char *to, int64_t n) {
    static const uint64_t zero[2];
    if (job->step[0] == job->item)
        memset(to, 0, (size_t)(n * job->item));
    else
        job->copy((char *const[2]){to, (char *)zero}, (const int64_t[2]){job->step[0], 0}, n, NULL);
}

static void triangle_row(const triangle_job *job, char *to, char *from, int64_t cut) {
    const int64_t first = job->lower ? 0 : cut, last = job->lower ? cut : job->columns;
    char *kept[2] = {to + first * job->step[0], from + first * job->step[1]};
    if (last > first) job->copy(kept, job->step, last - first, NULL);
    if (job->lower)
        triangle_zero(job, to + cut * job->step[0], job->columns - cut);
    else
        triangle_zero(job, to, cut);
}

static void triangle_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const triangle_job *job = ctx;
    const int last = job->rows.ndim - 1;
    (void)thread;
    while (begin < end) { /* one matrix, or what of it is asked for */
        char *p[2] = {job->rows.base[0], job->rows.base[1]};
        const int64_t row = begin % job->row_count, left = end - begin;
        const int64_t n = job->row_count - row < left ? job->row_count - row : left;
        rl_iter_seek(&job->rows, begin, p);
        for (int64_t i = 0; i < n; i++) {
            triangle_row(job, p[0], p[1], triangle_cut(job, row + i));
            p[0] += job->rows.stride[0][last];
            p[1] += job->rows.stride[1][last];
        }
        begin += n;
    }
}

static rl_status triangle(rl_call *k, bool lower) {
    const rl_view *x = k->arg[0].u.t;
    int n = x->ndim;
    triangle_job job = {.row_count = x->shape[n - 2],
                        .columns = x->shape[n - 1],
                        .item = rl_itemsize(x->dtype),
                        .diagonal = k->arg[1].u.i,
                        .lower = lower};
    if (x->numel == 0) return RL_OK;
    job.copy = rl_inner_loop_copy(job.item);
    rl_iter_begin(&job.rows, k->out[0], RL_WRITE);
    rl_iter_add(&job.rows, x);
    for (int i = 0; i < 2; i++) job.step[i] = job.rows.stride[i][n - 1];
    rl_iter_drop(&job.rows, 1ull << (n - 1));
    /* rows are runs: a call or two, then what memory gives */
    k->svc->parallel(k, job.rows.numel, 15 + 0.1 * (double)job.columns, triangle_part, &job);
    return RL_OK;
}

RL_KERNEL(ref_tril) {
    return triangle(k, true);
}
RL_KERNEL(ref_triu) {
    return triangle(k, false);
}

/* ---- tensors joined along a dimension ---- */
RL_KERNEL(ref_cat) {
    const rl_value *list = &k->arg[0];
    const rl_view *out = k->out[0];
    int64_t dim = k->attr[0], at = 0, item = rl_itemsize(out->dtype);
    char *memory = rl_data(out, RL_WRITE);
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        rl_cast_pair pair = {out->dtype, v->dtype};
        rl_iter w, from;
        if (v->numel == 0) continue;
        /* the dims are the part's, the strides of operand 0 the output's */
        rl_iter_begin(&from, v, RL_READ);
        w = from;
        w.nops = 2;
        w.base[1] = from.base[0];
        w.base[0] = memory + at * out->strides[dim] * item;
        for (int d = 0; d < w.ndim; d++) {
            w.stride[1][d] = from.stride[0][d];
            w.stride[0][d] = out->strides[d] * item;
        }
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, RL_REF_NS, rl_inner_loop_between(pair.to, pair.from), &pair);
        at += v->shape[dim];
    }
    return RL_OK;
}

/* ---- padding, and the gradient of the kinds that repeat the input ---- */
enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* A dim of the input, and what is put in front of it and behind it; less than nothing crops. */
typedef struct {
    int64_t size, before, after;
    int mode;
} pad_side;

/* where output index i comes from, or -1 for the constant */
static int64_t pad_source(const pad_side *d, int64_t i) {
    const int64_t at = i - d->before, size = d->size;
    if (d->mode == PAD_CIRCULAR) { /* what is left after cropping repeats */
        const int64_t first = d->before < 0 ? -d->before : 0,
                      left = size - first + (d->after < 0 ? d->after : 0);
        return at < first ? at + left : at >= first + left ? at - left : at;
    }
    if (at >= 0 && at < size) return at;
    switch (d->mode) {
    case PAD_REFLECT: return at < 0 ? -at : 2 * (size - 1) - at;
    case PAD_REPLICATE: return at < 0 ? 0 : size - 1;
    default: return -1;
    }
}

/* Rows go along the dim in which the output's elements lie side by side: first come those before the input's,
 * `low` of them, then the input's up to `high`, then those behind it. */
typedef struct {
    const char *from;
    char *to;
    int last; /* the dim of the rows; the others come in the order of the output's memory */
    int64_t size[RL_MAX_DIMS], step[RL_MAX_DIMS];
    int64_t *source[RL_MAX_DIMS]; /* byte offsets for each index of each dim; INT64_MIN: the constant */
    int64_t low, high, input_step, item;
    rl_inner_loop copy;
    uint64_t constant;
} pad_job;

#define EDGE(T)                                                                                              \
    {                                                                                                        \
        T number;                                                                                            \
        memcpy(&number, &job->constant, sizeof number);                                                      \
        for (int64_t i = begin; i < end; i++)                                                                \
            *(T *)(to + i * step) = source[i] == INT64_MIN ? number : *(const T *)(from + source[i]);        \
        break;                                                                                               \
    }
static void pad_edge(const pad_job *job, char *to, const char *from, int64_t begin, int64_t end) {
    const int64_t *source = job->source[job->last], step = job->step[job->last];
    switch (job->item) {
    case 1: EDGE(uint8_t)
    case 2: EDGE(uint16_t)
    case 4: EDGE(uint32_t)
    default: EDGE(uint64_t)
    }
}

static void pad_row(const pad_job *job, char *to, const char *from) {
    const int64_t steps[2] = {job->step[job->last], from ? job->input_step : 0};
    if (!from) {
        job->copy((char *const[2]){to, (char *)&job->constant}, steps, job->size[job->last], NULL);
        return;
    }
    pad_edge(job, to, from, 0, job->low);
    if (job->low < job->high) {
        char *p[2] = {to + job->low * steps[0], (char *)from + job->source[job->last][job->low]};
        if (steps[0] == job->item && steps[1] == job->item)
            memcpy(p[0], p[1], (size_t)((job->high - job->low) * job->item));
        else
            job->copy(p, steps, job->high - job->low, NULL);
    }
    pad_edge(job, to, from, job->high, job->size[job->last]);
}

/* Where a row begins follows from where the dims before dim d lead to. */
typedef struct {
    char *to[RL_MAX_DIMS + 1];
    const char *from[RL_MAX_DIMS + 1]; /* NULL: among constants */
    int64_t index[RL_MAX_DIMS];
} pad_place;

static void place_follow(const pad_job *job, pad_place *place, int d) {
    for (; d < job->last; d++) {
        const int64_t offset = job->source[d][place->index[d]];
        place->to[d + 1] = place->to[d] + place->index[d] * job->step[d];
        place->from[d + 1] = place->from[d] && offset != INT64_MIN ? place->from[d] + offset : NULL;
    }
}

static void pad_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_job *job = ctx;
    pad_place place = {.to = {job->to}, .from = {job->from}};
    int64_t rest = begin;
    int d;
    (void)thread;
    for (d = job->last - 1; d >= 0; rest /= job->size[d--]) place.index[d] = rest % job->size[d];
    place_follow(job, &place, 0);
    for (int64_t row = begin; row < end; row++) {
        pad_row(job, place.to[job->last], place.from[job->last]);
        for (d = job->last - 1; d >= 0 && ++place.index[d] == job->size[d]; d--) place.index[d] = 0;
        if (d >= 0) place_follow(job, &place, d);
    }
}

/* dim d of the output, `before` elements added in front of it, becomes dim `at` of the job */
static rl_status pad_dim(rl_call *k, pad_job *job, int at, int d, int64_t before, int64_t after) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t n = out->shape[d], size = x->shape[d];
    job->size[at] = n;
    job->step[at] = out->strides[d] * job->item;
    job->source[at] = k->svc->scratch(k, RL_COUNT(n), sizeof(int64_t));
    if (!job->source[at]) return RL_FAIL;
    const pad_side side = {size, before, after, (int)k->attr[0]};
    for (int64_t i = 0; i < n; i++) {
        int64_t source = pad_source(&side, i);
        job->source[at][i] = source < 0 ? INT64_MIN : source * x->strides[d] * job->item;
    }
    job->low = before < 0 ? 0 : before < n ? before : n; /* of the last dim to come here */
    job->high = before + size < job->low ? job->low : before + size < n ? before + size : n;
    job->input_step = x->strides[d] * job->item;
    return RL_OK;
}

RL_KERNEL(ref_pad) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const rl_value *pad = &k->arg[1];
    int n = pad->tag == RL_INTS ? pad->n : 0, order[RL_MAX_DIMS];
    pad_job job = {.last = out->ndim - 1, .item = rl_itemsize(x->dtype)};
    job.copy = rl_inner_loop_copy(job.item);
    if (k->arg[3].tag != RL_NONE && rl_element_from(k, 3, x->dtype, &job.constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (out->ndim == 0) {
        rl_view_cast(k, out, x);
        return RL_OK;
    }
    for (int d = 0; d < out->ndim; d++) {
        int at = d;
        for (; at > 0 && out->strides[order[at - 1]] < out->strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int at = 0; at < out->ndim; at++) {
        int argument = 2 * (out->ndim - 1 - order[at]);
        const bool padded = argument < n;
        if (pad_dim(k, &job, at, order[at], padded ? pad->u.ints[argument] : 0,
                    padded ? pad->u.ints[argument + 1] : 0) != RL_OK)
            return RL_FAIL;
    }
    job.from = rl_const_data(x);
    job.to = rl_data(out, RL_WRITE);
    int64_t width = job.size[job.last];
    k->svc->parallel(k, out->numel / width, 20 + RL_REF_NS * (double)width, pad_rows, &job);
    return RL_OK;
}

/* ---- the gradient: (grad_output, input_size, pad, mode, channels_last) ---- */
enum { PAD_DIMS = 3 };

/* Dims that lack padding stand in front with size 1; of one that has it, outputs o of input index i stand at
 * from[first[i]] to from[first[i + 1]]. */
typedef struct {
    pad_side side;
    int64_t out, *first, *from;
} pad_back_dim;

/* sums of halves are made in float */
#define SUM(D, T, C, LOAD, STORE, name)                                                                      \
    static void name##_add_##D(char *sums, const char *grad, int64_t n) {                                    \
        C *to = (C *)sums;                                                                                   \
        const T *from = (const T *)grad;                                                                     \
        for (int64_t i = 0; i < n; i++) to[i] += LOAD(from[i]);                                              \
    }                                                                                                        \
    static void name##_put_##D(char *out, const char *sums, int64_t n) {                                     \
        T *to = (T *)out;                                                                                    \
        const C *from = (const C *)sums;                                                                     \
        for (int64_t i = 0; i < n; i++) to[i] = STORE(from[i]);                                              \
    }
RL_EACH_FLOAT(SUM, pad)
typedef struct {
    void (*add)(char *sums, const char *grad, int64_t n), (*put)(char *out, const char *sums, int64_t n);
    int64_t item; /* bytes of a sum */
} pad_sums;

typedef struct {
    pad_back_dim dim[PAD_DIMS];
    const char *grad;
    char *to;
    int64_t planes_grad; /* bytes of a plane */
    int64_t inner, item; /* elements that lie side by side in a place: channels or one */
    pad_sums sums;
    bool in_place;
    rl_rooms rooms; /* a row of sums for each thread, if they are not made in place */
} pad_back_job;

static rl_status back_dim(rl_call *k, pad_back_dim *d) {
    const int64_t size = d->side.size;
    d->first = k->svc->scratch(k, rl_count_plus(RL_COUNT(size), 2), sizeof *d->first);
    d->from = k->svc->scratch(k, RL_COUNT(d->out), sizeof *d->from);
    if (!d->first || !d->from) return RL_FAIL;
    for (int64_t i = 0; i < size + 2; i++) d->first[i] = 0;
    for (int64_t o = 0; o < d->out; o++) d->first[pad_source(&d->side, o) + 2]++;
    for (int64_t i = 2; i < size + 2; i++) d->first[i] += d->first[i - 1];
    for (int64_t o = 0; o < d->out; o++) d->from[d->first[pad_source(&d->side, o) + 1]++] = o;
    return RL_OK;
}

/* a row of the gradient goes into one of the input */
static void back_row(const pad_back_job *job, char *sums, const char *grad) {
    const pad_back_dim *d = &job->dim[PAD_DIMS - 1];
    const int64_t bytes = job->inner * job->item, place = job->inner * job->sums.item, size = d->side.size;
    const int64_t before = d->side.before > 0 ? d->side.before : 0, first = before - d->side.before;
    const int64_t end = d->side.after < 0 ? size + d->side.after : size; /* of what was not cropped */
    if (first < end) job->sums.add(sums + first * place, grad + before * bytes, (end - first) * job->inner);
    for (int64_t o = 0; o < d->out; o++) {
        if (o == before && first < end) o += end - first;
        if (o < d->out) job->sums.add(sums + pad_source(&d->side, o) * place, grad + o * bytes, job->inner);
    }
}

static void back_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_back_job *job = ctx;
    const pad_back_dim *deep = &job->dim[0], *high = &job->dim[1], *wide = &job->dim[2];
    const int64_t row_to = wide->side.size * job->inner * job->item,
                  row_grad = wide->out * job->inner * job->item;
    const int64_t row_sums = wide->side.size * job->inner * job->sums.item;
    for (int64_t row = begin; row < end; row++) {
        const int64_t h = row % high->side.size, d = row / high->side.size % deep->side.size;
        const char *plane = job->grad + row / high->side.size / deep->side.size * job->planes_grad;
        char *to = job->to + row * row_to;
        char *sums = job->in_place ? to : rl_room(&job->rooms, thread);
        memset(sums, 0, (size_t)row_sums);
        for (int64_t i = deep->first[d]; i < deep->first[d + 1]; i++)
            for (int64_t j = high->first[h]; j < high->first[h + 1]; j++)
                back_row(job, sums, plane + (deep->from[i] * high->out + high->from[j]) * row_grad);
        if (!job->in_place) job->sums.put(to, sums, wide->side.size * job->inner);
    }
}

/* the gradient in memory of its own, in the result's order */
static const char *pad_dense(rl_call *k, const rl_view *grad, bool last) {
    int64_t step = rl_itemsize(grad->dtype);
    char *to = k->svc->scratch(k, RL_COUNT(grad->numel), step);
    const rl_inner_loop copy = rl_inner_loop_copy(step);
    rl_iter w;
    if (!to || !grad->numel) return to;
    rl_iter_begin(&w, grad, RL_READ);
    rl_iter_add(&w, grad);
    w.base[0] = to;
    if (last) w.stride[0][1] = step, step *= grad->shape[1];
    for (int d = grad->ndim - 1; d >= 0; d--)
        if (d != 1 || !last) w.stride[0][d] = step, step *= grad->shape[d];
    rl_iter_sort(&w, 0);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, RL_REF_NS, copy, NULL);
    return to;
}

/* do the elements lie side by side, C behind the dims of space if `last`? */
static bool lies_so(const rl_view *v, bool last) {
    int64_t step = last ? v->shape[1] : 1;
    if (!last) return rl_is_contiguous(v);
    if (v->shape[1] != 1 && v->strides[1] != 1) return false;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (d == 1) continue;
        if (v->shape[d] != 1 && v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return true;
}

RL_KERNEL(ref_pad_back) {
#define SUMS(D, T, C, LOAD, STORE, name) [RL_##D] = {name##_add_##D, name##_put_##D, sizeof(C)},
    static const pad_sums sums[RL_NDTYPES] = {RL_EACH_FLOAT(SUMS, pad)};
    const rl_view *grad = k->arg[0].u.t, *out = k->out[0];
    const rl_value *pad = &k->arg[2];
    const bool last = k->arg[4].u.i != 0 && out->ndim >= 4;
    const int spatial = pad->n / 2, lead = out->ndim - spatial;
    pad_back_job job = {.inner = 1, .item = rl_itemsize(out->dtype), .sums = sums[out->dtype]};
    if (out->numel == 0) return RL_OK;
    for (int i = 0; i < PAD_DIMS; i++) {
        const int at = i - (PAD_DIMS - spatial), side = 2 * (PAD_DIMS - 1 - i);
        job.dim[i] = (pad_back_dim){.side = {1, 0, 0, (int)k->attr[0]}, .out = 1};
        if (at >= 0) {
            job.dim[i].side =
                (pad_side){out->shape[lead + at], pad->u.ints[side], pad->u.ints[side + 1], (int)k->attr[0]};
            job.dim[i].out = grad->shape[lead + at];
        }
        if (back_dim(k, &job.dim[i]) != RL_OK) return RL_FAIL;
    }
    if (last) job.inner = out->shape[1];
    job.planes_grad = job.item * job.inner;
    for (int i = 0; i < PAD_DIMS; i++) job.planes_grad *= job.dim[i].out;
    job.in_place = job.sums.item == job.item;
    const rl_count row = RL_COUNT(job.dim[PAD_DIMS - 1].side.size, job.inner);
    if (!job.in_place && !rl_thread_rooms(k, k->threads, row, job.sums.item, &job.rooms)) return RL_FAIL;
    job.to = rl_data(out, RL_WRITE);
    job.grad = rl_const_data(grad);
    if (!lies_so(grad, last) && !(job.grad = pad_dense(k, grad, last))) return RL_FAIL;
    const int64_t rows = out->numel / (out->shape[out->ndim - 1] * job.inner);
    k->svc->parallel(k, rows, 20 + RL_REF_NS * 2 * (double)(grad->numel / rows), back_rows, &job);
    return RL_OK;
}
