/* Windows of pooling: which inputs an output sees. */
#include "pool.h"

rl_span rl_pool_span(const rl_call *k, int i, int64_t at, int64_t size) {
    const rl_window *a = rl_window_of(k);
    int64_t kernel = a->kernel[i], pad = a->before[i], dilation = a->dilation[i];
    int64_t start = at * a->stride[i] - pad, end = start + (kernel - 1) * dilation + 1;
    rl_span w = {.full = (end < size + pad ? end : size + pad) - start};
    w.start = start < 0 ? start + (-start + dilation - 1) / dilation * dilation : start;
    w.end = end < size ? end : size;
    return w;
}

rl_span rl_pool_adaptive(int64_t at, int64_t size, int64_t out) {
    rl_span w = {.start = at / out * size + at % out * size / out, .end = 1 + ((at + 1) * size - 1) / out};
    w.full = w.end - w.start;
    return w;
}

RL_CHOOSER
rl_status rl_pool_plan_read(rl_call *k, rl_pool_plan *p, const rl_view *input, const rl_view *output,
                            bool adaptive) {
    int n = (int)rl_window_of(k)->spatial, lead = input->ndim - n;
    p->volume = p->places = 1;
    p->adaptive = adaptive;
    for (int i = 0; i < 3; i++) {
        int at = i - (3 - n);
        p->size[i] = at < 0 ? 1 : input->shape[lead + at];
        p->out[i] = at < 0 ? 1 : output->shape[lead + at];
        p->dilation[i] = adaptive ? 1 : rl_window_of(k)->dilation[i];
        p->volume *= p->size[i];
        p->places *= p->out[i];
        p->spans[i] = k->svc->scratch(k, RL_COUNT(p->out[i]), sizeof(rl_span));
        if (!p->spans[i]) return RL_FAIL;
        for (int64_t o = 0; o < p->out[i]; o++)
            p->spans[i][o] =
                adaptive ? rl_pool_adaptive(o, p->size[i], p->out[i]) : rl_pool_span(k, i, o, p->size[i]);
    }
    return RL_OK;
}

int64_t rl_pool_count(const rl_call *k, const rl_pool_plan *p, int i, int64_t at) {
    const rl_window *a = rl_window_of(k);
    const rl_span *w = &p->spans[i][at];
    if (!p->adaptive && a->divisor) return i == 0 ? a->divisor : 1;
    int64_t count = !p->adaptive && a->count_padding ? w->full : w->end - w->start;
    return count > 0 ? count : 1;
}
