/* The gradient of conv1d and conv2d by the input. With stride 1 it is a convolution of the gradient with the
 * weight turned by half a circle and its channels swapped; else a product gives what each output sends to its
 * window, and that is added up:
 *
 *     sent (taps x places) = weight^T (taps x OC) grad (OC x places)       a block of rows at a time */
#include "common.h"
#include "conv.h"
#include "conv_tile.h"
#include "product_gemm.h"
#include "contract/window.h"
#include "kernels/shared/plain.h"

#ifdef RL_SIMD_X86
/* ---- stride 1 ---- */
static float *turned_weights(rl_call *k, const rl_conv *c, const float *w) {
    int64_t taps = c->kh * c->kw;
    float *to = rl_gemm_scratch(k, RL_COUNT(c->groups, c->oc, c->depth));
    for (int64_t g = 0; to && g < c->groups; g++)
        for (int64_t o = 0; o < c->oc; o++)
            for (int64_t i = 0; i < c->ic; i++, w += taps) {
                float *turned = to + ((g * c->ic + i) * c->oc + o) * taps;
                for (int64_t t = 0; t < taps; t++) turned[t] = w[taps - 1 - t];
            }
    return to;
}

static rl_status input_direct(rl_call *k, const rl_conv *c, const float *grad, const float *w) {
    rl_conv turned = *c;
    turned.h = c->oh, turned.w = c->ow, turned.oh = c->h, turned.ow = c->w;
    turned.ic = c->oc, turned.oc = c->ic, turned.depth = c->oc * c->kh * c->kw;
    turned.pt = (c->kh - 1) * c->dh - c->pt, turned.pl = (c->kw - 1) * c->dw - c->pl;
    const float *plain = turned_weights(k, c, w);
    return plain ? rl_conv_direct(k, &turned, grad, plain, rl_data(k->out[0], RL_WRITE)) : RL_FAIL;
}

/* ---- any stride ---- */
enum { SENT_TAPS = 576, SENT = 1 << 16 }; /* rows and numbers of `sent` at a time */
typedef struct {
    const rl_call *call;
    const rl_conv *c;
    const float *grad, *weight;
    float *out, *room;
    int64_t part, parts, rows; /* input channels of an item, items of a group, output rows at a time */
    int64_t packed, room_step;
    bool plain; /* 1 x 1 over the whole plane: the product is the answer */
} sent_job;

/* one row of what places sent by one tap; its first column goes to column `first` */
static void sent_add(const rl_conv *c, float *row, const float *sent, int64_t first) {
    int64_t lo = first < 0 ? simd_ceil_div(-first, c->sw) : 0;
    int64_t hi = first < c->w ? simd_min(c->ow, simd_ceil_div(c->w - first, c->sw)) : 0;
    if (c->sw == 1)
        for (int64_t i = lo; i < hi; i++) row[first + i] += sent[i];
    else
        for (int64_t i = lo; i < hi; i++) row[first + i * c->sw] += sent[i];
}

static void sent_spread(const sent_job *j, const float *sent, float *out, int64_t channels, int64_t y0,
                        int64_t rows) {
    const rl_conv *c = j->c;
    for (int64_t i = 0; i < channels; i++, out += c->h * c->w)
        for (int64_t t = 0; t < c->kh * c->kw; t++)
            for (int64_t y = 0; y < rows; y++, sent += c->ow) {
                int64_t row = (y0 + y) * c->sh - c->pt + t / c->kw * c->dh;
                if (row >= 0 && row < c->h) sent_add(c, out + row * c->w, sent, t % c->kw * c->dw - c->pl);
            }
}

/* weights of `count` input channels turned around, times the gradients of an image; n and b are not set yet
 */
static rl_gemm sent_product(const sent_job *j, int64_t at, int64_t first, int64_t count) {
    const rl_conv *c = j->c;
    const int64_t taps = c->kh * c->kw;
    return (rl_gemm){.m = count * taps,
                     .k = c->oc,
                     .dtype = RL_F32,
                     .c_dtype = RL_F32,
                     .a = j->weight + at % c->groups * c->oc * c->depth + first * taps,
                     .a_row = 1,
                     .a_col = c->depth,
                     .b_row = c->oh * c->ow,
                     .b_col = 1,
                     .c_col = 1,
                     .alpha = 1};
}

/* bytes that the product wants of `count` channels and `rows` rows of the image */
static int64_t sent_room(const sent_job *j, int64_t count, int64_t rows) {
    rl_gemm g = sent_product(j, 0, 0, count);
    rl_gemm_plan plan;
    g.n = rows * j->c->ow;
    g.c_row = j->plain ? g.b_row : g.n;
    return rl_gemm_plan_make(j->call, &g, &plan) ? rl_gemm_room(&plan, &g).n : 0;
}

