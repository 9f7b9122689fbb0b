/* Convolutions whose tensors lie channels last, by products: Note [NHWC convolution] in
 * kernels/simd/conv/nhwc.h. */
#include "nhwc.h"
#include "kernels/simd/common.h"
#include "kernel_abi/window.h"
#include "igemm.h"
#include <string.h>

/* The padded NHWC input of a convolution: Note [NHWC convolution] in nhwc.h. */
bool rl_lies_nhwc(const rl_view *v, int spatial) {
    const int lead = v->ndim - spatial;
    int64_t step = v->shape[lead - 1];
    if (v->shape[lead - 1] != 1 && v->strides[lead - 1] != 1) return false;
    for (int d = v->ndim - 1; d >= lead; d--) {
        if (v->shape[d] != 1 && v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return lead < 2 || v->shape[0] == 1 || v->strides[0] == step;
}

enum { MAX_PADDING = 8, SMALL_IMAGE = 1 << 18, MAX_COPIED = 1 << 20 };
RL_CHOOSER
bool rl_nhwc_input_make(const rl_igemm_problem *p, rl_nhwc_input *in) {
    const int64_t channels = p->groups * p->channels;
    *in = (rl_nhwc_input){.p = p, .inner = p->in->dtype == RL_F64 ? RL_F64 : RL_F32};
    in->size = (int)rl_itemsize(in->inner);
    in->copies = p->in->dtype != in->inner || (p->channel != 1 && channels > 1);
    for (int d = 0; d < 3; d++) {
        in->lo[d] = p->before[d];
        in->extent[d] = (p->places[d] - 1) * p->stride[d] + (p->kernel[d] - 1) * p->dilation[d] + 1;
        in->copies |= in->lo[d] > 0 || in->extent[d] > p->size[d];
    }
    if (!in->copies) {
        in->pixel = p->step[2], in->row = p->step[1], in->slab = p->step[0], in->image = p->image;
        return true;
    }
    const rl_count image = RL_COUNT(in->extent[0], in->extent[1], in->extent[2], channels);
    const int64_t seen = p->in->numel / p->images + p->out->numel / p->images;
    if (image.n < 0 || image.n / MAX_PADDING > seen + SMALL_IMAGE) return false;
    in->pixel = channels, in->row = in->extent[2] * channels, in->slab = in->extent[1] * in->row;
    in->image = image.n;
    return true;
}

int64_t rl_nhwc_round(const rl_call *k, const rl_nhwc_input *in) {
    if (!in->copies) return in->p->images;
    return simd_min(in->p->images, simd_max(k->threads, MAX_COPIED / in->image));
}

typedef struct {
    const rl_nhwc_input *in;
    simd_cast_copy move;
    char *to;
    int64_t first;
} fill_job;

/* `n` places of a row, `step` apart */
static void fill_row(const fill_job *j, char *to, const char *from, int64_t n, int64_t step) {
    const rl_igemm_problem *p = j->in->p;
    const int64_t channels = p->groups * p->channels, size = j->in->size, item = j->move.from_item;
    if (p->channel == 1 && step == channels)
        simd_cast_copy_run(&j->move, to, size, from, item, n * channels);
    else if (p->channel == 1)
        for (int64_t i = 0; i < n; i++)
            simd_cast_copy_run(&j->move, to + i * channels * size, size, from + i * step * item, item,
                               channels);
    else
        for (int64_t c = 0; c < channels; c++)
            simd_cast_copy_run(&j->move, to + c * size, channels * size, from + c * p->channel * item,
                               step * item, n);
}

/* item = (image * slabs + slab) * rows + row */
static void fill_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const fill_job *j = ctx;
    const rl_nhwc_input *in = j->in;
    const rl_igemm_problem *p = in->p;
    const int64_t size = in->size;
    const int64_t before = simd_min(in->lo[2], in->extent[2]);
    const int64_t n = simd_min(p->size[2], in->extent[2] - before);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t y = i % in->extent[1] - in->lo[1], z = i / in->extent[1] % in->extent[0] - in->lo[0];
        const int64_t image = j->first + i / in->extent[1] / in->extent[0];
        char *to = j->to + i * in->row * size;
        if (z < 0 || z >= p->size[0] || y < 0 || y >= p->size[1]) {
            memset(to, 0, (size_t)(in->row * size));
            continue;
        }
        const char *from = rl_const_data(p->in);
        from += (image * p->image + z * p->step[0] + y * p->step[1]) * j->move.from_item;
        memset(to, 0, (size_t)(before * in->pixel * size));
        fill_row(j, to + before * in->pixel * size, from, n, p->step[2]);
        memset(to + (before + n) * in->pixel * size, 0,
               (size_t)((in->extent[2] - before - n) * in->pixel * size));
    }
}

