/* Which algorithm computes a convolution and its gradients, and every threshold of that choice.
 *
 *   conv1d, conv2d          scatter_gemm │ direct │ igemm, or left to oneDNN
 *   gradient by the input   depthwise_backward │ scatter_gemm │ input_gradient: direct, or a product
 *   gradient by the weight  depthwise_backward │ weight_gradient_gemm │ weight_gradient
 *
 * What is refused here goes to the kernels that stand behind in the declaration: oneDNN's, igemm, the
 * reference. oneDNN is asked in one place, rl_has_onednn() below; its own kernel takes whatever is left to
 * it. */
#include "conv.h"
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "kernel_abi/window.h"
#include "kernels/shared/plain.h"
#include <string.h>

/* ---- forward ---- */
/* Who is fastest, as measured with AVX2 and AVX-512. oneDNN's blocked kernels pay for turning the layout of
 * the input and output, so they win only where little of that meets much arithmetic. */
enum { LINE_CHANNELS = 16 }; /* of one row: the direct way would compute two */
typedef enum { CONV_DIRECT, CONV_GEMM, CONV_BLOCKED } conv_way;
RL_CHOOSER
static conv_way conv_choose(const rl_conv *c, bool blocked) {
    int64_t pixels = c->oh * c->ow;
    bool point = c->kh * c->kw == 1;
    if (c->kh * c->kw > RL_CONV_TAPS) return blocked ? CONV_BLOCKED : CONV_GEMM;
    if (c->ic == 1 && c->oc == 1)
        return blocked && pixels < 196 && c->groups > 16 ? CONV_BLOCKED : CONV_DIRECT;
    if (blocked && pixels < 144 && c->ic >= 64 && c->oc >= 64) return CONV_BLOCKED;
    if (blocked && !point && c->ic >= 128 && c->oc >= 64 && pixels < 3136) return CONV_BLOCKED;
    if (blocked && !point && c->sw > 1 && c->ic >= 16) return CONV_BLOCKED;
    if (c->h == 1 && c->kh == 1 && c->oc >= LINE_CHANNELS && c->k >= LINE_CHANNELS) return CONV_GEMM;
    return point && c->oc > 16 ? CONV_GEMM : CONV_DIRECT;
}

/* Tiny planes of several images, and where oneDNN would be asked and is not there, small ones.
 */
RL_CHOOSER
static bool conv_sends(const rl_conv *c, bool alone) {
    const int64_t places = c->oh * c->ow;
    if (c->ic < 32 || c->oc < 32 || (c->kh * c->kw == 1 && c->sh * c->sw == 1)) return false;
    return alone ? places < 256 : places <= 16 && c->n * places >= 32 && c->kh * c->kw > 1;
}

/* The fastest of these ways. RL_UNSUPPORTED: none takes it, or it is better left to oneDNN, for which
 * `may_leave` has a kernel that asks it. */
RL_CHOOSER
static rl_status conv_fastest(rl_call *k, bool may_leave) {
    rl_conv c;
    if (!k->svc->isa || !rl_conv_read(k, &c)) return RL_UNSUPPORTED;
    conv_way way = conv_choose(&c, may_leave);
    const bool alone = way == CONV_BLOCKED && !rl_has_onednn(k);
    rl_status status;
    if (conv_sends(&c, alone) && rl_conv_scatter_gemm(k, &c, rl_window_of(k)->spatial, true, &status))
        return status;
    if (alone) way = conv_choose(&c, false);
    if (way == CONV_GEMM) return simd_conv_igemm(k);
    if (way == CONV_BLOCKED || !rl_is_contiguous(c.weight)) return RL_UNSUPPORTED;
    /* channels_last and its kin: with groups nobody else is fast, and a copy is cheap */
    if (!rl_is_contiguous(c.in) && c.groups == 1) return RL_UNSUPPORTED;
    const float *in = rl_plain_input(k, c.in);
    return in ? rl_conv_direct(k, &c, in, NULL, rl_data(c.out, RL_WRITE)) : RL_FAIL;
}

RL_KERNEL(simd_conv2d) {
    return conv_fastest(k, true);
}