/* item = (image * groups + group) * parts + part of the input channels */
static void sent_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const sent_job *j = ctx;
    const rl_conv *c = j->c;
    float *room = j->room + thread * j->room_step, *sent = room + j->packed;
    const int64_t plane = c->oh * c->ow;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i / j->parts, first = i % j->parts * j->part, count = simd_min(j->part, c->ic - first);
        const float *grad = j->grad + at * c->oc * plane;
        float *out = j->out + (at * c->ic + first) * c->h * c->w;
        rl_gemm g = sent_product(j, at, first, count);
        if (!j->plain) __builtin_memset(out, 0, (size_t)(count * c->h * c->w) * sizeof(float));
        for (int64_t y = 0, rows; y < c->oh; y += rows) {
            rows = simd_min(j->rows, c->oh - y);
            rl_gemm_plan plan;
            g.n = rows * c->ow;
            g.b = grad + y * c->ow;
            g.c = j->plain ? out + y * c->ow : sent;
            g.c_row = j->plain ? plane : g.n;
            rl_gemm_plan_make(j->call, &g, &plan);
            rl_gemm_alone(&plan, &g, (char *)room);
            if (!j->plain) sent_spread(j, sent, out, count, y, rows);
        }
    }
}

static rl_status input_product(rl_call *k, const rl_conv *c, const float *grad, const float *w) {
    sent_job j = {.call = k, .c = c, .grad = grad, .weight = w};
    int64_t taps = c->kh * c->kw, threads = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c)) ? 1 : k->threads;
    j.plain = taps == 1 && c->sh == 1 && c->sw == 1 && !c->pt && !c->pl && c->oh == c->h && c->ow == c->w;
    j.part = simd_min(c->ic, simd_max(1, SENT_TAPS / taps));
    j.parts = simd_ceil_div(c->ic, j.part);
    j.rows = simd_min(c->oh, simd_max(1, SENT / (j.part * taps * c->ow)));
    for (int i = 0; i < 4; i++) { /* whole parts and what is left, either way */
        const int64_t count = i & 1 ? c->ic - (j.parts - 1) * j.part : j.part;
        const int64_t rows = i & 2 ? (c->oh - 1) % j.rows + 1 : j.rows;
        j.packed = simd_max(j.packed, simd_ceil_div(sent_room(&j, count, rows), (int64_t)sizeof(float)));
    }
    rl_count room = RL_COUNT(j.packed);
    if (!j.plain) room = rl_count_plus(room, RL_COUNT(j.part, taps, j.rows, c->ow).n);
    j.room_step = room.n;
    j.room = rl_gemm_scratch(k, rl_count_times(room, threads));
    if (!j.room) return RL_FAIL;
    j.out = rl_data(k->out[0], RL_WRITE);
    int64_t items = c->n * c->groups * j.parts;
    k->svc->parallel(k, items, threads == 1 ? 0 : RL_GEMM_NS * rl_conv_work(c) / (double)items, sent_items,
                     &j);
    return RL_OK;
}

/* Tiles want lanes of input channels and a long sum; large planes are as quick the direct way. */
enum { FEW_LANES = 8 };
static bool input_suits_tiles(const rl_conv *c) {
    const int64_t places = c->oh * c->ow;
    if (c->ic < 2 * FEW_LANES) return false;
    if (c->sh > 1 || c->sw > 1) return true;
    if (c->kh * c->kw == 1) return c->ic * c->oc >= 1 << 16;
    return c->oc >= 32 && places < (c->oc < 64 ? 256 : 1024);
}

RL_KERNEL(simd_conv_input) {
    rl_conv c;
    rl_status status;
    const bool floats = k->out[0]->dtype == RL_F32, plain = rl_is_plain(k->out[0]);
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_conv_back_read(k, k->out[0], rl_in(k, 1), rl_in(k, 0), &c))
        return RL_UNSUPPORTED;
    if (rl_conv_input_depth(k, &c, rl_window_of(k)->spatial, &status)) return status;
    if (floats && plain ? input_suits_tiles(&c) : !floats || c.ic >= FEW_LANES) {
        if (rl_conv_sent(k, &c, rl_window_of(k)->spatial, false, &status)) return status;
    }
    if (!plain) return RL_UNSUPPORTED;
    const float *grad = rl_plain_input(k, rl_in(k, 0)), *w = rl_plain_input(k, rl_in(k, 1));
    if (!grad || !w) return RL_FAIL;
    bool point = c.kh * c.kw == 1;
    if (c.sh == 1 && c.sw == 1 && c.kh * c.kw <= RL_CONV_TAPS && !(point && c.ic > 16))
        return input_direct(k, &c, grad, w);
    return input_product(k, &c, grad, w);
}
#else
RL_KERNEL(simd_conv_input) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