const char *rl_nhwc_input_fill(rl_call *k, const rl_nhwc_input *in, int64_t first, int64_t count, char *to) {
    fill_job j = {.in = in, .to = to, .first = first};
    if (!in->copies) return (const char *)rl_const_data(in->p->in) + first * in->image * in->size;
    j.move = simd_cast_copy_between(k, in->inner, in->p->in->dtype);
    k->svc->parallel(k, count * in->extent[0] * in->extent[1], 0.15 * (double)in->row, fill_items, &j);
    return to;
}

/* ---- convolutions channels last by products: Note [NHWC convolution] in kernels/simd/conv/nhwc.h ---- */
/* places of a tile; depth of a block; shorter rows and runs are copied */
enum { TILE = 96, DEPTH = 384, LANES = 16, SLACK = 64, SHORT_ROW = 24, SHORT_RUN = 64 };
enum { KEY_NHWC = 0x25 };
#define ISA_IMPL "kernels/simd/conv/direct_nhwc_impl.inc"
#include "kernels/simd/foreach_isa.h"

typedef void (*nhwc_tile_copy)(float *to, int64_t step, const float *from, const int64_t *starts,
                               int64_t scale, int64_t places, int64_t n, bool loose);
typedef struct {
    const rl_igemm_problem *p;
    const rl_gemm_ukernel *ukernel;
    nhwc_tile_copy tile_copy;
    rl_nhwc_input in;
    const char *from, *weights, *bias;
    char *out;
    simd_cast_copy back;
    int64_t images;            /* of this round */
    int64_t run, runs, depth;  /* numbers that a row of the kernel sees, such rows, all */
    int64_t line, lines;       /* places that are equally far apart, such lines of an image */
    int64_t tile, part, parts; /* places of a tile; panels of a part of the outputs */
    int64_t step;              /* of a copied tile, from place to place */
    rl_rooms rooms;
    int64_t copy, sums;  /* parts of a room: a copied tile, its sums */
    bool copies, direct; /* tiles are copied; sums go straight to the output */
} nhwc_job;

/* ---- weights ---- */
typedef struct {
    const nhwc_job *j;
    const char *from; /* (outputs, channels, taps) */
    char *to;
    int64_t taps;
} panel_job;

/* item = panel; its rows are (tap, channel) */
#define PACK(name, T)                                                                                        \
    static void name(void *ctx, int64_t begin, int64_t end, int thread) {                                    \
        const panel_job *w = ctx;                                                                            \
        const rl_igemm_problem *p = w->j->p;                                                                 \
        const int64_t nr = w->j->ukernel->nr, row = p->channels * w->taps;                                   \
        (void)thread;                                                                                        \
        for (int64_t i = begin; i < end; i++) {                                                              \
            const int64_t lanes = simd_min(nr, p->outputs - i * nr);                                         \
            const T *from = (const T *)w->from + i * nr * row;                                               \
            T *to = (T *)w->to + i * nr * row;                                                               \
            for (int64_t t = 0; t < w->taps; t++)                                                            \
                for (int64_t c = 0; c < p->channels; c++, to += nr) {                                        \
                    for (int64_t o = 0; o < lanes; o++) to[o] = from[o * row + c * w->taps + t];             \
                    for (int64_t o = lanes; o < nr; o++) to[o] = 0;                                          \
                }                                                                                            \
        }                                                                                                    \
    }
