/* max_pool2d of contiguous float32 planes. A NaN in a window wins. */
#include "common.h"
#include "contract/window.h"
#ifdef RL_SIMD_X86
#include "product_gemm.h"
enum { POOL_SLACK = 64 };          /* loads run over a line's end */
static const double POOL_NS = 0.3; /* an input number */
typedef struct {
    const float *in;
    float *out, *lines; /* lines: room of the threads; backward: the gradient */
    float *room;        /* backward: kd * kh padded lines for each thread */
    int64_t h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw;
    int64_t line;                        /* length of a thread's line with slack */
    int64_t d, od, kd, sd, pd, dd, cols; /* backward: depth; what of a line is no padding */
    bool pairs;
} pool_job;
#define SIMD_BITS 256
#include "isa.h"
#include "vector_math_body.h"
#include "pool_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_math_body.h"
#include "pool_body.h"

static pool_job pool_window(const rl_window *a) {
    return (pool_job){.kd = a->kernel[0],
                      .kh = a->kernel[1],
                      .kw = a->kernel[2],
                      .sd = a->stride[0],
                      .sh = a->stride[1],
                      .sw = a->stride[2],
                      .pd = a->before[0],
                      .ph = a->before[1],
                      .pw = a->before[2],
                      .dd = a->dilation[0],
                      .dh = a->dilation[1],
                      .dw = a->dilation[2]};
}

/* windows of 2 x 2 side by side, none over the edge */
static bool pool_pairs(const rl_window *a, const pool_job *j) {
    return a->spatial == 2 && j->kh == 2 && j->kw == 2 && j->sh == 2 && j->sw == 2 && !j->ph && !j->pw &&
           j->dh == 1 && j->dw == 1 && 2 * j->oh <= j->h && 2 * j->ow <= j->w;
}

RL_KERNEL(simd_max_pool2d) {
    const rl_view *in = rl_in(k, 0), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || k->n_out != 1 || !in || !rl_is_plain(in) || !rl_is_plain(out) ||
        in->ndim < 3 || out->numel == 0 || in->numel == 0)
        return RL_UNSUPPORTED;
    const rl_window *a = rl_window_of(k);
    pool_job j = pool_window(a);
    j.h = in->shape[in->ndim - 2], j.w = in->shape[in->ndim - 1];
    j.oh = out->shape[out->ndim - 2], j.ow = out->shape[out->ndim - 1];
    j.line = ((j.ow - 1) * j.sw + (j.kw - 1) * j.dw + 1 + POOL_SLACK + 15) / 16 * 16;
    j.pairs = pool_pairs(a, &j);
    int64_t planes = out->numel / (j.oh * j.ow);
    double ns = POOL_NS * (double)(j.h * j.w + 1);
    if (!j.pairs) {
        j.lines = rl_gemm_scratch(k, RL_COUNT(j.line, rl_is_serial(k, planes, ns) ? 1 : k->threads));
        if (!j.lines) return RL_FAIL;
    }
    j.in = rl_const_data(in), j.out = rl_data(out, RL_WRITE);
    bool wide = k->svc->isa & RL_ISA_AVX512;
    k->svc->parallel(k, planes, ns, wide ? pool_planes_avx512 : pool_planes_avx2, &j);
    return RL_OK;
}

/* false: places beyond 32 bits, windows of padding alone, or more lines than a cache holds */
static bool pool_back_read(pool_job *j) {
    enum { MOST = 64 };
    bool padding_alone = (j->pd && j->dd > j->d) || (j->ph && j->dh > j->h) || (j->pw && j->dw > j->w);
    if (padding_alone || j->d * j->h * j->w >= INT32_MAX || j->kd > MOST || j->kh > MOST || j->kw > MOST ||
        j->dd > MOST || j->dh > MOST || j->dw > MOST || j->sw > MOST)
        return false;
    j->line = (j->ow - 1) * j->sw + (j->kw - 1) * j->dw + 1 + simd_max(POOL_SLACK, 16 * j->sw);
    j->cols = simd_max(0, simd_min(j->w, j->line - j->pw));
    return true;
}

RL_KERNEL(simd_max_pool_back) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    bool wide = k->svc->isa & RL_ISA_AVX512;
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(in) || !rl_is_plain(grad) || out->numel == 0 ||
        grad->numel == 0)
        return RL_UNSUPPORTED;
    const rl_window *a = rl_window_of(k);
    int n = in->ndim, spatial = (int)a->spatial;
    pool_job j = pool_window(a);
    j.d = spatial == 3 ? in->shape[n - 3] : 1, j.od = spatial == 3 ? grad->shape[n - 3] : 1;
    j.h = spatial > 1 ? in->shape[n - 2] : 1, j.oh = spatial > 1 ? grad->shape[n - 2] : 1;
    j.w = in->shape[n - 1], j.ow = grad->shape[n - 1];
    bool pairs = pool_pairs(a, &j);
    if (!pairs && !pool_back_read(&j)) return RL_UNSUPPORTED;
    if (!pairs) {
        j.room = rl_gemm_scratch(k, RL_COUNT(j.kd, j.kh, j.line, simd_max(1, k->threads)));
        if (!j.room) return RL_FAIL;
    }
    j.in = rl_const_data(in), j.out = rl_data(out, RL_WRITE);
    j.lines = (float *)rl_const_data(grad);
    int64_t volume = j.d * j.h * j.w;
    k->svc->parallel(k, in->numel / volume, POOL_NS * (double)volume,
                     pairs ? (wide ? pool_planes_back_avx512 : pool_planes_back_avx2)
                           : (wide ? pool_any_back_avx512 : pool_any_back_avx2),
                     &j);
    return RL_OK;
}
#else
RL_KERNEL(simd_max_pool2d) {
    (void)k;
    return RL_UNSUPPORTED;
}
RL_KERNEL(simd_max_pool_back) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
