/* Convolution as a scatter GEMM (Note [Indirect GEMM]): each input pixel adds its products into the output.
 * It computes the gradient by the input, and the convolution itself of small planes.
 *
 *     sent[place][lane]  =  sum over channels of  from[channel][place] * weight[channel][tap][lane]
 *
 * and the products of a pixel and a tap are added to the sums, one offset away. Rows of a tile are pixels,
 * which may belong to several images; one thread owns the sums of some images and a block of lanes:
 *
 *     strips of places       weights                   sums, channels last
 *     [channel][place]       [tap][channel][lane]      [image][padded row][padded column][lane]
 *
 * An output pixel uses every tap. An input pixel of a strided convolution uses the taps by which some output
 * reads it: the inputs of a phase (row and column modulo the stride) use the same taps and form strips of
 * their own. So do pixels at the borders of small planes, whose products by some taps would fall into the
 * padding:
 *
 *     taps of places of 4 x 3, window 3 x 3      4 6 6 4
 *                                                6 9 9 6
 *                                                4 6 6 4 */
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "conv.h"
#include "kernels/simd/gemm/gemm.h"

enum {
    BLOCK = 256,      /* channels of a block */
    FEW = 96,         /* places below which an item takes more images */
    NEAR = 96,        /* places that send at a time, by all taps */
    PART = 64,        /* channels whose weights are packed at a time */
    TURNED = 1 << 15, /* bytes of weights that are turned at a time */
    ROUND = 1 << 21,  /* elements of the strips of a round */
    SMALL = 8,        /* the side of planes whose borders are told apart, and how many an item takes */
    KEY_SCATTER_GEMM = 0x26,
};
typedef struct {
    int64_t y, x, rows, columns; /* of the plane that sends: the first of each, how many */
    int64_t places, strip;       /* where its part of `places` and of the strips begin */
    int64_t width, taps;         /* width: places of a strip */
    const int32_t *tap, *shift;
} scatter_phase;
typedef struct { /* rows or columns that have their taps in common */
    int64_t first, count;
    uint64_t taps; /* a bit for each; of small planes */
} scatter_line;

typedef struct {
    rl_indirect_gemm p;
    bool forward;
    int64_t channels, lanes, size[2], out[2], step[2]; /* step: between senders of a phase */
    int64_t top, left;                                 /* padding of the sums */
    rl_conv_planes from, to;
    const char *weight, *bias;
    int64_t w_group, w_channel, w_lane, w_tap;
    int64_t chunk, chunks, round; /* images of an item; items of the batch, of a round */
    int64_t first;                /* item of this round */
    bool trims;                   /* borders are told apart */
    int64_t strip_step, panel_step;
    rl_rooms sums; /* of each thread */
    scatter_phase *phase;
    int64_t phases;
    int32_t *places, *steps; /* where sums lie; where a strip's channels do */
    char *strip, *panel, *result;
} scatter_job;

static int64_t chunk_images(const scatter_job *j, int64_t chunk) {
    return simd_min(j->chunk, j->p.c->n - chunk * j->chunk);
}

/* ---- weights ---- */
/* `count` channels of taps that lie side by side, whose lanes lie apart: turned some at a time */
static void panel_transpose(const scatter_job *j, char *to, const char *from, int64_t lanes, int64_t count) {
    const int64_t nr = j->p.ukernel->nr, taps = j->p.c->kh * j->p.c->kw, size = j->p.size, line = nr * size;
    _Alignas(64) char rows[TURNED];
    const int64_t most = TURNED / (taps * line);
    if (lanes < nr) __builtin_memset(rows, 0, sizeof rows);
    for (int64_t c = 0, n; c < count; c += n) {
        n = simd_min(most, count - c);
        rl_gemm_pack(&j->p.in, (int)size, rows, nr, from + c * taps * j->p.in.from_item, j->w_lane, 1, lanes,
                     n * taps);
        for (int64_t t = 0; t < taps; t++)
            for (int64_t i = 0; i < n * line; i += 64) /* lines are multiples of so many bytes */
                __builtin_memcpy(to + (t * j->panel_step + c * nr) * size + i,
                                 rows + (i / line * taps + t) * line + i % line, 64);
    }
}

