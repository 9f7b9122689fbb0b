/* The gradient of conv1d and conv2d by the input, by Note [Placed tiles]:
 *
 *     sent[place][input channel]  =  sum over output channels of  grad[output channel][place]
 *                                                                 * weight[output channel][tap][input
 * channel]
 *
 * and what a place sends by a tap is added to place + tap of a padded plane. Rows of a tile are places, which
 * may be of several images; the sums of some images and a block of input channels stay with one thread:
 *
 *     strips of gradient          weights                        sums, channels last
 *     [output channel][place]     [tap][output channel][lane]    [image][padded row][padded column][lane] */
#include "common.h"
#include "conv_tile.h"
#include "conv.h"
#include "product_gemm.h"

#ifdef RL_SIMD_X86
enum {
    BLOCK = 256,     /* output channels of a block */
    FEW = 96,        /* places below which an item takes more images */
    NEAR = 96,       /* places that are sent at a time, by all taps */
    PART = 64,       /* output channels whose weights are packed at a time */
    ROUND = 1 << 21, /* elements of the strips of a round */
};
typedef struct {
    rl_conv_placed p;
    rl_conv_planes grad, weight, to; /* of the weight: image is an output channel, place a tap */
    int64_t chunk, chunks, round,
        first;             /* images of an item; items of the batch, of a round; of this round */
    int64_t width, strips; /* places of a strip, strips of a chunk */
    int64_t strip_step, panel_step, sum_room;
    int32_t *places, *steps; /* where sums lie; where a strip's channels do */
    char *strip, *panel, *sums, *out;
} input_job;

static int64_t chunk_images(const input_job *j, int64_t chunk) {
    return simd_min(j->chunk, j->p.c->n - chunk * j->chunk);
}

/* item = (group * blocks + block) * parts + part of the output channels: [tap][output channel][lane] */
static void panel_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const input_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.kit->nr, taps = c->kh * c->kw, size = j->p.size, item = j->p.in.from_item;
    const int64_t parts = simd_ceil_div(c->oc, PART);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i / parts % j->p.blocks, group = i / parts / j->p.blocks;
        const int64_t lane = block * nr, lanes = simd_min(nr, c->ic - lane);
        const int64_t first = i % parts * PART, outs = simd_min(PART, c->oc - first);
        const char *from =
            j->weight.at + ((group * c->oc + first) * j->weight.image + lane * j->weight.channel) * item;
        char *to = j->panel + (i / parts * taps * j->panel_step + first * nr) * size;
        for (int64_t tap = 0; tap < taps && lanes < nr; tap++)
            __builtin_memset(to + tap * j->panel_step * size, 0, (size_t)(outs * nr * size));
        if (j->weight.place == 1 && taps > 1)
            for (int64_t o = 0; o < outs; o++)
                rl_gemm_pack(&j->p.in, (int)size, to + o * nr * size, j->panel_step,
                             from + o * j->weight.image * item, j->weight.channel, 1, lanes, taps);
        else
            for (int64_t tap = 0; tap < taps; tap++)
                rl_gemm_pack(&j->p.in, (int)size, to + tap * j->panel_step * size, nr,
                             from + tap * j->weight.place * item, j->weight.channel, j->weight.image, lanes,
                             outs);
    }
}

/* item = chunk of the round * groups + group: strips of the gradient */
static void strip_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const input_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t plane = c->oh * c->ow, size = j->p.size;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t chunk = j->first + i / c->groups, group = i % c->groups;
        const int64_t places = chunk_images(j, chunk) * plane;
        for (int64_t at = 0, n; at < places; at += n) {
            const int64_t place = at % plane, row = at % j->width;
            n = simd_min(simd_min(plane - place, j->width - row), places - at);
            const char *from = j->grad.at + ((chunk * j->chunk + at / plane) * j->grad.image +
                                             group * c->oc * j->grad.channel + place * j->grad.place) *
                                                j->p.in.from_item;
            char *to = j->strip + (i * j->strip_step + at / j->width * j->width * c->oc + row) * size;
            rl_gemm_pack(&j->p.in, (int)size, to, j->width, from, j->grad.place, j->grad.channel, n, c->oc);
        }
    }
}

/* what the places of strips [s0, s1) send by all taps */
static void send(const input_job *j, rl_conv_tile *t, const char *strip, const char *panel, char *sums,
                 int64_t s0, int64_t s1, int64_t places) {
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.kit->nr, size = j->p.size, depth = rl_conv_even(c->oc, BLOCK);
    t->add = true;
    for (int64_t k0 = 0; k0 < c->oc; k0 += depth) {
        t->k = simd_min(depth, c->oc - k0), t->a_at = j->steps;
        for (int64_t tap = 0; tap < c->kh * c->kw; tap++) {
            const int64_t shift = tap / c->kw * c->dh * j->p.wide + tap % c->kw * c->dw;
            t->b = panel + (tap * j->panel_step + k0 * nr) * size, t->c = sums + shift * nr * size;
            for (int64_t s = s0; s < s1; s++) {
                t->rows = (int)simd_min(j->width, places - s * j->width);
                t->a = strip + (s * c->oc + k0) * j->width * size, t->c_at = j->places + s * j->width;
                j->p.kit->tile(t);
            }
        }
    }
}

