/* The gradient of a convolution by the bias: the sum of each channel's planes. */
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "kernel_abi/window.h"
static const double BIAS_NS = 0.15; /* a number */
enum { BIAS_PLACES = 64 };          /* added in float32 where channels lie side by side */
typedef struct {
    const float *from;
    float *to;
    int64_t images, channels, plane;
    int64_t image, channel, place; /* steps */
} bias_job;
#define ISA_IMPL "kernels/simd/conv/bias_gradient_impl.inc"
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
RL_KERNEL(simd_conv_bias) {
    const rl_view *grad = rl_in(k, 0), *out = k->out[0];
    static const simd_body channels[] = ISA_TABLE(bias_channels), lanes[] = ISA_TABLE(bias_lanes);
    static const int64_t widths[] = ISA_TABLE(BIAS_WIDTH);
    const int isa = k->svc->isa;
    if (!isa || grad->dtype != RL_F32 || grad->numel == 0) return RL_UNSUPPORTED;
    const int64_t spatial = rl_window_of(k)->spatial;
    const rl_conv_planes planes = rl_conv_planes_of(k, grad, spatial);
    if (!planes.at) return RL_FAIL;
    bias_job j = {(const float *)planes.at, rl_data(out, RL_WRITE), .channels = out->numel};
    j.image = planes.image, j.channel = planes.channel, j.place = planes.place;
    j.images = grad->ndim > spatial + 1 ? grad->shape[0] : 1;
    j.plane = grad->numel / (j.images * j.channels);
    const double plane = BIAS_NS * (double)(j.images * j.plane);
    if (j.place == 1) {
        k->svc->parallel(k, j.channels, plane, channels[isa], &j);
        return RL_OK;
    }
    if (j.channel != 1) return RL_UNSUPPORTED;
    const int64_t width = widths[isa];
    k->svc->parallel(k, simd_ceil_div(j.channels, width), plane * (double)width, lanes[isa], &j);
    return RL_OK;
}