/* ---- conv1d as conv2d of images of height 1: the fast kernels serve it as they are ---- */
/* (.., L) becomes (.., 1, L) */
static rl_view lifted(const rl_view *v, int64_t shape[4], int64_t strides[4]) {
    rl_view picture = *v;
    int last = v->ndim - 1;
    memcpy(shape, v->shape, (size_t)last * sizeof *shape);
    memcpy(strides, v->strides, (size_t)last * sizeof *strides);
    shape[last] = 1;
    shape[last + 1] = v->shape[last];
    strides[last + 1] = v->strides[last];
    strides[last] = v->strides[last] * v->shape[last];
    picture.shape = shape;
    picture.strides = strides;
    picture.ndim = (uint8_t)(v->ndim + 1);
    return picture;
}

RL_CHOOSER
RL_KERNEL(simd_conv1d) {
    int64_t shape[3][4], strides[3][4];
    if (!k->svc->isa || rl_tensor_arg(k, 0)->dtype != RL_F32) return RL_UNSUPPORTED;
    rl_view x = lifted(k->arg[0].u.t, shape[0], strides[0]), w = lifted(k->arg[1].u.t, shape[1], strides[1]),
            out = lifted(k->out[0], shape[2], strides[2]);
    rl_view *const own[3] = {k->arg[0].u.t, k->arg[1].u.t, k->out[0]};
    rl_window *window = rl_window_made(k);
    k->arg[0].u.t = &x, k->arg[1].u.t = &w, k->out[0] = &out, window->spatial = 2;
    rl_status status = conv_fastest(k, false);
    k->arg[0].u.t = own[0], k->arg[1].u.t = own[1], k->out[0] = own[2], window->spatial = 1;
    return status;
}

/* ---- the gradient by the input ---- */
/* Tiles want lanes of input channels and a long sum; large planes are as quick the direct way. */
enum { FEW_LANES = 8 };
RL_CHOOSER
static bool input_suits_tiles(const rl_conv *c) {
    const int64_t places = c->oh * c->ow;
    if (c->ic < 2 * FEW_LANES) return false;
    if (c->sh > 1 || c->sw > 1) return true;
    if (c->kh * c->kw == 1) return c->ic * c->oc >= 1 << 16;
    return c->oc >= 32 && places < (c->oc < 64 ? 256 : 1024);
}

RL_CHOOSER
RL_KERNEL(simd_conv_input) {
    rl_conv c;
    rl_status status;
    const bool floats = k->out[0]->dtype == RL_F32, plain = rl_is_plain(k->out[0]);
    if (!k->svc->isa || !rl_conv_back_read(k, k->out[0], rl_in(k, 1), rl_in(k, 0), &c)) return RL_UNSUPPORTED;
    if (rl_conv_input_depthwise(k, &c, rl_window_of(k)->spatial, &status)) return status;
    if (floats && plain ? input_suits_tiles(&c) : !floats || c.ic >= FEW_LANES) {
        RL_UNREACHED("the gradient of an input would have to take gigabytes")
        if (rl_conv_scatter_gemm(k, &c, rl_window_of(k)->spatial, false, &status)) return status;
    }
    if (!plain) return RL_UNSUPPORTED;
    const float *grad = rl_plain_input(k, rl_in(k, 0)), *w = rl_plain_input(k, rl_in(k, 1));
    if (!grad || !w) return RL_FAIL;
    bool point = c.kh * c.kw == 1;
    if (c.sh == 1 && c.sw == 1 && c.kh * c.kw <= RL_CONV_TAPS && !(point && c.ic > 16))
        return rl_conv_input_direct(k, &c, grad, w);
    return rl_conv_input_product(k, &c, grad, w);
}

/* ---- the gradient by the weight ---- */
/* Tiles want lanes of output channels; few columns over large planes are quicker as they lie. */
RL_CHOOSER
static bool weight_suits_tiles(const rl_conv *c) {
    if (c->oc < 16 || c->k < 16) return false;
    if (c->kh * c->kw == 1 && c->oh * c->ow >= 128) return c->k * c->oc >= 1 << 14;
    return c->k >= 32 || c->oh * c->ow < 256;
}

RL_CHOOSER
RL_KERNEL(simd_conv_weight) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    rl_conv c;
    if (!k->svc->isa || !rl_conv_back_read(k, in, out, grad, &c)) return RL_UNSUPPORTED;
    rl_status status;
    const bool plain = rl_is_plain(out);
    if (rl_conv_weight_depthwise(k, &c, rl_window_of(k)->spatial, &status)) return status;
    if (!plain || weight_suits_tiles(&c)) {
        if (rl_conv_weight_indirect_gemm(k, &c, rl_window_of(k)->spatial, &status)) return status;
        if (!plain) return RL_UNSUPPORTED;
    }
    return rl_conv_weight_correlate(k, &c);
}
