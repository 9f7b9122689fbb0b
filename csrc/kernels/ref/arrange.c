/* Elements that move unchanged: roll, flip, repeat, diagonals, triangles, pixels. */
#include "loops.h"
#include <string.h>

/* Runs a walk of two operands that copies; dims and strides are set by the caller. */
static void copy_walk(rl_call *k, rl_walk *w, int64_t item) {
    rl_walk_merge(w);
    rl_walk_parallel(k, w, RL_REF_NS, rl_strip_copy(item), NULL);
}

/* output dims, with the input's strides where `of` is the same shape */
static void walk_pair(rl_walk *w, const rl_view *out, const rl_view *x) {
    int64_t item = rl_itemsize(x->dtype);
    rl_walk_begin(w, out, RL_WRITE);
    w->nops = 2;
    w->base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim && d < w->ndim; d++) w->stride[1][d] = x->strides[d] * item;
}

RL_KERNEL(ref_flip) {
    const rl_view *x = k->arg[0].u.t;
    rl_walk w;
    if (x->numel == 0) return RL_OK;
    walk_pair(&w, k->out[0], x);
    for (int d = 0; d < w.ndim; d++) {
        if (!((uint64_t)k->attr[0] >> d & 1)) continue;
        w.base[1] += (w.size[d] - 1) * w.stride[1][d];
        w.stride[1][d] = -w.stride[1][d];
    }
    copy_walk(k, &w, rl_itemsize(x->dtype));
    return RL_OK;
}

/* A dim of the output is (times, size) of the input. Dims of size 1 are left out: those that remain are fewer
 * than the bits of a size. */
RL_KERNEL(ref_repeat) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int64_t item = rl_itemsize(x->dtype);
    rl_walk all, w = {.nops = 2};
    if (out->numel == 0) return RL_OK;
    rl_walk_begin(&all, out, RL_WRITE);
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
    copy_walk(k, &w, item);
    return RL_OK;
}

/* ---- roll: each output index of each dim knows where it comes from ---- */
typedef struct {
    rl_walk rows; /* output without its last dim */
    const char *from;
    int64_t item, width, step, *source[RL_MAX_DIMS]; /* byte offsets into the input */
    int last;
} roll_job;

static void roll_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const roll_job *job = ctx;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const char *from = job->from;
        char *to = job->rows.base[0];
        int64_t at = row;
        for (int d = job->last - 1; d >= 0; d--) {
            int64_t i = at % job->rows.size[d];
            at /= job->rows.size[d];
            from += job->source[d][i];
            to += i * job->rows.stride[0][d];
        }
        for (int64_t i = 0; i < job->width; i++)
            memcpy(to + i * job->step, from + job->source[job->last][i], (size_t)job->item);
    }
}

static int64_t shift_within(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* the flat tensor: element i goes to i + shift */
static rl_status roll_flat(rl_call *k, int64_t shift) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    int64_t n = x->numel, item = rl_itemsize(x->dtype);
    rl_walk to, from;
    rl_walk_begin(&to, out, RL_WRITE);
    rl_walk_begin(&from, x, RL_READ);
    shift = shift_within(shift, n);
    for (int64_t i = 0; i < n; i++) {
        char *p = to.base[0], *q = from.base[0];
        rl_walk_seek(&from, i, &q);
        rl_walk_seek(&to, i < n - shift ? i + shift : i + shift - n, &p);
        memcpy(p, q, (size_t)item);
    }
    return RL_OK;
}

