/* The gradient of conv1d and conv2d by the weight, by Note [Indirect GEMM]:
 *
 *     dW[input channel, tap][output channel]  =  sum over places of  x[place + tap][input channel]
 *                                                                    * grad[place][output channel]
 *   x is made strips of channels of padded planes, the gradient panels of channels. A line is a tile's rows:
 *   some channels at one tap; where channels are few, neighbouring columns of a row of the window as well,
 *   which lie side by side then:
 *
 *       strip of 2 channels   │ab│ab│ab│ab│ ...        line of 3 columns   [ab ab ab]
 *
 *   Images go by rounds, whose strips and panels fit a cache; a line adds up all places of a round, in
 * blocks.
 */
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "conv.h"
#include "kernels/simd/gemm/gemm.h"

enum {
    BLOCK = 192,
    ROUND = 1 << 20,
    ITEM_LINES = 6
}; /* places of a block; elements of a round; a least item */
typedef struct {
    int32_t from, first; /* in a strip's planes: where it begins; in `columns`: its rows */
    int16_t rows, strip;
} weight_line;

typedef struct {
    rl_indirect_gemm p;
    rl_conv_planes in, grad;
    int64_t image, images, round; /* the first of this round, how many it has and the others have */
    int64_t strips, width;        /* of a group's input channels */
    int64_t lines, parts, part;   /* of a group; parts of them, lines of one */
    int64_t strip_step, panel_step, sum_step;
    bool joins; /* lines go over columns of the window */
    int32_t *places, *columns;
    weight_line *line;
    char *strip, *panel, *sums, *to;
    int64_t to_out, to_in, to_tap;
} weight_job;

/* item = (group * strips + strip) * images + image: a strip's padded plane of one image */
static void strip_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t plane = j->p.high * j->p.wide * j->width * j->p.size, size = j->p.size;
    const int64_t item = j->p.in.from_item, line = j->p.wide * j->width * size;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t strip = i / j->images % j->strips, group = i / j->images / j->strips;
        const int64_t first = strip * j->width, count = simd_min(j->width, c->ic - first);
        const char *from =
            j->in.at +
            ((j->image + i % j->images) * j->in.image + (group * c->ic + first) * j->in.channel) * item;
        char *to = j->strip + i / j->images * j->strip_step * size + i % j->images * plane;
        const bool dense = j->p.wide == c->w && j->p.high == c->h;
        if (!dense || count < j->width) __builtin_memset(to, 0, (size_t)plane);
        to += (c->pt * j->p.wide + c->pl) * j->width * size;
        if (dense) {
            rl_gemm_pack(&j->p.in, (int)size, to, j->width, from, j->in.channel, j->in.place, count,
                         c->h * c->w);
            continue;
        }
        for (int64_t y = 0; y < c->h; y++)
            rl_gemm_pack(&j->p.in, (int)size, to + y * line, j->width, from + y * c->w * j->in.place * item,
                         j->in.channel, j->in.place, count, c->w);
    }
}

/* item = (group * blocks + block) * images + image: the gradient of a block of output channels */
static void panel_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.ukernel->nr, places = c->oh * c->ow, size = j->p.size;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i / j->images % j->p.blocks, group = i / j->images / j->p.blocks;
        const int64_t first = block * nr, count = simd_min(nr, c->oc - first);
        const char *from = j->grad.at + ((j->image + i % j->images) * j->grad.image +
                                         (group * c->oc + first) * j->grad.channel) *
                                            j->p.in.from_item;
        char *to = j->panel + (i / j->images * j->panel_step + i % j->images * places * nr) * size;
        if (count < nr) __builtin_memset(to, 0, (size_t)(places * nr * size));
        rl_gemm_pack(&j->p.in, (int)size, to, nr, from, j->grad.channel, j->grad.place, count, places);
    }
}

