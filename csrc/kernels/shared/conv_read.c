/* Reads the calls of convolutions into an rl_conv. */
#include "conv_read.h"
#include "plain.h"

bool rl_conv_read(const rl_call *k, rl_conv *c) {
    const rl_view *in = rl_in(k, 0), *w = rl_in(k, 1), *bias = rl_in(k, 2), *out = k->out[0];
    if (!in || !w || in->dtype != RL_F32 || w->dtype != RL_F32 || !rl_is_plain(out) || out->numel == 0 ||
        w->numel == 0 || w->ndim != 4 || (in->ndim != 3 && in->ndim != 4) || (bias && !rl_is_plain(bias)))
        return false;
    const int64_t *a = k->attr, *s = in->shape + in->ndim - 3, *o = out->shape + out->ndim - 3;
    *c = (rl_conv){.n = in->ndim == 4 ? in->shape[0] : 1, .h = s[1], .w = s[2], .oh = o[1], .ow = o[2]};
    c->pt = a[0], c->pl = a[1], c->sh = a[4], c->sw = a[5], c->dh = a[6], c->dw = a[7], c->groups = a[8];
    c->ic = w->shape[1], c->oc = w->shape[0] / c->groups, c->kh = w->shape[2], c->kw = w->shape[3];
    c->depth = c->ic * c->kh * c->kw;
    c->in = in, c->weight = w, c->bias = bias, c->out = out;
    return in->numel > 0 && rl_conv_in_range(c);
}

bool rl_conv_back_read(const rl_call *k, const rl_view *in, const rl_view *weight, const rl_view *grad,
                       rl_conv *c) {
    const int64_t *a = k->attr;
    int n = (int)a[13], lead = in->ndim - n;
    if (in->dtype != RL_F32 || weight->dtype != RL_F32 || grad->dtype != RL_F32 || n > 2 || !in->numel ||
        !weight->numel || !grad->numel)
        return false;
    *c = (rl_conv){.n = lead == 2 ? in->shape[0] : 1, .groups = a[12], .pt = a[1], .pl = a[2]};
    c->h = n == 2 ? in->shape[lead] : 1, c->w = in->shape[in->ndim - 1];
    c->oh = n == 2 ? grad->shape[lead] : 1, c->ow = grad->shape[grad->ndim - 1];
    c->kh = n == 2 ? weight->shape[2] : 1, c->kw = weight->shape[weight->ndim - 1];
    c->sh = a[7], c->sw = a[8], c->dh = a[10], c->dw = a[11];
    c->ic = weight->shape[1], c->oc = weight->shape[0] / c->groups;
    c->depth = c->ic * c->kh * c->kw;
    return rl_conv_in_range(c);
}
