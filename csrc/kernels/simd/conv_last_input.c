/* The input of a convolution, channels last and padded: Note [Channels of places] in conv_last.h. */
#include "conv_last.h"
#include "common.h"
#include <string.h>

bool rl_lies_last(const rl_view *v, int spatial) {
    const int lead = v->ndim - spatial;
    int64_t step = v->shape[lead - 1];
    if (v->shape[lead - 1] != 1 && v->strides[lead - 1] != 1) return false;
    for (int d = v->ndim - 1; d >= lead; d--) {
        if (v->shape[d] != 1 && v->strides[d] != step) return false;
        step *= v->shape[d];
    }
    return lead < 2 || v->shape[0] == 1 || v->strides[0] == step;
}

enum { PADDING_MOST = 8, SMALL_IMAGE = 1 << 18, COPIED_MOST = 1 << 20 };
RL_CHOOSER
bool rl_last_input_make(const rl_patches *p, rl_last_input *in) {
    const int64_t channels = p->groups * p->channels;
    *in = (rl_last_input){.p = p, .inner = p->in->dtype == RL_F64 ? RL_F64 : RL_F32};
    in->size = (int)rl_itemsize(in->inner);
    in->copies = p->in->dtype != in->inner || (p->channel != 1 && channels > 1);
    for (int d = 0; d < 3; d++) {
        in->lo[d] = p->before[d];
        in->extent[d] = (p->places[d] - 1) * p->stride[d] + (p->kernel[d] - 1) * p->dilation[d] + 1;
        in->copies |= in->lo[d] > 0 || in->extent[d] > p->size[d];
    }
    if (!in->copies) {
        in->pixel = p->step[2], in->row = p->step[1], in->slab = p->step[0], in->image = p->image;
        return true;
    }
    const rl_count image = RL_COUNT(in->extent[0], in->extent[1], in->extent[2], channels);
    const int64_t seen = p->in->numel / p->images + p->out->numel / p->images;
    if (image.n < 0 || image.n / PADDING_MOST > seen + SMALL_IMAGE) return false;
    in->pixel = channels, in->row = in->extent[2] * channels, in->slab = in->extent[1] * in->row;
    in->image = image.n;
    return true;
}

int64_t rl_last_round(const rl_call *k, const rl_last_input *in) {
    if (!in->copies) return in->p->images;
    return simd_min(in->p->images, simd_max(k->threads, COPIED_MOST / in->image));
}

#ifdef RL_SIMD_X86
typedef struct {
    const rl_last_input *in;
    simd_mover move;
    char *to;
    int64_t first;
} fill_job;

/* `n` places of a row, `step` apart */
static void fill_row(const fill_job *j, char *to, const char *from, int64_t n, int64_t step) {
    const rl_patches *p = j->in->p;
    const int64_t channels = p->groups * p->channels, size = j->in->size, item = j->move.from_item;
    if (p->channel == 1 && step == channels)
        simd_move(&j->move, to, size, from, item, n * channels);
    else if (p->channel == 1)
        for (int64_t i = 0; i < n; i++)
            simd_move(&j->move, to + i * channels * size, size, from + i * step * item, item, channels);
    else
        for (int64_t c = 0; c < channels; c++)
            simd_move(&j->move, to + c * size, channels * size, from + c * p->channel * item, step * item, n);
}

/* item = (image * slabs + slab) * rows + row */
static void fill_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const fill_job *j = ctx;
    const rl_last_input *in = j->in;
    const rl_patches *p = in->p;
    const int64_t size = in->size;
    const int64_t before = simd_min(in->lo[2], in->extent[2]);
    const int64_t n = simd_min(p->size[2], in->extent[2] - before);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t y = i % in->extent[1] - in->lo[1], z = i / in->extent[1] % in->extent[0] - in->lo[0];
        const int64_t image = j->first + i / in->extent[1] / in->extent[0];
        char *to = j->to + i * in->row * size;
        if (z < 0 || z >= p->size[0] || y < 0 || y >= p->size[1]) {
            memset(to, 0, (size_t)(in->row * size));
            continue;
        }
        const char *from = rl_const_data(p->in);
        from += (image * p->image + z * p->step[0] + y * p->step[1]) * j->move.from_item;
        memset(to, 0, (size_t)(before * in->pixel * size));
        fill_row(j, to + before * in->pixel * size, from, n, p->step[2]);
        memset(to + (before + n) * in->pixel * size, 0,
               (size_t)((in->extent[2] - before - n) * in->pixel * size));
    }
}

const char *rl_last_input_fill(rl_call *k, const rl_last_input *in, int64_t first, int64_t count, char *to) {
    fill_job j = {.in = in, .to = to, .first = first};
    if (!in->copies) return (const char *)rl_const_data(in->p->in) + first * in->image * in->size;
    j.move = simd_mover_between(k, in->inner, in->p->in->dtype);
    k->svc->parallel(k, count * in->extent[0] * in->extent[1], 0.15 * (double)in->row, fill_items, &j);
    return to;
}
#endif
