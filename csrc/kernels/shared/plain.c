/* A strided float32 view becomes contiguous: inner rows are loops, outer dims an odometer. */
#include "plain.h"

static void plain_row(float *to, const float *from, int64_t n, int64_t step) {
    if (step == 1)
        __builtin_memcpy(to, from, (size_t)n * sizeof(float));
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
}

const float *rl_plain_input(rl_call *k, const rl_view *v) {
    const float *from = rl_const_data(v);
    if (rl_is_contiguous(v)) return from;
    float *to = k->svc->scratch(k, RL_COUNT(v->numel), sizeof *to), *at = to;
    if (!to) return NULL;
    int last = v->ndim - 1;
    int64_t index[RL_MAX_DIMS] = {0}, row = v->shape[last];
    for (int64_t done = 0; done < v->numel; done += row, at += row) {
        plain_row(at, from, row, v->strides[last]);
        for (int d = last - 1; d >= 0; d--) {
            from += v->strides[d];
            if (++index[d] < v->shape[d]) break;
            from -= v->strides[d] * v->shape[d];
            index[d] = 0;
        }
    }
    return to;
}