/* item = (group * blocks + block) * parts + part of the channels: [tap][channel][lane] */
static void panel_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const scatter_job *j = ctx;
    const int64_t nr = j->p.ukernel->nr, taps = j->p.c->kh * j->p.c->kw, size = j->p.size;
    const int64_t item = j->p.in.from_item, parts = simd_ceil_div(j->channels, PART);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i / parts % j->p.blocks, group = i / parts / j->p.blocks;
        const int64_t lanes = simd_min(nr, j->lanes - block * nr);
        const int64_t first = i % parts * PART, count = simd_min(PART, j->channels - first);
        const char *from =
            j->weight + (group * j->w_group + first * j->w_channel + block * nr * j->w_lane) * item;
        char *to = j->panel + (i / parts * taps * j->panel_step + first * nr) * size;
        for (int64_t tap = 0; tap < taps && lanes < nr; tap++)
            __builtin_memset(to + tap * j->panel_step * size, 0, (size_t)(count * nr * size));
        if (taps > 1 && j->w_tap == 1 && j->w_lane == taps)
            for (int64_t c = 0; c < count; c++)
                rl_gemm_pack(&j->p.in, (int)size, to + c * nr * size, j->panel_step,
                             from + c * j->w_channel * item, j->w_lane, 1, lanes, taps);
        else if (taps > 1 && taps * nr * size <= TURNED && j->w_tap == 1 && j->w_channel == taps)
            panel_transpose(j, to, from, lanes, count);
        else
            for (int64_t tap = 0; tap < taps; tap++)
                rl_gemm_pack(&j->p.in, (int)size, to + tap * j->panel_step * size, nr,
                             from + tap * j->w_tap * item, j->w_lane, j->w_channel, lanes, count);
    }
}

/* ---- strips ---- */
/* the senders of a phase of `images` images, `at` their first channel */
static void phase_strips(const scatter_job *j, const scatter_phase *f, char *to, const char *at,
                         int64_t images) {
    const int64_t size = j->p.size, item = j->p.in.from_item;
    const bool flat = f->columns == j->size[1] && f->rows == j->size[0]; /* the whole plane is one run */
    const int64_t run = flat ? f->rows * f->columns : f->columns, runs = flat ? 1 : f->rows;
    int64_t place = 0;
    for (int64_t r = 0; r < images * runs; r++) {
        const char *row = at + (r / runs * j->from.image +
                                ((f->y + r % runs * j->step[0]) * j->size[1] + f->x) * j->from.place) *
                                   item;
        for (int64_t x = 0, n; x < run; x += n, place += n) {
            const int64_t lane = place % f->width;
            n = simd_min(run - x, f->width - lane);
            rl_gemm_pack(&j->p.in, (int)size, to + (place / f->width * f->width * j->channels + lane) * size,
                         f->width, row + x * j->step[1] * j->from.place * item, j->step[1] * j->from.place,
                         j->from.channel, n, j->channels);
        }
    }
}

/* item = chunk of the round * groups + group */
static void strip_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const scatter_job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t chunk = j->first + i / j->p.c->groups, group = i % j->p.c->groups;
        const char *at =
            j->from.at +
            (chunk * j->chunk * j->from.image + group * j->channels * j->from.channel) * j->p.in.from_item;
        for (const scatter_phase *f = j->phase; f < j->phase + j->phases; f++)
            phase_strips(j, f, j->strip + (i * j->strip_step + f->strip * j->channels) * j->p.size, at,
                         chunk_images(j, chunk));
    }
}

/* ---- sums ---- */
/* what strips [s0, s1) of a phase send by all of its taps */
static void send(const scatter_job *j, const scatter_phase *f, const char *strip, const char *panel,
                 char *sums, rl_conv_tile *t, int64_t s0, int64_t s1, int64_t places) {
    const int64_t nr = j->p.ukernel->nr, size = j->p.size, depth = rl_conv_even(j->channels, BLOCK);
    for (int64_t k0 = 0; k0 < j->channels; k0 += depth) {
        t->k = simd_min(depth, j->channels - k0);
        for (int64_t i = 0; i < f->taps; i++) {
            t->b = panel + (f->tap[i] * j->panel_step + k0 * nr) * size,
            t->c = sums + f->shift[i] * nr * size;
            for (int64_t s = s0; s < s1; s++) {
                t->rows = (int)simd_min(f->width, places - s * f->width);
                t->a = strip + (s * j->channels + k0) * f->width * size;
                t->c_at = j->places + f->places + s * f->width;
                j->p.ukernel->tile(t);
            }
        }
    }
}

/* sums begin as the bias, or as zero */
static void sums_begin(const scatter_job *j, char *sums, int64_t channel, int64_t places, int64_t lanes) {
    const int64_t line = j->p.ukernel->nr * j->p.size;
    __builtin_memset(sums, 0, (size_t)(j->bias ? line : places * line));
    if (!j->bias) return;
    simd_cast_copy_run(&j->p.in, sums, j->p.size, j->bias + channel * j->p.in.from_item, j->p.in.from_item,
                       lanes);
    for (int64_t i = 1; i < places; i++) __builtin_memcpy(sums + i * line, sums, (size_t)line);
}

