/* The gradient of conv1d and conv2d by the input. With stride 1 it is a convolution of the gradient with the
 * weight rotated by 180 degrees and its channels swapped; else a GEMM computes the products of each output
 * and its window, and a scatter (col2im) adds them up:
 *
 *     sent (taps x places) = weight^T (taps x OC) grad (OC x places)       a block of rows at a time */
#include "kernels/simd/common.h"
#include "conv.h"
#include "indirect_gemm.h"
#include "kernels/simd/gemm/gemm.h"
#include "kernel_abi/window.h"
#include "kernels/shared/plain.h"

/* ---- stride 1 ---- */
static float *transposed_weights(rl_call *k, const rl_conv *c, const float *w) {
    int64_t taps = c->kh * c->kw;
    float *to = rl_gemm_scratch(k, RL_COUNT(c->groups, c->oc, c->k));
    for (int64_t g = 0; to && g < c->groups; g++)
        for (int64_t o = 0; o < c->oc; o++)
            for (int64_t i = 0; i < c->ic; i++, w += taps) {
                float *turned = to + ((g * c->ic + i) * c->oc + o) * taps;
                for (int64_t t = 0; t < taps; t++) turned[t] = w[taps - 1 - t];
            }
    return to;
}

rl_status rl_conv_input_direct(rl_call *k, const rl_conv *c, const float *grad, const float *w) {
    rl_conv turned = *c;
    turned.h = c->oh, turned.w = c->ow, turned.oh = c->h, turned.ow = c->w;
    turned.ic = c->oc, turned.oc = c->ic, turned.k = c->oc * c->kh * c->kw;
    turned.pt = (c->kh - 1) * c->dh - c->pt, turned.pl = (c->kw - 1) * c->dw - c->pl;
    const float *plain = transposed_weights(k, c, w);
    return plain ? rl_conv_direct(k, &turned, grad, plain, rl_data(k->out[0], RL_WRITE)) : RL_FAIL;
}

/* ---- any stride ---- */
enum { SCATTER_TAPS = 576, SCATTER = 1 << 16 }; /* rows and numbers of `scatter` at a time */
typedef struct {
    const rl_conv *c;
    const float *grad, *weight;
    float *out;
    int64_t part, parts, rows; /* input channels of an item, items of a group, output rows at a time */
    rl_gemm_plan plans[4];     /* + 1: of the last part, + 2: of the last rows */
    rl_rooms rooms;
    rl_gemm_parts product; /* parts of a room, */
    int64_t scatter;       /* and what the product sends to the windows */
    bool plain;            /* 1 x 1 over the whole plane: the product is the answer */
} scatter_job;

/* one row of what places sent by one tap; its first column goes to column `first` */
static void scatter_add(const rl_conv *c, float *row, const float *scatter, int64_t first) {
    int64_t lo = first < 0 ? simd_ceil_div(-first, c->sw) : 0;
    int64_t hi = first < c->w ? simd_min(c->ow, simd_ceil_div(c->w - first, c->sw)) : 0;
    if (c->sw == 1)
        for (int64_t i = lo; i < hi; i++) row[first + i] += scatter[i];
    else
        for (int64_t i = lo; i < hi; i++) row[first + i * c->sw] += scatter[i];
}

static void scatter_spread(const scatter_job *j, const float *scatter, float *out, int64_t channels,
                           int64_t y0, int64_t rows) {
    const rl_conv *c = j->c;
    for (int64_t i = 0; i < channels; i++, out += c->h * c->w)
        for (int64_t t = 0; t < c->kh * c->kw; t++)
            for (int64_t y = 0; y < rows; y++, scatter += c->ow) {
                int64_t row = (y0 + y) * c->sh - c->pt + t / c->kw * c->dh;
                if (row >= 0 && row < c->h)
                    scatter_add(c, out + row * c->w, scatter, t % c->kw * c->dw - c->pl);
            }
}

