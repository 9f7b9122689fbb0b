/* Sequences and the identity. */
#include "loops.h"

/* Every value comes from its own index, so rounding does not pile up. */
RL_KERNEL(ref_arange) {
    const rl_view *out = k->out[0];
    int64_t item = rl_itemsize(out->dtype);
    bool from_zero = k->attr[0] < 0, by_one = k->attr[1] < 0;
    char *to = rl_data(out, RL_WRITE);
    if (rl_is_float(out->dtype)) {
        double start = from_zero ? 0 : rl_num(k, 0), step = by_one ? 1 : rl_num(k, 2);
        for (int64_t i = 0; i < out->numel; i++)
            rl_row_put_double(out->dtype, to + i * item, start + step * (double)i);
        return RL_OK;
    }
    int64_t start = from_zero ? 0 : rl_int(k, 0), step = by_one ? 1 : rl_int(k, 2);
    for (int64_t i = 0; i < out->numel; i++) {
        int64_t x = RL_WRAP(start, +, RL_WRAP(step, *, i));
        rl_row_put_ints(out->dtype, to + i * item, 0, 1, &x);
    }
    return RL_OK;
}

/* From both ends to the middle, so that both are met exactly. */
RL_KERNEL(ref_linspace) {
    const rl_view *out = k->out[0];
    int64_t item = rl_itemsize(out->dtype), n = out->numel;
    char *to = rl_data(out, RL_WRITE), element[8];
    double ends[2], step;
    for (int i = 0; i < 2; i++) { /* as the result's dtype sees them */
        if (rl_element_from(k, i, out->dtype, element) != RL_OK) return RL_FAIL;
        ends[i] = rl_row_double(out->dtype, element);
    }
    step = n > 1 ? (ends[1] - ends[0]) / (double)(n - 1) : 0;
    if (rl_is_float(out->dtype) && out->dtype != RL_F64) step = (float)step;
    for (int64_t i = 0; i < n; i++) {
        bool first = i < n / 2 || n == 1;
        double x = first ? ends[0] + step * (double)i : ends[1] - step * (double)(n - 1 - i);
        rl_row_put_double(out->dtype, to + i * item, x);
    }
    return RL_OK;
}

RL_KERNEL(ref_eye) {
    const rl_view *out = k->out[0];
    const uint64_t zero = 0;
    if (rl_view_fill(k, out, &zero) != RL_OK) return RL_FAIL;
    int64_t item = rl_itemsize(out->dtype);
    char *to = rl_data(out, RL_WRITE);
    for (int64_t i = 0; i < out->shape[0] && i < out->shape[1]; i++)
        rl_row_put_double(out->dtype, to + i * (out->shape[1] + 1) * item, 1);
    return RL_OK;
}