RL_KERNEL(ref_roll) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    rl_ints shifts = rl_ints_of(k, 1), dims = rl_ints_of(k, 2); /* as many, or one shift without dims */
    roll_job job = {.item = rl_itemsize(x->dtype), .last = x->ndim - 1};
    if (x->numel == 0) return RL_OK;
    if (dims.n == 0) return roll_flat(k, shifts.at[0]);
    job.from = rl_const_data(x);
    for (int d = 0; d < x->ndim; d++) {
        int64_t size = x->shape[d], shift = 0;
        for (int i = 0; i < dims.n; i++) {
            int64_t dim = dims.at[i];
            if ((dim < 0 ? dim + x->ndim : dim) == d)
                shift = shift_within(shift + shift_within(shifts.at[i], size), size);
        }
        job.source[d] = k->svc->scratch(k, RL_COUNT(size), sizeof(int64_t));
        if (!job.source[d]) return RL_FAIL;
        for (int64_t i = 0; i < size; i++)
            job.source[d][i] = (i < shift ? i - shift + size : i - shift) * x->strides[d] * job.item;
    }
    rl_walk_begin(&job.rows, out, RL_WRITE);
    job.width = out->shape[job.last];
    job.step = job.rows.stride[0][job.last];
    k->svc->parallel(k, out->numel / job.width, RL_REF_NS * (double)job.width, roll_part, &job);
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
    rl_strip_copy(item)(p, step, vector->numel, NULL);
    return RL_OK;
}

/* ---- triangles: each row keeps the columns [0, cut) or [cut, n) ---- */
typedef struct {
    rl_walk rows; /* operands output, input; without columns */
    int64_t row_count, columns, step[2], item, diagonal;
    bool lower;
} triangle_job;

static void triangle_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const triangle_job *job = ctx;
    const rl_strip copy = rl_strip_copy(job->item);
    static const uint64_t zero = 0;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        char *p[2] = {job->rows.base[0], job->rows.base[1]}, *from[2];
        int64_t row = i % job->row_count, n = job->columns, cut;
        /* diagonals may be as far away as an int64 can say */
        if (job->diagonal >= n)
            cut = n;
        else if (job->diagonal < -job->row_count)
            cut = 0;
        else
            cut = row + job->diagonal + job->lower;
        cut = cut < 0 ? 0 : cut > n ? n : cut;
        rl_walk_seek(&job->rows, i, p);
        int64_t first = job->lower ? 0 : cut, last = job->lower ? cut : n;
        from[0] = p[0] + first * job->step[0];
        from[1] = p[1] + first * job->step[1];
        copy(from, job->step, last - first, NULL);
        first = job->lower ? cut : 0, last = job->lower ? n : cut;
        for (int64_t c = first; c < last; c++) memcpy(p[0] + c * job->step[0], &zero, (size_t)job->item);
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
    rl_walk_begin(&job.rows, k->out[0], RL_WRITE);
    rl_walk_add(&job.rows, x);
    for (int i = 0; i < 2; i++) job.step[i] = job.rows.stride[i][n - 1];
    rl_walk_drop(&job.rows, 1ull << (n - 1));
    k->svc->parallel(k, job.rows.numel, RL_REF_NS * (double)job.columns, triangle_part, &job);
    return RL_OK;
}

RL_KERNEL(ref_tril) {
    return triangle(k, true);
}
RL_KERNEL(ref_triu) {
    return triangle(k, false);
}

/* ---- pixels: the wide picture (..., C, H, r, W, r) and the deep one (..., C, r, r, H, W) ---- */
static rl_status pixels(rl_call *k, const rl_view *wide, const rl_view *deep, bool to_wide) {
    int64_t r = k->arg[1].u.i, item = rl_itemsize(wide->dtype);
    int n = wide->ndim, lead = n - 2, a = to_wide ? 0 : 1, b = 1 - a;
    rl_walk w = {.nops = 2, .ndim = n + 2, .numel = wide->numel};
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
    copy_walk(k, &w, item);
    return RL_OK;
}

RL_KERNEL(ref_pixel_shuffle) {
    return pixels(k, k->out[0], k->arg[0].u.t, true);
}
RL_KERNEL(ref_pixel_unshuffle) {
    return pixels(k, k->arg[0].u.t, k->out[0], false);
}