/* Weights of `count` input channels, transposed, times the gradients of `rows` rows of an image. */
static rl_gemm scatter_problem(const scatter_job *j, int64_t count, int64_t rows) {
    const rl_conv *c = j->c;
    rl_gemm g = {
        .m = count * c->kh * c->kw, .n = rows * c->ow, .k = c->oc, .dtype = RL_F32, .c_dtype = RL_F32};
    g.a_row = 1, g.a_col = c->k;
    g.b_row = c->oh * c->ow, g.b_col = 1;
    g.c_row = j->plain ? g.b_row : g.n, g.c_col = 1;
    g.alpha = 1;
    return g;
}

/* item = (image * groups + group) * parts + part of the input channels */
static void scatter_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const scatter_job *j = ctx;
    const rl_conv *c = j->c;
    char *room = rl_room(&j->rooms, thread);
    float *scatter = (float *)(room + j->scatter);
    const int64_t plane = c->oh * c->ow, taps = c->kh * c->kw;
    for (int64_t i = begin; i < end; i++) {
        const int64_t image = i / j->parts, part = i % j->parts, first = part * j->part;
        const int64_t count = simd_min(j->part, c->ic - first);
        const float *grad = j->grad + image * c->oc * plane;
        const float *weight = j->weight + image % c->groups * c->oc * c->k + first * taps;
        float *out = j->out + (image * c->ic + first) * c->h * c->w;
        if (!j->plain) __builtin_memset(out, 0, (size_t)(count * c->h * c->w) * sizeof(float));
        for (int64_t y = 0; y < c->oh; y += j->rows) {
            const int64_t rows = simd_min(j->rows, c->oh - y);
            const rl_gemm_plan *plan = &j->plans[(part == j->parts - 1) + 2 * (y + j->rows >= c->oh)];
            const float *from = grad + y * c->ow;
            const rl_gemm_data at = {.a = plan->swapped ? from : weight,
                                     .b = plan->swapped ? weight : from,
                                     .c = j->plain ? out + y * c->ow : scatter};
            rl_gemm_alone(plan, &at, room, j->product);
            if (!j->plain) scatter_spread(j, scatter, out, count, y, rows);
        }
    }
}

static rl_layout scatter_layout(const rl_call *k, scatter_job *j) {
    const rl_conv *c = j->c;
    rl_layout l = rl_layout_begin(k);
    const rl_count scatter = j->plain ? RL_COUNT(0) : RL_COUNT(j->part, c->kh, c->kw, j->rows, c->ow);
    j->product = rl_gemm_alone_layout(&l, j->plans, 4);
    j->scatter = rl_layout_add(&l, scatter, sizeof(float));
    return l;
}

RL_CHOOSER
rl_status rl_conv_input_product(rl_call *k, const rl_conv *c, const float *grad, const float *w) {
    scatter_job j = {.c = c, .grad = grad, .weight = w};
    int64_t taps = c->kh * c->kw, threads = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c)) ? 1 : k->threads;
    j.plain = taps == 1 && c->sh == 1 && c->sw == 1 && !c->pt && !c->pl && c->oh == c->h && c->ow == c->w;
    j.part = simd_min(c->ic, simd_max(1, SCATTER_TAPS / taps));
    j.parts = simd_ceil_div(c->ic, j.part);
    j.rows = simd_min(c->oh, simd_max(1, SCATTER / (j.part * taps * c->ow)));
    for (int i = 0; i < 4; i++) {
        const int64_t count = i & 1 ? c->ic - (j.parts - 1) * j.part : j.part;
        const int64_t rows = i & 2 ? (c->oh - 1) % j.rows + 1 : j.rows;
        const rl_gemm problem = scatter_problem(&j, count, rows);
        rl_gemm_plan_make(k, &problem, &j.plans[i]);
    }
    const rl_layout l = scatter_layout(k, &j);
    if (l.size.n && !k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    j.out = rl_data(k->out[0], RL_WRITE);
    int64_t items = c->n * c->groups * j.parts;
    k->svc->parallel(k, items, threads == 1 ? 0 : RL_GEMM_NS * rl_conv_work(c) / (double)items, scatter_items,
                     &j);
    return RL_OK;
}
