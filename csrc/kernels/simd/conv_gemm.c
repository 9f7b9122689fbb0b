/* conv2d as a matrix product: weights (OC x depth) times patches (depth x pixels), whose answer is the
 * output as it lies in memory. Patches exist only as one tile per thread:
 *
 *            tile: TILE pixels
 *          ┌─────────────────┐   rows of the tile are taps (channel, ky, kx), at most RL_GEMM_KB at
 *     kb   │ x(tap, pixel)   │   a time; TILE is an odd number of cache lines, or pairs of them, so
 *          └─────────────────┘   that a panel's rows do not fall into few cache sets. */
#include "conv.h"
#include "common.h"
#include "product_gemm.h"
#include "kernels/shared/plain.h"

enum { KEY_STRIPS = 0x23 };

typedef struct {
    const rl_conv *c;
    const rl_gemm_kit *kit;
    const float *in, *weights, *bias;
    float *out, *room;
    int64_t tile, tiles, part, parts; /* pixels per tile, tiles per image; output channels per part */
    int64_t strip_floats;             /* packed weights of one group */
} patch_job;

/* to[i] = column (x + i) * sw + shift of a row of the image, zero outside, for i < n */
static void patch_row(const rl_conv *c, float *to, const float *row, int64_t x, int64_t shift, int64_t n) {
    int64_t first = x * c->sw + shift;
    int64_t lo = first < 0 ? simd_min(n, simd_ceil_div(-first, c->sw)) : 0;
    int64_t hi = first < c->w ? simd_min(n, simd_ceil_div(c->w - first, c->sw)) : 0;
    int64_t i = 0;
    for (; i < lo; i++) to[i] = 0;
    if (c->sw == 1 && hi - i >= 16) {
        __builtin_memcpy(to + i, row + first + i, (size_t)(hi - i) * sizeof(float));
        i = hi;
    } else {
        for (; i < hi; i++) to[i] = row[first + i * c->sw];
    }
    for (; i < n; i++) to[i] = 0;
}

/* Taps [k0, k0 + depth) of pixels [p0, p0 + count); `wide` columns get a value. */
static void patch_fill(const patch_job *j, float *to, const float *in, int64_t k0, int64_t depth, int64_t p0,
                       int64_t count, int64_t wide) {
    const rl_conv *c = j->c;
    int64_t window = c->kh * c->kw;
    for (int64_t k = k0; k < k0 + depth; k++, to += j->tile) {
        int64_t ky = k % window / c->kw, kx = k % window % c->kw;
        const float *plane = in + k / window * c->h * c->w;
        int64_t y = p0 / c->ow, x = p0 % c->ow;
        if (c->ow == c->w && c->sw == 1 && c->kw == 1 && c->sh == 1 && c->kh == 1 && !c->pt && !c->pl) {
            __builtin_memcpy(to, plane + p0, (size_t)count * sizeof(float)); /* 1 x 1: pixels as they lie */
        } else {
            for (int64_t done = 0, n; done < count; done += n, y++, x = 0) {
                int64_t row = y * c->sh + ky * c->dh - c->pt;
                n = simd_min(c->ow - x, count - done);
                if (row < 0 || row >= c->h)
                    for (int64_t i = 0; i < n; i++) to[done + i] = 0;
                else
                    patch_row(c, to + done, plane + row * c->w, x, kx * c->dw - c->pl, n);
            }
        }
        for (int64_t i = count; i < wide; i++) to[i] = 0;
    }
}