PACK(pack_floats, float)
PACK(pack_doubles, double)

static bool nhwc_weights(rl_call *k, nhwc_job *j) {
    const rl_igemm_problem *p = j->p;
    const int64_t nr = j->ukernel->nr, panels = simd_ceil_div(p->outputs, nr);
    const uint64_t key = (uint64_t)KEY_NHWC << 52 | (unsigned)nr;
    const rl_count bytes = RL_COUNT(panels, nr, j->depth, j->in.size);
    if (p->bias && !(j->bias = rl_igemm_plain(k, p->bias, j->in.inner))) return false;
    if ((j->weights = k->svc->packed_find(k, p->weight, key))) return true;
    panel_job w = {.j = j, .taps = j->depth / p->channels};
    w.from = rl_igemm_plain(k, p->weight, j->in.inner);
    if (!w.from) return false;
    w.to = k->svc->packed_new(k, p->weight, key, bytes, 1);
    const bool kept = w.to != NULL;
    if (!kept) w.to = k->svc->scratch(k, bytes, 1);
    if (!w.to) return false;
    k->svc->parallel(k, panels, (double)(nr * j->depth), j->in.size == 4 ? pack_floats : pack_doubles, &w);
    if (kept) k->svc->packed_ready(k, p->weight, key);
    j->weights = w.to;
    return true;
}

/* ---- one tile ---- */
/* where what each of `count` places from `first` of all images on sees begins, in elements */
static void place_starts(const nhwc_job *j, int64_t first, int64_t count, int64_t *starts) {
    const rl_igemm_problem *p = j->p;
    const int64_t step = p->stride[2] * j->in.pixel;
    int64_t x = first % p->places[2], row = first / p->places[2];
    for (int64_t done = 0; done < count; x = 0, row++) {
        const int64_t y = row % p->places[1], z = row / p->places[1] % p->places[0];
        const int64_t at = row / p->places[1] / p->places[0] * j->in.image + z * p->stride[0] * j->in.slab +
                           y * p->stride[1] * j->in.row;
        for (; x < p->places[2] && done < count; x++) starts[done++] = at + x * step;
    }
}

/* from what a place sees first to its run number `i` */
static int64_t run_start(const nhwc_job *j, int64_t i) {
    const rl_igemm_problem *p = j->p;
    int64_t x = 0;
    if (j->run == p->channels) x = i % p->kernel[2], i /= p->kernel[2];
    return i / p->kernel[1] * p->dilation[0] * j->in.slab + i % p->kernel[1] * p->dilation[1] * j->in.row +
           x * p->dilation[2] * j->in.pixel;
}

/* depths [k0, k0 + depth) of places that begin at starts[] */
static void tile_fill(const nhwc_job *j, char *to, const int64_t *starts, int64_t places, int64_t k0,
                      int64_t depth) {
    const int64_t size = j->in.size;
    for (int64_t done = 0, n; done < depth; done += n) {
        const int64_t at = (k0 + done) % j->run, run = (k0 + done) / j->run;
        const char *from = j->from + (run_start(j, run) + at) * size;
        n = simd_min(j->run - at, depth - done);
        j->tile_copy((float *)(to + done * size), j->step * size / 4, (const float *)from, starts, size / 4,
                     places, n * size / 4, j->in.copies);
    }
}

