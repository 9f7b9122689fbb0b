/* Reads the calls of convolutions into an rl_conv. */
#include "conv_read.h"
#include "kernel_abi/window.h"
#include "plain.h"

/* One place has no step to the next, however large that was said to be. */
static void steps_settle(rl_conv *c) {
    if (c->oh == 1) c->sh = 1;
    if (c->ow == 1) c->sw = 1;
}

static int64_t reach(int64_t size, int64_t before, int64_t places, int64_t stride, int64_t more) {
    const int64_t seen = (places - 1) * stride + more + 1;
    return size + before > seen ? size + before : seen;
}
/* Padded planes are made ready by kernels that read it: are they not far larger than what lies there? */
static bool in_proportion(const rl_conv *c) {
    enum { MAX_PADDING = 8, SMALL = 1 << 14 };
    const double high = (double)reach(c->h, c->pt, c->oh, c->sh, (c->kh - 1) * c->dh);
    const double wide = (double)reach(c->w, c->pl, c->ow, c->sw, (c->kw - 1) * c->dw);
    return high * wide <= MAX_PADDING * ((double)c->h * (double)c->w + (double)c->oh * (double)c->ow + SMALL);
}

RL_CHOOSER
bool rl_conv_read(const rl_call *k, rl_conv *c) {
    const rl_view *in = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    if (in->dtype != RL_F32 || out->numel == 0 || w->numel == 0 || (bias && !rl_is_plain(bias))) return false;
    const rl_window *a = rl_window_of(k);
    const int64_t *s = in->shape + in->ndim - 3, *o = out->shape + out->ndim - 3;
    *c = (rl_conv){.n = in->ndim == 4 ? in->shape[0] : 1, .h = s[1], .w = s[2], .oh = o[1], .ow = o[2]};
    c->groups = a->groups, c->pt = a->before[1], c->pl = a->before[2];
    c->sh = a->stride[1], c->sw = a->stride[2], c->dh = a->dilation[1], c->dw = a->dilation[2];
    c->ic = w->shape[1], c->oc = w->shape[0] / c->groups, c->kh = w->shape[2], c->kw = w->shape[3];
    c->k = c->ic * c->kh * c->kw;
    c->in = in, c->weight = w, c->bias = bias, c->out = out;
    steps_settle(c);
    return in->numel > 0 && rl_conv_in_range(c) && in_proportion(c);
}

RL_CHOOSER
bool rl_conv_back_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *grad,
                       rl_conv *c) {
    const rl_window *a = rl_window_of(k);
    int n = (int)a->spatial, lead = in->ndim - n;
    if (!in->numel) return false; /* beside an input, weight and gradient are not empty */
    *c = (rl_conv){
        .n = lead == 2 ? in->shape[0] : 1, .groups = a->groups, .pt = a->before[1], .pl = a->before[2]};
    c->h = n == 2 ? in->shape[lead] : 1, c->w = in->shape[in->ndim - 1];
    c->oh = n == 2 ? grad->shape[lead] : 1, c->ow = grad->shape[grad->ndim - 1];
    c->kh = n == 2 ? weight->shape[2] : 1, c->kw = weight->shape[weight->ndim - 1];
    c->sh = a->stride[1], c->sw = a->stride[2], c->dh = a->dilation[1], c->dw = a->dilation[2];
    c->ic = weight->shape[1], c->oc = weight->shape[0] / c->groups;
    c->k = c->ic * c->kh * c->kw;
    steps_settle(c);
    return rl_conv_in_range(c) && in_proportion(c);
}
