/* Direct convolution, for few channels or small images, where a general library is slow: it sums over the
 * input without im2col, and threads share the rows of a batch.
 *
 * Note [Taps]
 *   A tap is one (ky, kx) of the window. Padding and column strides are removed beforehand by a copy,
 *   whose rows hold the columns 0, sw, 2 sw ... (phase 0), then 1, 1 + sw ... (phase 1) and so on:
 *
 *       padded row, sw 2   a b c d e f     becomes     a c e │ b d f
 *
 *   so that the inputs of neighbouring outputs are neighbours for every tap, and a tap is one offset. */
#include "conv.h"
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "kernel_abi/window.h"
#include "kernels/simd/gemm/gemm.h"

enum { CONV_OW_BLOCK = 6, CONV_TAPS = RL_CONV_TAPS, KEY_OW_BLOCKED = 0x21, KEY_OC_BLOCKED = 0x22 };
enum { CONV_COPY = 1 << 20 }; /* floats of prepared input per round, unless one image has more */
typedef struct {
    const float *in, *weights, *bias;
    float *out;
    int64_t groups, ic, oc, oh, ow;
    int64_t plane, channel, row; /* steps: output plane, input plane, input rows of one output row */
    bool rows_first; /* neighbouring items are rows of one block of channels, not blocks of one row */
    int taps;
    int64_t tap[CONV_TAPS];
} direct_job;
typedef struct {
    int64_t width;
    simd_body ow_blocked, oc_blocked;
} direct_bodies;
#define ISA_IMPL "kernels/simd/conv/direct_impl.inc"
#include "kernels/simd/foreach_isa.h"

/* ---- the prepared input ---- */
typedef struct {
    const rl_conv *c;
    const float *from;
    float *to;
    int64_t rows, phase; /* per plane; length of a phase */
} copy_job;

void rl_conv_row(const rl_conv *c, float *to, const float *from, int64_t phase, int64_t step) {
    for (int64_t p = 0; p < c->sw; p++, to += step) {
        /* to[i] is column i * sw + p - pl: inside for i in [lo, hi) */
        int64_t shift = p - c->pl, lo = shift < 0 ? simd_ceil_div(-shift, c->sw) : 0;
        int64_t hi = simd_ceil_div(simd_max(0, c->w - shift), c->sw);
        lo = simd_min(lo, phase), hi = simd_max(lo, simd_min(hi, phase));
        for (int64_t i = 0; i < lo; i++) to[i] = 0;
        if (c->sw == 1)
            __builtin_memcpy(to + lo, from + lo + shift, (size_t)(hi - lo) * sizeof(float));
        else
            for (int64_t i = lo; i < hi; i++) to[i] = from[i * c->sw + shift];
        for (int64_t i = hi; i < phase; i++) to[i] = 0;
    }
}

static void copy_planes(void *ctx, int64_t begin, int64_t end, int thread) {
    const copy_job *j = ctx;
    const rl_conv *c = j->c;
    int64_t line = c->sw * j->phase;
    (void)thread;
    for (int64_t p = begin; p < end; p++) {
        float *to = j->to + p * j->rows * line;
        for (int64_t y = 0; y < j->rows; y++, to += line) {
            int64_t row = y - c->pt;
            if (row >= 0 && row < c->h)
                rl_conv_row(c, to, j->from + (p * c->h + row) * c->w, j->phase, j->phase);
            else
                __builtin_memset(to, 0, (size_t)line * sizeof(float));
        }
    }
}

/* ---- packed weights ---- */
static void weights_ow_blocked(float *to, const float *w, const rl_conv *c) {
    for (int64_t first = 0, left; first < c->groups * c->oc; first += left) {
        left = simd_min(CONV_OW_BLOCK, c->oc - first % c->oc);
        rl_gemm_transpose(to + first * c->k, left, w + first * c->k, c->k, left, c->k);
    }
}

static void weights_oc_blocked(float *to, const float *w, const rl_conv *c, int64_t width) {
    for (int64_t g = 0; g < c->groups; g++)
        for (int64_t first = 0; first < c->oc; first += 2 * width) {
            int64_t count = simd_min(2 * width, c->oc - first), lanes = count > width ? 2 * width : width;
            if (count < lanes) __builtin_memset(to, 0, (size_t)(lanes * c->k) * sizeof(float));
            rl_gemm_transpose(to, lanes, w + (g * c->oc + first) * c->k, c->k, count, c->k);
            to += lanes * c->k;
        }
}