/* places [first, first + count) of all images or of a line, which begin at starts[], by panels [p0, p1) */
static void tile_gemm(const nhwc_job *j, const int64_t *starts, int64_t count, int64_t p0, int64_t p1,
                      char *copy, char *sums, int64_t sums_step) {
    const rl_igemm_problem *p = j->p;
    const int64_t nr = j->ukernel->nr, size = j->in.size, mr = j->ukernel->mr;
    const int64_t whole = j->copies ? j->depth : j->run, pieces = simd_ceil_div(whole, DEPTH);
    const int64_t kb = simd_ceil_div(whole, pieces);
    for (int64_t k0 = 0, depth; k0 < j->depth; k0 += depth) {
        const int64_t left = j->copies ? j->depth - k0 : j->run - k0 % j->run;
        depth = simd_min(kb, left);
        rl_panel panel = {.rows = count, .k = depth, .a_col = 1, .add = k0 > 0, .b_step = nr};
        if (j->copies) {
            tile_fill(j, copy, starts, count, k0, depth);
            panel.a = copy, panel.a_row = j->step;
        } else {
            panel.a = j->from + (starts[0] + run_start(j, k0 / j->run) + k0 % j->run) * size;
            panel.a_row = p->stride[2] * j->in.pixel;
        }
        panel.a_strip = mr * panel.a_row;
        panel.c_step = sums_step;
        for (int64_t i = p0; i < p1; i++) {
            panel.cols = (int)simd_min(nr, p->outputs - i * nr);
            panel.b = j->weights + (i * nr * j->depth + k0 * nr) * size;
            panel.b_next = nr * j->depth;
            panel.c = sums + (i - p0) * nr * size;
            panel.col_bias = j->bias ? j->bias + i * nr * size : NULL;
            j->ukernel->panel(&panel);
        }
    }
}

/* item = tile * parts + part of the outputs */
static void nhwc_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const nhwc_job *j = ctx;
    const rl_igemm_problem *p = j->p;
    const int64_t nr = j->ukernel->nr, size = j->in.size, item = j->back.to_item;
    const int64_t panels = simd_ceil_div(p->outputs, nr);
    const int64_t each = simd_ceil_div(j->line, j->tile); /* tiles of a line */
    char *room = rl_room(&j->rooms, thread), *copy = room + j->copy, *sums = room + j->sums;
    for (int64_t i = begin; i < end; i++) {
        const int64_t line = i / j->parts / each, at = i / j->parts % each * j->tile;
        const int64_t first = line * j->line + at, count = simd_min(j->tile, j->line - at);
        const int64_t p0 = i % j->parts * j->part, p1 = simd_min(panels, p0 + j->part);
        const int64_t wide = simd_min(p->outputs, p1 * nr) - p0 * nr;
        int64_t starts[TILE];
        place_starts(j, first, j->copies ? count : 1, starts);
        char *to = j->out + (first * p->outputs + p0 * nr) * item;
        if (j->direct) {
            tile_gemm(j, starts, count, p0, p1, copy, to, p->outputs);
            continue;
        }
        tile_gemm(j, starts, count, p0, p1, copy, sums, wide);
        for (int64_t a = 0; a < count; a++)
            simd_cast_copy_run(&j->back, to + a * p->outputs * item, item, sums + a * wide * size, size,
                               wide);
    }
}

/* what a place sees, and which places lie equally far apart */
RL_CHOOSER
static void nhwc_cut(nhwc_job *j, int64_t threads) {
    const rl_igemm_problem *p = j->p;
    const rl_nhwc_input *in = &j->in;
    const int64_t rows = p->places[0] * p->places[1], nr = j->ukernel->nr;
    const bool dense = p->dilation[2] == 1 || p->kernel[2] == 1;
    j->run = dense && in->pixel == p->channels ? p->kernel[2] * p->channels : p->channels;
    j->depth = p->channels * p->kernel[0] * p->kernel[1] * p->kernel[2];
    j->runs = j->depth / j->run;
    j->line = p->places[2], j->lines = rows * j->images;
    const bool rows_follow =
        rows == 1 || (p->places[0] == 1 && p->stride[1] * in->row == p->places[2] * p->stride[2] * in->pixel);
    if (rows_follow) j->line *= rows, j->lines = j->images;
    j->copies = j->line < SHORT_ROW || (j->runs > 1 && j->run < SHORT_RUN);
    if (j->copies) j->line *= j->lines, j->lines = 1;
    const int64_t cuts = simd_ceil_div(j->line, TILE), panels = simd_ceil_div(p->outputs, nr);
    j->tile = simd_ceil_div(j->line, cuts);
    j->tile = simd_min(TILE, simd_ceil_div(j->tile, j->ukernel->mr) * j->ukernel->mr);
    const int64_t tiles = simd_ceil_div(j->line, j->tile) * j->lines;
    j->parts = threads > 1 ? simd_min(panels, simd_ceil_div(3 * threads, tiles)) : 1;
    j->part = simd_ceil_div(panels, j->parts);
    j->parts = simd_ceil_div(panels, j->part);
}

