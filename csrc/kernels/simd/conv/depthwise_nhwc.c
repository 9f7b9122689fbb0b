/* Depthwise NHWC convolutions: a vector holds channels, and the input is read in place. Taps beyond the edge
 * are skipped. */
#include "kernels/simd/common.h"
#include "nhwc.h"
#include "igemm.h"
#include "kernel_abi/window.h"

/* One row of the output. Steps in elements. */
typedef struct {
    const void *in, *weight, *bias; /* of the first tap that is inside, for place 0 */
    void *out;
    int64_t channels, places, place; /* of a row; what the input moves from one place to the next */
    int64_t taps[2], tap[3], w[2];   /* taps that are inside; steps from tap to tap, of their weights */
    int64_t kernel, stride, shift, size, dilation; /* of columns: column of place x and tap t is
                                                      x * stride + t * dilation - shift */
    int64_t from, to;                              /* places whose columns are all inside */
} depthwise_row;

/* taps [first, first + taps) of place x see columns of the input */
static void depthwise_edge(const depthwise_row *r, int64_t x, int64_t *first, int64_t *taps) {
    const int64_t at = x * r->stride - r->shift;
    const int64_t lo = at < 0 ? simd_ceil_div(-at, r->dilation) : 0;
    const int64_t hi = at < r->size ? simd_ceil_div(r->size - at, r->dilation) : 0;
    *first = simd_min(lo, r->kernel);
    *taps = simd_max(0, simd_min(hi, r->kernel) - *first);
}

#define ISA_IMPL "kernels/simd/conv/depthwise_nhwc_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

typedef struct {
    const rl_igemm_problem *p;
    depthwise_row row; /* what all rows share */
    const char *in, *weight;
    char *out;
    int64_t size;
    void (*line)(const depthwise_row *r);
} depthwise_job;

/* taps of dimension d that are inside for place `at`: the first one, and how many */
static int64_t depthwise_taps(const rl_igemm_problem *p, int d, int64_t at, int64_t *first) {
    depthwise_row r = {.kernel = p->kernel[d], .stride = p->stride[d], .shift = p->before[d]};
    int64_t taps;
    r.size = p->size[d], r.dilation = p->dilation[d];
    depthwise_edge(&r, at, first, &taps);
    return taps;
}

/* item = (image * depths + depth) * rows + row of the output */
static void depthwise_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const depthwise_job *j = ctx;
    const rl_igemm_problem *p = j->p;
    depthwise_row r = j->row;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t y = i % p->places[1], z = i / p->places[1] % p->places[0];
        int64_t first[2], at = i / p->places[1] / p->places[0] * p->image - p->before[2] * p->step[2];
        r.taps[0] = depthwise_taps(p, 0, z, &first[0]), r.taps[1] = depthwise_taps(p, 1, y, &first[1]);
        at += (z * p->stride[0] - p->before[0]) * p->step[0] + (y * p->stride[1] - p->before[1]) * p->step[1];
        at += first[0] * r.tap[0] + first[1] * r.tap[1];
        r.in = j->in + at * j->size;
        r.weight = j->weight + (first[0] * r.w[0] + first[1] * r.w[1]) * j->size;
        r.out = j->out + i * p->places[2] * r.channels * j->size;
        j->line(&r);
    }
}

/* (channels, 1, taps) becomes (taps, channels) */
static const char *depthwise_weights(rl_call *k, const rl_igemm_problem *p, int size) {
    const uint64_t key = (uint64_t)0x26 << 52;
    const int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
    char *to = k->svc->packed_find(k, p->weight, key);
    if (to) return to;
    const char *from = rl_igemm_plain(k, p->weight, p->weight->dtype);
    if (!from) return NULL;
    to = k->svc->packed_new(k, p->weight, key, RL_COUNT(p->groups, taps, size), 1);
    const bool kept = to != NULL;
    if (!kept) to = k->svc->scratch(k, RL_COUNT(p->groups, taps, size), 1);
    if (!to) return NULL;
    const simd_cast_copy same = simd_cast_copy_between(k, p->weight->dtype, p->weight->dtype);
    for (int64_t t = 0; t < taps; t++)
        simd_cast_copy_run(&same, to + t * p->groups * size, size, from + t * size, taps * size, p->groups);
    if (kept) k->svc->packed_ready(k, p->weight, key);
    return to;
}

static void depthwise_inside(const rl_igemm_problem *p, depthwise_row *r) {
    const int64_t last = p->size[2] - 1 - (p->kernel[2] - 1) * p->dilation[2] + p->before[2];
    r->from = simd_ceil_div(p->before[2], p->stride[2]);
    r->to = last < 0 ? 0 : simd_min(p->places[2], last / p->stride[2] + 1);
}

RL_CHOOSER
RL_KERNEL(simd_conv_nhwc_depthwise) {
    const rl_view *out = k->out[0], *bias = rl_in(k, 2);
    static void (*const lines[2][RL_ISA_END])(const depthwise_row *) = {ISA_TABLE(depthwise_line),
                                                                        ISA_TABLE_F64(depthwise_line)};
    const bool wide = out->dtype == RL_F64;
    rl_igemm_problem p;
    if (!k->svc->isa || !rl_igemm_read(k, rl_in(k, 0), rl_in(k, 1), bias, out, false, &p) || p.channels > 1 ||
        p.outputs > 1 || (out->dtype != RL_F32 && !wide) || (p.channel != 1 && p.groups > 1) ||
        !rl_lies_nhwc(out, (int)rl_window_of(k)->spatial))
        return RL_UNSUPPORTED;
    depthwise_job j = {.p = &p, .size = rl_itemsize(out->dtype), .in = rl_const_data(p.in)};
    depthwise_row *r = &j.row;
    r->channels = p.groups, r->places = p.places[2], r->place = p.stride[2] * p.step[2];
    for (int d = 0; d < 3; d++) r->tap[d] = p.dilation[d] * p.step[d];
    r->w[1] = p.kernel[2] * p.groups, r->w[0] = p.kernel[1] * r->w[1];
    r->kernel = p.kernel[2], r->stride = p.stride[2], r->shift = p.before[2];
    r->size = p.size[2], r->dilation = p.dilation[2];
    depthwise_inside(&p, r);
    j.weight = depthwise_weights(k, &p, (int)j.size);
    r->bias = bias ? rl_igemm_plain(k, bias, bias->dtype) : NULL;
    if (!j.weight || (bias && !r->bias)) return RL_FAIL;
    j.out = rl_data(out, RL_WRITE);
    j.line = lines[wide][k->svc->isa];
    const int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
    k->svc->parallel(k, p.images * p.places[0] * p.places[1],
                     0.03 * (double)(p.places[2] * p.groups) * (double)(taps + 4), depthwise_items, &j);
    return RL_OK;
}