/* the sums of an image, without the padding, become planes */
static void put_image(const scatter_job *j, char *sums, char *to, int64_t count) {
    const int64_t line = j->p.ukernel->nr * j->p.size, h = j->out[0], w = j->out[1];
    const char *from = sums + (j->top * j->p.wide + j->left) * line;
    for (int64_t y = 0; y < h; y++)
        __builtin_memmove(sums + y * w * line, from + y * j->p.wide * line, (size_t)(w * line));
    rl_conv_put(&j->p, to, &j->to, sums, j->p.ukernel->nr, h * w, count);
}

/* item = (chunk of the round * groups + group) * blocks + block of lanes */
static void sum_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const scatter_job *j = ctx;
    const int64_t nr = j->p.ukernel->nr, size = j->p.size, groups = j->p.c->groups;
    const int64_t plane = j->p.high * j->p.wide;
    char *sums = rl_room(&j->sums, thread);
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % j->p.blocks, at = i / j->p.blocks, group = at % groups;
        const int64_t chunk = j->first + at / groups, images = chunk_images(j, chunk);
        const int64_t count = simd_min(nr, j->lanes - block * nr), channel = group * j->lanes + block * nr;
        const char *panel =
            j->panel + (group * j->p.blocks + block) * j->p.c->kh * j->p.c->kw * j->panel_step * size;
        rl_conv_tile t = {.lanes = (int)count, .add = true};
        sums_begin(j, sums, channel, images * plane, count);
        for (const scatter_phase *f = j->phase; f < j->phase + j->phases; f++) {
            const int64_t places = images * f->rows * f->columns, strips = simd_ceil_div(places, f->width);
            const int64_t near = simd_max(1, NEAR / f->width);
            const char *strip = j->strip + (at * j->strip_step + f->strip * j->channels) * size;
            t.a_at = j->steps + (f->width - 1) * j->channels;
            for (int64_t s = 0; s < strips; s += near)
                send(j, f, strip, panel, sums, &t, s, simd_min(strips, s + near), places);
        }
        for (int64_t image = 0; image < images; image++)
            put_image(j, sums + image * plane * nr * size,
                      j->result + ((chunk * j->chunk + image) * j->to.image + channel * j->to.channel) *
                                      j->p.out.to_item,
                      count);
    }
}

/* ---- sizes and memory ---- */
static void scatter_sizes(scatter_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t in[2] = {c->h, c->w}, out[2] = {c->oh, c->ow}, stride[2] = {c->sh, c->sw};
    const int64_t before[2] = {c->pt, c->pl}, more[2] = {(c->kh - 1) * c->dh, (c->kw - 1) * c->dw};
    int64_t *const padded[2] = {&j->p.high, &j->p.wide}, *const margin[2] = {&j->top, &j->left};
    for (int i = 0; i < 2; i++) {
        j->size[i] = j->forward ? in[i] : out[i], j->out[i] = j->forward ? out[i] : in[i];
        j->step[i] = j->forward ? stride[i] : 1;
        *margin[i] = before[i];
        if (!j->forward) continue;
        *margin[i] = simd_max(0, simd_ceil_div(more[i] - before[i], stride[i]));
        *padded[i] = *margin[i] + simd_max(out[i], (in[i] - 1 + before[i]) / stride[i] + 1);
    }
    j->channels = j->forward ? c->ic : c->oc, j->lanes = j->forward ? c->oc : c->ic;
}

RL_CHOOSER
static bool scatter_chunks(scatter_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.ukernel->nr, padded = j->p.high * j->p.wide;
    const int64_t part = simd_ceil_div(j->size[0], j->step[0]) * simd_ceil_div(j->size[1], j->step[1]);
    j->chunk = simd_min(c->n, simd_ceil_div(FEW, part));
    j->trims = c->n >= SMALL / 2 && simd_max(j->size[0], j->size[1]) <= SMALL && c->kh * c->kw > 1 &&
               simd_max(c->kh, c->kw) < 64;
    if (j->trims) j->chunk = simd_min(c->n, simd_max(j->chunk, SMALL));
    if ((double)j->chunk * (double)padded * (double)nr > INT32_MAX) return false;
    j->chunks = simd_ceil_div(c->n, j->chunk);
    j->panel_step = j->channels * nr;
    return true;
}