/* a thread's room; `step` leaves room for whole vectors of the last run */
static rl_layout nhwc_layout(const rl_call *k, nhwc_job *j) {
    rl_layout l = rl_layout_begin(k);
    j->step = simd_min(DEPTH, simd_ceil_div(j->depth, LANES) * LANES) + LANES;
    j->copy = rl_layout_add(&l, j->copies ? RL_COUNT(TILE, j->step) : RL_COUNT(0), j->in.size);
    j->sums =
        rl_layout_add(&l, j->direct ? RL_COUNT(0) : RL_COUNT(TILE, j->part, j->ukernel->nr), j->in.size);
    return l;
}

static rl_status nhwc_run(rl_call *k, nhwc_job *j) {
    const rl_igemm_problem *p = j->p;
    const double work = RL_GEMM_NS * rl_igemm_work(p) * j->in.size / 4;
    const int64_t threads = rl_is_serial(k, 1, work) ? 1 : k->threads, round = rl_nhwc_round(k, &j->in);
    j->images = round;
    nhwc_cut(j, threads);
    if (!nhwc_weights(k, j)) return RL_FAIL;
    j->back = simd_cast_copy_between(k, p->out->dtype, j->in.inner);
    j->direct = p->out->dtype == j->in.inner;
    const rl_layout l = nhwc_layout(k, j);
    if (!k->svc->rooms(k, &l, threads, &j->rooms)) return RL_FAIL;
    char *prepared = NULL;
    if (j->in.copies)
        prepared = k->svc->scratch(k, rl_count_plus(RL_COUNT(round, j->in.image, j->in.size), SLACK), 1);
    if (j->in.copies && !prepared) return RL_FAIL;
    const int64_t answer = p->out->numel / p->images * j->back.to_item;
    for (int64_t first = 0; first < p->images; first += round) {
        j->images = simd_min(round, p->images - first);
        nhwc_cut(j, threads);
        j->from = rl_nhwc_input_fill(k, &j->in, first, j->images, prepared);
        j->out = (char *)rl_data(p->out, RL_WRITE) + first * answer;
        const int64_t items = simd_ceil_div(j->line, j->tile) * j->lines * j->parts;
        const double share = (double)j->images / (double)p->images / (double)items;
        k->svc->parallel(k, items, threads == 1 ? 0 : work * share, nhwc_items, j);
    }
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_conv_nhwc) {
    static const nhwc_tile_copy tile_copies[] = ISA_TABLE(nhwc_copy);
    const rl_view *out = k->out[0];
    rl_igemm_problem p;
    nhwc_job j = {.p = &p,
                  .tile_copy = tile_copies[k->svc->isa],
                  .ukernel =
                      k->svc->isa ? rl_gemm_ukernel_get(k, out->dtype == RL_F64 ? RL_F64 : RL_F32) : NULL};
    if (!j.ukernel || !rl_igemm_read(k, rl_in(k, 0), rl_in(k, 1), rl_in(k, 2), out, false, &p) ||
        p.groups > 1 || !rl_lies_nhwc(out, (int)rl_window_of(k)->spatial) || !rl_nhwc_input_make(&p, &j.in))
        return RL_UNSUPPORTED;
    return nhwc_run(k, &j);
}