/* item = (group * blocks + block) * parts + part of the lines */
static void weight_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.ukernel->nr, places = j->images * c->oh * c->ow, size = j->p.size;
    const int64_t depth = rl_conv_even(places, BLOCK);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = i / j->parts, first = i % j->parts * j->part;
        const int64_t last = simd_min(j->lines, first + j->part);
        const char *strip = j->strip + at / j->p.blocks * j->strips * j->strip_step * size;
        rl_conv_tile t = {.c = j->sums + at * j->sum_step * size};
        t.lanes = (int)simd_min(nr, c->oc - at % j->p.blocks * nr);
        for (int64_t k0 = 0; k0 < places; k0 += depth) {
            t.k = simd_min(depth, places - k0), t.add = k0 > 0 || j->image > 0;
            t.a_at = j->places + k0, t.b = j->panel + (at * j->panel_step + k0 * nr) * size;
            for (const weight_line *l = j->line + first; l < j->line + last; l++) {
                t.rows = l->rows, t.c_at = j->columns + l->first;
                t.a = strip + (l->strip * j->strip_step + l->from) * size;
                j->p.ukernel->tile(&t);
            }
        }
    }
}

/* item = (group * blocks + block) * pieces + piece of the sums: they become rows of the weight */
enum { PIECE = 256 };
static void finish_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_conv *c = j->p.c;
    const rl_conv_planes rows = {.channel = j->to_out, .place = 1};
    const int64_t nr = j->p.ukernel->nr, pieces = simd_ceil_div(c->k, PIECE), item = j->p.out.to_item;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = i / pieces, first = i % pieces * PIECE, n = simd_min(PIECE, c->k - first);
        const int64_t lane = at % j->p.blocks * nr, count = simd_min(nr, c->oc - lane);
        const char *from = j->sums + (at * j->sum_step + first * nr) * j->p.size;
        char *to = j->to + ((at / j->p.blocks * c->oc + lane) * j->to_out + first) * item;
        rl_conv_put(&j->p, to, &rows, from, nr, n, count);
    }
}

/* ---- lines ---- */
static void line_rows(weight_job *j, weight_line *l, int64_t ky, int64_t kx, int64_t strip, int64_t from,
                      int64_t rows, int64_t first) {
    const rl_conv *c = j->p.c;
    const int64_t wide = simd_min(j->width, c->ic - strip * j->width);
    *l = (weight_line){.rows = (int16_t)rows, .strip = (int16_t)strip, .first = (int32_t)first};
    l->from = (int32_t)((ky * c->dh * j->p.wide + kx * c->dw) * j->width + from);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t tap = ky * c->kw + kx + (from + r) / wide;
        const int64_t channel = strip * j->width + (from + r) % wide;
        j->columns[first + r] = (int32_t)((channel * j->to_in + tap * j->to_tap) * j->p.ukernel->nr);
    }
}

static void lines_make(weight_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t columns = j->joins ? 1 : c->kw, all = j->joins ? c->ic * c->kw : 0;
    weight_line *l = j->line;
    int64_t first = 0;
    for (int64_t s = 0; s < j->strips; s++)
        for (int64_t ky = 0; ky < c->kh; ky++)
            for (int64_t kx = 0; kx < columns; kx++) {
                const int64_t wide = j->joins ? all : simd_min(j->width, c->ic - s * j->width);
                const int64_t step = rl_conv_even(wide, j->p.ukernel->mr);
                for (int64_t from = 0; from < wide; from += step, l++) {
                    const int64_t rows = simd_min(step, wide - from);
                    line_rows(j, l, ky, kx, s, from, rows, first);
                    first += rows;
                }
            }
    j->lines = l - j->line;
}