/* does a sender meet the result by a tap? `dim`: of the two */
static bool meets(const scatter_job *j, int dim, int64_t at, int64_t tap) {
    const rl_conv *c = j->p.c;
    const int64_t step = j->step[dim], before = dim ? c->pl : c->pt, stride = dim ? c->sw : c->sh;
    const int64_t to = j->forward ? at + before - tap : at * stride + tap - before;
    return to >= 0 && to % step == 0 && to / step < j->out[dim];
}

/* rows or columns that have their taps in common; NULL (reported) without memory */
static scatter_line *lines_make(rl_call *k, const scatter_job *j, int dim, int64_t *lines) {
    const int64_t taps = dim ? j->p.c->kw : j->p.c->kh, dilation = dim ? j->p.c->dw : j->p.c->dh;
    scatter_line *list = k->svc->scratch(k, RL_COUNT(j->size[dim]), sizeof *list), *l = list;
    if (!list) return NULL;
    for (int64_t first = 0; first < simd_min(j->size[dim], j->step[dim]); first++) {
        bool begins = true;
        for (int64_t at = first; at < j->size[dim]; at += j->step[dim], begins = false) {
            uint64_t met = 0;
            for (int64_t t = 0; j->trims && t < taps; t++)
                met |= (uint64_t)meets(j, dim, at, t * dilation) << t;
            if (!begins && l[-1].taps == met)
                l[-1].count++;
            else
                *l++ = (scatter_line){at, 1, met};
        }
    }
    *lines = l - list;
    return list;
}

/* the taps of a phase, and how far off what they send lies */
static int64_t phase_taps(const scatter_job *j, const scatter_phase *f, const scatter_line *row,
                          const scatter_line *column, int32_t *tap, int32_t *shift) {
    const rl_conv *c = j->p.c;
    int64_t n = 0;
    for (int64_t t = 0; t < c->kh * c->kw; t++) {
        int64_t y = t / c->kw * c->dh, x = t % c->kw * c->dw;
        if (j->trims && !(row->taps >> t / c->kw & column->taps >> t % c->kw & 1)) continue;
        if (j->forward) { /* to the output at (row + padding - tap) / stride, from the margin on */
            y = f->y + c->pt - y + j->top * c->sh, x = f->x + c->pl - x + j->left * c->sw;
            if (y % c->sh || x % c->sw) continue;
            y /= c->sh, x /= c->sw;
        } else {
            y += f->y * c->sh, x += f->x * c->sw;
        }
        tap[n] = (int32_t)t, shift[n++] = (int32_t)(y * j->p.wide + x);
    }
    return n;
}

/* phases with strips and taps */
static bool phases_make(rl_call *k, scatter_job *j) {
    const rl_conv *c = j->p.c;
    int64_t rows, columns, taps = c->kh * c->kw, places = 0, strip = 0;
    const scatter_line *row = lines_make(k, j, 0, &rows), *column = lines_make(k, j, 1, &columns);
    if (!row || !column) return false;
    j->phases = rows * columns;
    const rl_count all = RL_COUNT(j->trims ? j->phases : 1, taps);
    int32_t *tap = k->svc->scratch(k, all, sizeof *tap), *shift = k->svc->scratch(k, all, sizeof *shift);
    j->phase = k->svc->scratch(k, RL_COUNT(j->phases), sizeof *j->phase);
    if (!tap || !shift || !j->phase) return false;
    for (int64_t p = 0; p < j->phases; p++) {
        const scatter_line *y = row + p / columns, *x = column + p % columns;
        scatter_phase *f = j->phase + p;
        *f = (scatter_phase){y->first, x->first, y->count,   x->count,
                             places,   strip,    .tap = tap, .shift = shift};
        const int64_t n = j->chunk * f->rows * f->columns;
        f->width = rl_conv_even(n, j->p.ukernel->mr), f->taps = phase_taps(j, f, y, x, tap, shift);
        places += n, strip += simd_ceil_div(n, f->width) * f->width;
        tap += f->taps, shift += f->taps;
    }
    j->strip_step = strip * j->channels;
    j->round = simd_max(1, simd_min(j->chunks, ROUND / simd_max(1, c->groups * j->strip_step)));
    return true;
}