/* the sums of an image, without the padding, become planes */
static void put_image(const input_job *j, char *sums, char *to, int64_t count) {
    const rl_conv *c = j->p.c;
    const int64_t line = j->p.kit->nr * j->p.size;
    const char *from = sums + (c->pt * j->p.wide + c->pl) * line;
    for (int64_t y = 0; y < c->h; y++)
        __builtin_memmove(sums + y * c->w * line, from + y * j->p.wide * line, (size_t)(c->w * line));
    rl_conv_put(&j->p, to, &j->to, sums, j->p.kit->nr, c->h * c->w, count);
}

/* item = (chunk of the round * groups + group) * blocks + block of input channels */
static void input_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const input_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t nr = j->p.kit->nr, size = j->p.size, taps = c->kh * c->kw;
    char *sums = j->sums + thread * j->sum_room * size;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i % j->p.blocks, at = i / j->p.blocks, group = at % c->groups;
        const int64_t chunk = j->first + at / c->groups, images = chunk_images(j, chunk);
        const int64_t places = images * c->oh * c->ow, strips = simd_ceil_div(places, j->width);
        const int64_t near = simd_max(1, NEAR / j->width), count = simd_min(nr, c->ic - block * nr);
        const char *panel = j->panel + (group * j->p.blocks + block) * taps * j->panel_step * size;
        const int64_t plane = j->p.high * j->p.wide * nr * size;
        rl_conv_tile t = {.lanes = (int)count};
        __builtin_memset(sums, 0, (size_t)(images * plane));
        for (int64_t s = 0; s < strips; s += near)
            send(j, &t, j->strip + at * j->strip_step * size, panel, sums, s, simd_min(strips, s + near),
                 places);
        for (int64_t image = 0; image < images; image++) {
            const int64_t number = chunk * j->chunk + image;
            char *to = j->out + (number * j->to.image + (group * c->ic + block * nr) * j->to.channel) *
                                    j->p.out.to_item;
            put_image(j, sums + image * plane, to, count);
        }
    }
}

static bool input_sizes(input_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t plane = c->oh * c->ow, padded = j->p.high * j->p.wide, nr = j->p.kit->nr;
    j->chunk = simd_min(c->n, simd_ceil_div(FEW, plane));
    if ((double)j->chunk * (double)padded * (double)nr > INT32_MAX) return false;
    j->chunks = simd_ceil_div(c->n, j->chunk);
    const int64_t places = j->chunk * plane;
    j->width = rl_conv_even(places, j->p.kit->mr), j->strips = simd_ceil_div(places, j->width);
    j->strip_step = j->strips * j->width * c->oc, j->panel_step = c->oc * nr;
    j->sum_room = j->chunk * padded * nr;
    j->round = simd_max(1, simd_min(j->chunks, ROUND / simd_max(1, c->groups * j->strip_step)));
    return true;
}

static bool input_memory(rl_call *k, input_job *j, int64_t threads) {
    const rl_conv *c = j->p.c;
    const size_t size = (size_t)j->p.size;
    j->places = k->svc->scratch(k, RL_COUNT(j->chunk, c->oh, c->ow), sizeof *j->places);
    j->steps = k->svc->scratch(k, RL_COUNT(c->oc), sizeof *j->steps);
    j->strip = k->svc->scratch(k, RL_COUNT(j->round, c->groups, j->strip_step), size);
    j->panel = k->svc->scratch(k, RL_COUNT(c->groups, j->p.blocks, c->kh, c->kw, j->panel_step), size);
    j->sums = k->svc->scratch(k, RL_COUNT(threads, j->sum_room), size);
    return j->places && j->steps && j->strip && j->panel && j->sums;
}

static void input_run(rl_call *k, input_job *j, bool one) {
    const rl_conv *c = j->p.c;
    const int64_t blocks = c->groups * j->p.blocks, taps = c->kh * c->kw;
    const double item = one ? 0 : RL_GEMM_NS * j->p.size / 4 * rl_conv_work(c) / (double)(j->chunks * blocks);
    rl_conv_places(&j->p, j->places, j->chunk, j->p.kit->nr);
    for (int64_t i = 0; i < c->oc; i++) j->steps[i] = (int32_t)(i * j->width);
    const int64_t part = simd_min(PART, c->oc), parts = simd_ceil_div(c->oc, PART);
    k->svc->parallel(k, blocks * parts, 0.4 * (double)(taps * part * j->p.kit->nr), panel_items, j);
    for (j->first = 0; j->first < j->chunks; j->first += j->round) {
        const int64_t chunks = simd_min(j->round, j->chunks - j->first);
        k->svc->parallel(k, chunks * c->groups, 0.3 * (double)j->strip_step, strip_items, j);
        k->svc->parallel(k, chunks * blocks, item, input_items, j);
    }
}

bool rl_conv_input_placed(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status) {
    const rl_view *out = k->out[0], *w = rl_in(k, 1);
    input_job j = {0};
    if (!rl_conv_placed_make(k, c, out->dtype, c->ic, &j.p) || !input_sizes(&j)) return false;
    const bool one = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c));
    j.grad = rl_conv_planes_of(k, rl_in(k, 0), spatial), j.weight = rl_conv_planes_of(k, w, spatial);
    j.to = rl_conv_planes_of(k, out, spatial), j.out = rl_data(out, RL_WRITE);
    *status = j.weight.at && j.grad.at && input_memory(k, &j, one ? 1 : k->threads) ? RL_OK : RL_FAIL;
    if (*status == RL_OK) input_run(k, &j, one);
    return true;
}
#else
bool rl_conv_input_placed(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status) {
    (void)k, (void)c, (void)spatial, (void)status;
    return false;
}
#endif
