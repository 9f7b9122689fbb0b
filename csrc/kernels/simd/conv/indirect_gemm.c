/* What the users of Note [Indirect GEMM] share. */
#include "indirect_gemm.h"
#include "kernels/simd/common.h"
#include "kernels/simd/gemm/gemm.h"

#define ISA_IMPL "kernels/simd/conv/indirect_gemm_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

RL_CHOOSER
bool rl_indirect_gemm_make(rl_call *k, const rl_conv *c, int dtype, int64_t lanes, rl_indirect_gemm *p) {
    static const rl_conv_ukernel *const ukernels[2][RL_ISA_END] = {ISA_TABLE(&indirect_ukernel),
                                                                   ISA_TABLE_F64(&indirect_ukernel)};
    const int inner = dtype == RL_F64 ? RL_F64 : RL_F32;
    *p = (rl_indirect_gemm){.c = c, .inner = inner, .size = (int)rl_itemsize(inner)};
    p->ukernel = ukernels[inner == RL_F64][k->svc->isa];
    p->in = simd_cast_copy_between(k, inner, dtype), p->out = simd_cast_copy_between(k, dtype, inner);
    p->high = simd_max(c->h + c->pt, (c->oh - 1) * c->sh + (c->kh - 1) * c->dh + 1);
    p->wide = simd_max(c->w + c->pl, (c->ow - 1) * c->sw + (c->kw - 1) * c->dw + 1);
    p->blocks = simd_ceil_div(lanes, p->ukernel->nr);
    return (double)p->high * (double)p->wide * p->ukernel->nr <= INT32_MAX;
}

void rl_conv_places(const rl_indirect_gemm *p, int32_t *table, int64_t images, int64_t step) {
    const rl_conv *c = p->c;
    for (int64_t i = 0; i < images; i++)
        for (int64_t y = 0; y < c->oh; y++)
            for (int64_t x = 0; x < c->ow; x++)
                *table++ = (int32_t)(((i * p->high + y * c->sh) * p->wide + x * c->sw) * step);
}

void rl_conv_put(const rl_indirect_gemm *p, char *to, const rl_conv_planes *planes, const char *from,
                 int64_t width, int64_t places, int64_t count) {
    static const simd_cast_copy same = {0};
    const int64_t item = p->out.to_item, line = width * p->size;
    if (planes->place == 1 && !p->out.convert) /* four planes at a time: many would fall to few cache sets */
        for (int64_t i = 0; i < count; i += 4)
            rl_gemm_pack(&same, (int)item, to + i * planes->channel * item, planes->channel,
                         from + i * p->size, width, 1, places, simd_min(4, count - i));
    else if (planes->place == 1)
        for (int64_t i = 0; i < count; i++)
            simd_cast_copy_run(&p->out, to + i * planes->channel * item, item, from + i * p->size, line,
                               places);
    else
        for (int64_t i = 0; i < places; i++)
            simd_cast_copy_run(&p->out, to + i * planes->place * item, planes->channel * item,
                               from + i * line, p->size, count);
}

/* the step of neighbours in a plane, or -1 when it is not flat */
static int64_t flat_step(const rl_view *v, int64_t spatial) {
    int64_t step = -1, next = 0;
    for (int d = v->ndim - 1; d >= v->ndim - spatial; d--) {
        if (v->shape[d] == 1) continue;
        if (step < 0)
            step = next = v->strides[d];
        else if (v->strides[d] != next)
            return -1;
        next *= v->shape[d];
    }
    return step < 0 ? 1 : step;
}

RL_CHOOSER
rl_conv_planes rl_conv_planes_of(rl_call *k, const rl_view *v, int64_t spatial) {
    const int channel = v->ndim - (int)spatial - 1;
    rl_conv_planes p = {.place = flat_step(v, spatial), .channel = v->strides[channel]};
    p.image = channel > 0 ? v->strides[0] : 0;
    if (p.place >= 0) {
        p.at = rl_const_data(v);
        return p;
    }
    int64_t places = 1;
    for (int d = channel + 1; d < v->ndim; d++) places *= v->shape[d];
    p = (rl_conv_planes){rl_dense_input(k, v), places * v->shape[channel], places, 1};
    return p;
}
