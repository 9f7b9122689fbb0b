/* max_pool2d of contiguous float32 planes. A NaN in a window wins. */
#include "simd_common.h"
#ifdef RL_SIMD_X86
#include "simd_gemm.h"
enum { POOL_SLACK = 64, POOL_GRAIN = 65536 }; /* loads run over a line's end; input numbers worth a thread */
typedef struct {
    const float *in;
    float *out, *lines; /* lines: room of the threads; backward: the gradient */
    int64_t h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw;
    int64_t line; /* length of a thread's line with slack */
    bool pairs;
} pool_job;
#define SIMD_BITS 256
#include "simd_isa.h"
#include "simd_math_body.h"
#include "simd_pool_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "simd_isa.h"
#include "simd_math_body.h"
#include "simd_pool_body.h"

RL_KERNEL(simd_max_pool2d) {
    const rl_view *in = rl_in(k, 0), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || k->n_out != 1 || !in || !simd_plain(in) || !simd_plain(out) ||
        in->ndim < 3 || out->numel == 0 || in->numel == 0)
        return RL_UNSUPPORTED;
    const int64_t *a = k->attr;
    pool_job j = {
        .kh = a[0], .kw = a[1], .sh = a[2], .sw = a[3], .ph = a[4], .pw = a[5], .dh = a[6], .dw = a[7]};
    j.h = in->shape[in->ndim - 2], j.w = in->shape[in->ndim - 1];
    j.oh = out->shape[out->ndim - 2], j.ow = out->shape[out->ndim - 1];
    j.line = ((j.ow - 1) * j.sw + (j.kw - 1) * j.dw + 1 + POOL_SLACK + 15) / 16 * 16;
    j.pairs = j.kh == 2 && j.kw == 2 && j.sh == 2 && j.sw == 2 && !j.ph && !j.pw && j.dh == 1 && j.dw == 1 &&
              2 * j.oh <= j.h && 2 * j.ow <= j.w;
    int64_t planes = out->numel / (j.oh * j.ow), grain = 1 + POOL_GRAIN / (j.h * j.w + 1);
    bool one = planes <= grain;
    if (!j.pairs) {
        j.lines = rl_gemm_scratch(k, j.line * (one ? 1 : simd_max(1, k->svc->threads)));
        if (!j.lines) return RL_FAIL;
    }
    j.in = rl_const_data(in), j.out = rl_data(out, RL_WRITE);
    bool wide = k->svc->isa & RL_ISA_AVX512;
    if (one)
        (wide ? pool_planes_avx512 : pool_planes_avx2)(&j, 0, planes, 0);
    else
        k->svc->parallel(k, planes, grain, wide ? pool_planes_avx512 : pool_planes_avx2, &j);
    return RL_OK;
}

/* the usual windows only: 2 x 2 side by side. attr[] is that of core_shape_pool.c */
RL_KERNEL(simd_max_pool_back) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    const int64_t *a = k->attr;
    static const int64_t pairs[12] = {1, 2, 2, 1, 2, 2, 0, 0, 0, 1, 1, 1};
    if (!(k->svc->isa & RL_ISA_AVX2) || !simd_plain(in) || !simd_plain(grad) || out->numel == 0 ||
        a[14] != 2 || __builtin_memcmp(a, pairs, sizeof pairs) != 0)
        return RL_UNSUPPORTED;
    pool_job j = {.h = in->shape[in->ndim - 2], .w = in->shape[in->ndim - 1]};
    j.oh = grad->shape[in->ndim - 2], j.ow = grad->shape[in->ndim - 1];
    if (2 * j.oh > j.h || 2 * j.ow > j.w) return RL_UNSUPPORTED; /* ceil_mode */
    j.in = rl_const_data(in), j.out = rl_data(out, RL_WRITE);
    j.lines = (float *)rl_const_data(grad);
    k->svc->parallel(k, in->numel / (j.h * j.w), 1 + POOL_GRAIN / (j.h * j.w),
                     k->svc->isa & RL_ISA_AVX512 ? pool_planes_back_avx512 : pool_planes_back_avx2, &j);
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