/* ---- sizes and memory ---- */
static bool weight_sizes(weight_job *j, int64_t threads) {
    const rl_conv *c = j->p.c;
    const int64_t plane = j->p.high * j->p.wide, places = c->oh * c->ow, nr = j->p.ukernel->nr;
    j->joins = 2 * c->ic <= j->p.ukernel->mr && c->kw > 1 && c->dw == 1;
    j->width = j->joins ? c->ic : rl_conv_even(c->ic, j->p.ukernel->mr);
    j->strips = simd_ceil_div(c->ic, j->width);
    const double image = (double)(c->groups * j->strips) * (double)(plane * j->width) +
                         (double)(c->groups * j->p.blocks) * (double)(places * nr);
    j->round = simd_max(1, simd_min(c->n, (int64_t)(ROUND / image)));
    if ((double)j->round * (double)(plane * j->width) > INT32_MAX || (double)c->k * (double)nr > INT32_MAX ||
        j->strips > INT16_MAX)
        return false;
    j->strip_step = j->round * plane * j->width, j->panel_step = j->round * places * nr;
    j->sum_step = c->k * nr;
    (void)threads;
    return true;
}

static bool weight_memory(rl_call *k, weight_job *j) {
    const rl_conv *c = j->p.c;
    const size_t size = (size_t)j->p.size;
    j->places = k->svc->scratch(k, RL_COUNT(j->round, c->oh, c->ow), sizeof *j->places);
    j->columns = k->svc->scratch(k, RL_COUNT(c->k), sizeof *j->columns);
    j->line = k->svc->scratch(k, RL_COUNT(c->k), sizeof *j->line);
    j->strip = k->svc->scratch(k, RL_COUNT(c->groups, j->strips, j->strip_step), size);
    j->panel = k->svc->scratch(k, RL_COUNT(c->groups, j->p.blocks, j->panel_step), size);
    j->sums = k->svc->scratch(k, RL_COUNT(c->groups, j->p.blocks, j->sum_step), size);
    return j->places && j->columns && j->line && j->strip && j->panel && j->sums;
}

static void weight_run(rl_call *k, weight_job *j, int64_t threads) {
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.ukernel->nr, blocks = c->groups * j->p.blocks, strips = c->groups * j->strips;
    const double whole = threads == 1 ? 0 : RL_GEMM_NS * j->p.size / 4 * rl_conv_work(c) / (double)c->n;
    const int64_t wanted = simd_max(1, simd_ceil_div(8 * threads, blocks));
    j->part = simd_max(simd_min(ITEM_LINES, j->lines), simd_ceil_div(j->lines, wanted));
    j->parts = simd_ceil_div(j->lines, j->part);
    rl_conv_places(&j->p, j->places, j->round, j->width);
    for (j->image = 0; j->image < c->n; j->image += j->round) {
        j->images = simd_min(j->round, c->n - j->image);
        k->svc->parallel(k, strips * j->images, 0.3 * (double)(j->p.high * j->p.wide * j->width), strip_items,
                         j);
        k->svc->parallel(k, blocks * j->images, 0.3 * (double)(c->oh * c->ow * nr), panel_items, j);
        k->svc->parallel(k, blocks * j->parts, whole * (double)j->images / (double)(blocks * j->parts),
                         weight_items, j);
    }
    const int64_t pieces = simd_ceil_div(c->k, PIECE);
    k->svc->parallel(k, blocks * pieces, 0.3 * (double)(simd_min(PIECE, c->k) * nr), finish_items, j);
}

RL_CHOOSER
bool rl_conv_weight_indirect_gemm(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status) {
    const rl_view *out = k->out[0];
    weight_job j = {0};
    if (!rl_indirect_gemm_make(k, c, out->dtype, c->oc, &j.p)) return false;
    const int64_t threads = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c)) ? 1 : k->threads;
    if (!weight_sizes(&j, threads)) return false;
    j.in = rl_conv_planes_of(k, rl_in(k, 1), spatial), j.grad = rl_conv_planes_of(k, rl_in(k, 0), spatial);
    const bool last = !rl_is_contiguous(out); /* channels last */
    j.to_out = c->k, j.to_in = last ? 1 : c->kh * c->kw, j.to_tap = last ? c->ic : 1;
    j.to = rl_data(out, RL_WRITE);
    *status = j.in.at && j.grad.at && weight_memory(k, &j) ? RL_OK : RL_FAIL;
    if (*status != RL_OK) return true;
    lines_make(&j);
    weight_run(k, &j, threads);
    return true;
}