/* `plain` weights are packed for this call; without them c->weight and its packed weights serve */
static const float *conv_weights(rl_call *k, const rl_conv *c, const float *plain, bool oc_blocked,
                                 int64_t width) {
    uint64_t key = (uint64_t)(oc_blocked ? KEY_OC_BLOCKED : KEY_OW_BLOCKED) << 48 | (uint64_t)c->groups << 8 |
                   (oc_blocked ? width : 0);
    rl_count lanes = oc_blocked ? rl_count_round_up(RL_COUNT(c->oc), width) : RL_COUNT(c->oc);
    rl_count floats = rl_count_times(rl_count_times(lanes, c->groups), c->k);
    float *to = plain ? NULL : k->svc->packed_find(k, c->weight, key);
    if (to) return to;
    if (!plain) to = k->svc->packed_new(k, c->weight, key, floats, sizeof(float));
    bool kept = to != NULL;
    if (!kept) to = rl_gemm_scratch(k, floats);
    if (!to) return NULL;
    if (!plain) plain = rl_const_data(c->weight);
    if (oc_blocked)
        weights_oc_blocked(to, plain, c, width);
    else
        weights_ow_blocked(to, plain, c);
    if (kept) k->svc->packed_ready(k, c->weight, key);
    return to;
}

/* Lanes that work for nothing, and for deep the turning of its answer, in multiply-adds per output. */
RL_CHOOSER
static bool conv_is_oc_blocked(const rl_conv *c, int64_t width) {
    double wide = (double)c->oc * (double)(simd_ceil_div(c->ow, width) * width) * (double)c->k;
    double oc_blocked = (double)(simd_ceil_div(c->oc, width) * width) * (double)c->ow * (double)(c->k + 16);
    if (c->oc < CONV_OW_BLOCK) wide *= 1.0 + 0.15 * (double)(CONV_OW_BLOCK - c->oc);
    return oc_blocked < wide;
}

rl_status rl_conv_direct(rl_call *k, const rl_conv *c, const float *in, const float *plain, float *out) {
    static const direct_bodies *const bodies[] = ISA_TABLE(&direct);
    const direct_bodies *const by = bodies[k->svc->isa];
    bool one = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c));
    int64_t width = by->width, threads = simd_max(1, k->threads);
    bool oc_blocked = conv_is_oc_blocked(c, width);
    direct_job j = {
        .groups = c->groups, .ic = c->ic, .oc = c->oc, .oh = c->oh, .ow = c->ow, .plane = c->oh * c->ow};
    j.taps = (int)(c->kh * c->kw);
    j.bias = c->bias ? rl_const_data(c->bias) : NULL;
    j.weights = conv_weights(k, c, plain, oc_blocked, width);
    if (!j.weights) return RL_FAIL;

    bool copies = c->pt || c->pl || c->sw > 1 || (c->oh - 1) * c->sh + (c->kh - 1) * c->dh >= c->h ||
                  (c->ow - 1) * c->sw + (c->kw - 1) * c->dw >= c->w;
    copy_job copy = {.c = c, .rows = c->h, .phase = c->w};
    if (copies) {
        copy.rows = (c->oh - 1) * c->sh + (c->kh - 1) * c->dh + 1;
        copy.phase = c->ow + (c->kw - 1) * c->dw / c->sw;
    }
    int64_t line = copies ? c->sw * copy.phase : c->w, planes = c->groups * c->ic;
    rl_count image = RL_COUNT(planes, copy.rows, line);
    if (image.n < 0) return rl_fail(k, RL_MEMORY, "not enough memory for the padded input of conv2d");
    j.channel = copy.rows * line, j.row = c->sh * line;
    for (int64_t y = 0; y < c->kh; y++)
        for (int64_t x = 0; x < c->kw; x++)
            j.tap[y * c->kw + x] = y * c->dh * line + x * c->dw % c->sw * copy.phase + x * c->dw / c->sw;

    int64_t round = c->n;
    if (copies) {
        round = simd_min(c->n, simd_max(threads, CONV_COPY / image.n));
        copy.to = rl_gemm_scratch(k, rl_count_times(image, round));
        if (!copy.to) return RL_FAIL;
    }
    int64_t block = oc_blocked ? 2 * width : CONV_OW_BLOCK, rows = oc_blocked ? 1 : 2;
    int64_t blocks = simd_ceil_div(c->oc, block), lines = simd_ceil_div(c->oh, rows);
    int64_t items = c->groups * blocks * lines; /* of one image */
    j.rows_first = c->oc * c->k * lines > c->ic * j.channel * blocks;
    for (int64_t i = 0; i < c->n; i += round) {
        int64_t count = simd_min(round, c->n - i);
        j.in = in + i * planes * c->h * c->w;
        j.out = out + i * c->groups * c->oc * j.plane;
        if (copies) {
            copy.from = j.in;
            j.in = copy.to;
            k->svc->parallel(k, count * planes, 0.2 * (double)j.channel, copy_planes, &copy);
        }
        k->svc->parallel(k, count * items, one ? 0 : RL_GEMM_NS * rl_conv_work(c) / (double)(c->n * items),
                         oc_blocked ? by->oc_blocked : by->ow_blocked, &j);
    }
    return RL_OK;
}