/* item = ((image * groups + group) * tiles + tile) * parts + part of the output channels */
static void patch_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const patch_job *j = ctx;
    const rl_conv *c = j->c;
    int64_t pixels = c->oh * c->ow, nr = j->kit->nr, mr = j->kit->mr;
    int64_t pieces = simd_ceil_div(c->depth, RL_GEMM_KB), kb = simd_ceil_div(c->depth, pieces);
    float *room = j->room + thread * j->tile * RL_GEMM_KB;
    for (int64_t i = begin; i < end; i++) {
        int64_t part = i % j->parts, p0 = i / j->parts % j->tiles * j->tile, plane = i / j->parts / j->tiles;
        int64_t group = plane % c->groups, first = part * j->part, count = simd_min(j->tile, pixels - p0);
        const float *in = j->in + plane * c->ic * c->h * c->w;
        const float *weights = j->weights + group * j->strip_floats + first * c->depth;
        for (int64_t k0 = 0; k0 < c->depth; k0 += kb) {
            rl_panel p = {.rows = simd_min(j->part, c->oc - first), .k = simd_min(kb, c->depth - k0)};
            patch_fill(j, room, in, k0, p.k, p0, count, simd_ceil_div(count, nr) * nr);
            p.packed_a = true, p.add = k0 > 0;
            p.a = weights + k0 * mr, p.a_strip = mr * c->depth;
            p.row_bias = j->bias ? j->bias + group * c->oc + first : NULL;
            p.b_step = j->tile, p.c_step = pixels;
            for (int64_t n = 0; n < count; n += nr) {
                p.cols = (int)simd_min(nr, count - n);
                p.b = room + n;
                p.c = j->out + (plane * c->oc + first) * pixels + p0 + n;
                j->kit->panel(&p);
            }
        }
    }
}

static const float *conv_strips(rl_call *k, const rl_conv *c, const rl_gemm_kit *kit, rl_count group_floats) {
    uint64_t key = (uint64_t)KEY_STRIPS << 48 | (uint64_t)c->groups << 8 | (unsigned)kit->mr;
    float *to = k->svc->packed_find(k, c->weight, key);
    if (to) return to;
    const float *w = rl_plain_input(k, c->weight);
    rl_count floats = rl_count_times(group_floats, c->groups);
    if (!w) return NULL;
    to = k->svc->packed_new(k, c->weight, key, floats, sizeof(float));
    bool kept = to != NULL;
    if (!kept) to = rl_gemm_scratch(k, floats);
    if (!to) return NULL;
    for (int64_t g = 0; g < c->groups; g++)
        rl_gemm_pack_a(to + g * group_floats.n, kit->mr, w + g * c->oc * c->depth, c->oc, c->depth, c->depth,
                       1);
    if (kept) k->svc->packed_ready(k, c->weight, key);
    return to;
}

RL_KERNEL(simd_conv2d_gemm) {
    rl_conv c;
    const rl_gemm_kit *kit = rl_gemm_kit_get(k, RL_F32);
    if (!kit || !rl_conv_read(k, &c)) return RL_UNSUPPORTED;
    int64_t pixels = c.oh * c.ow, threads = simd_max(1, k->threads);
    patch_job j = {.c = &c, .kit = kit, .tile = kit->nr * (kit->nr == 16 ? 9 : 5), .part = c.oc, .parts = 1};
    rl_count strip_floats = rl_count_times(rl_count_round_up(RL_COUNT(c.oc), kit->mr), c.depth);
    j.strip_floats = strip_floats.n;
    j.in = rl_plain_input(k, c.in);
    j.bias = c.bias ? rl_const_data(c.bias) : NULL;
    if (!j.in) return RL_FAIL;
    j.weights = conv_strips(k, &c, kit, strip_floats);
    if (!j.weights) return RL_FAIL;
    bool one = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(&c));
    j.tiles = simd_ceil_div(pixels, j.tile);
    if (!one) { /* every thread a few items: channels are split only when there are too few tiles */
        int64_t items = c.n * c.groups * j.tiles, strips = simd_ceil_div(c.oc, kit->mr);
        j.parts = simd_min(simd_max(1, strips / 4), simd_ceil_div(3 * threads, items));
        j.part = simd_ceil_div(strips, j.parts) * kit->mr;
        j.parts = simd_ceil_div(c.oc, j.part);
    }
    j.room = rl_gemm_scratch(k, RL_COUNT(j.tile, RL_GEMM_KB, one ? 1 : threads));
    if (!j.room) return RL_FAIL;
    j.out = rl_data(c.out, RL_WRITE);
    int64_t items = c.n * c.groups * j.tiles * j.parts;
    k->svc->parallel(k, items, one ? 0 : RL_GEMM_NS * rl_conv_work(&c) / (double)items, patch_items, &j);
    return RL_OK;
}
