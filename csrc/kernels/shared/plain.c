/* A strided view becomes contiguous: inner rows are loops, outer dims an odometer. */
#include "plain.h"

#define PLAIN_ROW(bits)                                                                                      \
    static void plain_row_##bits(void *to_, const void *from_, int64_t n, int64_t step) {                    \
        uint##bits##_t *to = to_;                                                                            \
        const uint##bits##_t *from = from_;                                                                  \
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];                                              \
    }
PLAIN_ROW(8)
PLAIN_ROW(16)
PLAIN_ROW(32)
PLAIN_ROW(64)

static void plain_row(int64_t item, void *to, const void *from, int64_t n, int64_t step) {
    if (step == 1)
        __builtin_memcpy(to, from, (size_t)(n * item));
    else
        (item == 4   ? plain_row_32
         : item == 8 ? plain_row_64
         : item == 2 ? plain_row_16
                     : plain_row_8)(to, from, n, step);
}

const void *rl_dense_input(rl_call *k, const rl_view *v) {
    const char *from = rl_const_data(v);
    const int64_t item = rl_itemsize(v->dtype);
    if (rl_is_contiguous(v)) return from;
    char *to = k->svc->scratch(k, RL_COUNT(v->numel), item), *at = to;
    if (!to) return NULL;
    int last = v->ndim - 1;
    int64_t index[RL_MAX_DIMS] = {0}, row = v->shape[last];
    for (int64_t done = 0; done < v->numel; done += row, at += row * item) {
        plain_row(item, at, from, row, v->strides[last]);
        for (int d = last - 1; d >= 0; d--) {
            from += v->strides[d] * item;
            if (++index[d] < v->shape[d]) break;
            from -= v->strides[d] * v->shape[d] * item;
            index[d] = 0;
        }
    }
    return to;
}
