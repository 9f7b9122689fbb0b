/* Elements that move unchanged: flip, repeat, diagonals, pixels. */
#include "arrange.h"

/* ---- copies whose last dim is short: strips go along the dim before it ---- */
enum { SHORT_LINE = 16, TILE_LINES = 256 };
typedef struct {
    rl_walk outer; /* without the last two dims */
    int64_t lines, width, line_step[2], step[2], tiles;
    rl_strip copy;
} tile_job;

static void tile_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const tile_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % job->tiles * TILE_LINES, left = job->lines - first;
        char *p[2] = {job->outer.base[0] + first * job->line_step[0],
                      job->outer.base[1] + first * job->line_step[1]};
        rl_walk_seek(&job->outer, i / job->tiles, p);
        for (int64_t c = 0; c < job->width; c++) {
            job->copy(p, job->line_step, left < TILE_LINES ? left : TILE_LINES, NULL);
            p[0] += job->step[0];
            p[1] += job->step[1];
        }
    }
}

static void copy_tiles(rl_call *k, const rl_walk *w, rl_strip copy) {
    const int last = w->ndim - 1;
    tile_job job = {.outer = *w, .lines = w->size[last - 1], .width = w->size[last], .copy = copy};
    for (int i = 0; i < 2; i++) {
        job.step[i] = w->stride[i][last];
        job.line_step[i] = w->stride[i][last - 1];
    }
    rl_walk_drop(&job.outer, 3ull << (last - 1));
    job.tiles = (job.lines + TILE_LINES - 1) / TILE_LINES;
    const int64_t n = job.lines < TILE_LINES ? job.lines : TILE_LINES;
    k->svc->parallel(k, job.outer.numel * job.tiles, RL_REF_NS * (double)(n * job.width), tile_part, &job);
}

void rl_copy_walk(rl_call *k, rl_walk *w, int64_t item) {
    const rl_strip copy = rl_strip_copy(item);
    rl_walk_merge(w);
    const int last = w->ndim - 1;
    if (last > 0 && w->size[last] < SHORT_LINE && w->size[last - 1] > w->size[last])
        copy_tiles(k, w, copy);
    else
        rl_walk_parallel(k, w, RL_REF_NS, copy, NULL);
}

void rl_walk_pair(rl_walk *w, const rl_view *out, const rl_view *x) {
    int64_t item = rl_itemsize(x->dtype);
    rl_walk_begin(w, out, RL_WRITE);
    w->nops = 2;
    w->base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) w->stride[1][d] = x->strides[d] * item;
}

RL_KERNEL(ref_flip) {
    const rl_view *x = k->arg[0].u.t;
    rl_walk w;
    if (x->numel == 0) return RL_OK;
    rl_walk_pair(&w, k->out[0], x);
    for (int d = 0; d < w.ndim; d++) {
        if (!((uint64_t)k->attr[0] >> d & 1)) continue;
        w.base[1] += (w.size[d] - 1) * w.stride[1][d];
        w.stride[1][d] = -w.stride[1][d];
    }
    rl_copy_walk(k, &w, rl_itemsize(x->dtype));
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
    rl_copy_walk(k, &w, item);
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
    rl_copy_walk(k, &w, item);
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
    rl_walk w = {.nops = 2, .ndim = x->ndim + 1, .numel = x->numel};
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
    rl_copy_walk(k, &w, item);
    return RL_OK;
}
