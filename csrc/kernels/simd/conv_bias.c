/* The gradient of a convolution by the bias: the sum of each channel's planes. */
#include "common.h"
#include "contract/window.h"
#ifdef RL_SIMD_X86
static const double BIAS_NS = 0.15; /* a number */
typedef struct {
    const float *from;
    float *to;
    int64_t images, channels, plane;
} bias_job;
#define SIMD_BITS 256
#include "isa.h"
#include "vector_sums_body.h"
#include "conv_bias_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "vector_sums_body.h"
#include "conv_bias_body.h"

RL_KERNEL(simd_conv_bias) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    if (!(k->svc->isa & RL_ISA_AVX2) || !rl_is_plain(grad) || grad->numel == 0) return RL_UNSUPPORTED;
    bias_job j = {.from = rl_const_data(grad), .to = rl_data(out, RL_WRITE), .channels = out->numel};
    j.images = grad->ndim > rl_window_of(k)->spatial + 1 ? grad->shape[0] : 1;
    j.plane = grad->numel / (j.images * j.channels);
    void (*body)(void *, int64_t, int64_t, int) =
        k->svc->isa & RL_ISA_AVX512 ? bias_channels_avx512 : bias_channels_avx2;
    k->svc->parallel(k, j.channels, BIAS_NS * (double)(j.images * j.plane), body, &j);
    return RL_OK;
}
#else
RL_KERNEL(simd_conv_bias) {
    (void)k;
    return RL_UNSUPPORTED;
}
#endif