static bool tables_make(rl_call *k, scatter_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t down = j->forward ? 1 : c->sh, right = j->forward ? 1 : c->sw;
    int32_t *place = k->svc->scratch(k, RL_COUNT(j->chunk, j->size[0], j->size[1]), sizeof *place);
    j->steps = k->svc->scratch(k, RL_COUNT(j->p.ukernel->mr, j->channels), sizeof *j->steps);
    j->places = place;
    if (!place || !j->steps) return false;
    for (int64_t width = 1, at = 0; width <= j->p.ukernel->mr; width++)
        for (int64_t i = 0; i < j->channels; i++) j->steps[at++] = (int32_t)(i * width);
    for (const scatter_phase *f = j->phase; f < j->phase + j->phases; f++)
        for (int64_t i = 0; i < j->chunk * f->rows; i++)
            for (int64_t x = 0; x < f->columns; x++) {
                const int64_t row = i / f->rows * j->p.high + i % f->rows * down;
                *place++ = (int32_t)((row * j->p.wide + x * right) * j->p.ukernel->nr);
            }
    return true;
}

/* packed weights of the forward's; a gradient's are used once */
static bool panels_make(rl_call *k, scatter_job *j, const rl_view *w) {
    const rl_conv *c = j->p.c;
    const uint64_t key =
        (uint64_t)KEY_SCATTER_GEMM << 48 | (uint64_t)c->groups << 8 | (unsigned)j->p.ukernel->nr;
    const int64_t blocks = c->groups * j->p.blocks, parts = simd_ceil_div(j->channels, PART);
    const rl_count all = RL_COUNT(blocks, c->kh, c->kw, j->panel_step);
    const bool keeps = j->forward && j->p.inner == RL_F32 && !j->p.in.convert;
    j->panel = keeps ? k->svc->packed_find(k, w, key) : NULL;
    if (j->panel) return true;
    j->panel = keeps ? k->svc->packed_new(k, w, key, all, sizeof(float)) : NULL;
    const bool kept = j->panel != NULL;
    if (!kept) j->panel = k->svc->scratch(k, all, j->p.size);
    if (!j->panel) return false;
    const double item = 0.4 * (double)(c->kh * c->kw * simd_min(PART, j->channels) * j->p.ukernel->nr);
    k->svc->parallel(k, blocks * parts, item, panel_items, j);
    if (kept) k->svc->packed_ready(k, w, key);
    return true;
}

static void scatter_run(rl_call *k, scatter_job *j, bool one) {
    const rl_conv *c = j->p.c;
    const int64_t blocks = c->groups * j->p.blocks;
    const double item = RL_GEMM_NS * j->p.size / 4 * rl_conv_work(c) / (double)(j->chunks * blocks);
    for (j->first = 0; j->first < j->chunks; j->first += j->round) {
        const int64_t chunks = simd_min(j->round, j->chunks - j->first);
        k->svc->parallel(k, chunks * c->groups, 0.3 * (double)j->strip_step, strip_items, j);
        k->svc->parallel(k, chunks * blocks, one ? 0 : item, sum_items, j);
    }
}

RL_CHOOSER
bool rl_conv_scatter_gemm(rl_call *k, const rl_conv *c, int64_t spatial, bool forward, rl_status *status) {
    const rl_view *out = k->out[0], *w = rl_in(k, 1), *bias = forward ? rl_in(k, 2) : NULL;
    scatter_job j = {.forward = forward};
    if (!rl_indirect_gemm_make(k, c, out->dtype, forward ? c->oc : c->ic, &j.p)) return false;
    scatter_sizes(&j);
    if (!scatter_chunks(&j)) return false;
    const bool one = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c));
    const rl_conv_planes weight = rl_conv_planes_of(k, w, spatial);
    j.from = rl_conv_planes_of(k, rl_in(k, 0), spatial), j.to = rl_conv_planes_of(k, out, spatial);
    j.weight = weight.at, j.w_group = c->oc * weight.image, j.w_tap = weight.place;
    j.w_channel = forward ? weight.channel : weight.image, j.w_lane = forward ? weight.image : weight.channel;
    j.bias = bias ? rl_const_data(bias) : NULL, j.result = rl_data(out, RL_WRITE);
    *status = RL_FAIL;
    if (!j.from.at || !j.weight || !phases_make(k, &j) || !tables_make(k, &j) || !panels_make(k, &j, w))
        return true;
    j.strip = k->svc->scratch(k, RL_COUNT(j.round, c->groups, j.strip_step), j.p.size);
    const rl_count sums = RL_COUNT(j.chunk, j.p.high, j.p.wide, j.p.ukernel->nr);
    if (!j.strip || !rl_thread_rooms(k, one ? 1 : k->threads, sums, j.p.size, &j.sums)) return true;
    scatter_run(k, &j, one);
    *status = RL_OK;
    return true;
}
