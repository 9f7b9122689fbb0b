/* Sequences and the identity. */
#include "loops.h"
#include <math.h>

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

RL_KERNEL(ref_logspace) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    const double base = rl_num(k, 3);
    const bool wide = out->dtype == RL_F64;
    char *to = rl_data(out, RL_WRITE);
    if (ref_linspace(k) != RL_OK) return RL_FAIL;
    if (rl_is_float(out->dtype))
        for (int64_t i = 0; i < out->numel; i++) {
            double x = rl_row_double(out->dtype, to + i * item);
            rl_row_put_double(out->dtype, to + i * item,
                              wide ? pow(base, x) : (double)powf((float)base, (float)x));
        }
    else /* exponents between whole numbers count as they are */
        for (int64_t i = 0, n = out->numel; i < n; i++) {
            double start = rl_num(k, 0), end = rl_num(k, 1),
                   step = n > 1 ? (end - start) / (double)(n - 1) : 0;
            double x = i < n / 2 || n == 1 ? start + step * (double)i : end - step * (double)(n - 1 - i);
            rl_row_put_double(out->dtype, to + i * item, (double)powf((float)base, (float)x));
        }
    return RL_OK;
}

RL_KERNEL(ref_range) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype);
    const double start = rl_num(k, 0), step = rl_num(k, 2);
    char *to = rl_data(out, RL_WRITE);
    for (int64_t i = 0; i < out->numel; i++)
        rl_row_put_double(out->dtype, to + i * item, start + step * (double)i);
    return RL_OK;
}

/* Rows in the first half of the result, columns in the second. */
static void triangle_put(rl_call *k, int64_t at, int64_t row, int64_t column) {
    const rl_view *out = k->out[0];
    const int64_t item = rl_itemsize(out->dtype), n = out->shape[1];
    char *to = rl_data(out, RL_WRITE);
    rl_row_put_ints(out->dtype, to + at * item, 0, 1, &row);
    rl_row_put_ints(out->dtype, to + (n + at) * item, 0, 1, &column);
}

RL_KERNEL(ref_tril_indices) {
    const int64_t columns = rl_int(k, 1), n = k->out[0]->shape[1];
    __int128 end = (__int128)rl_int(k, 2) + 1;
    for (int64_t row = end < 0 ? (int64_t)-end : 0, at = 0; at < n; row++)
        for (int64_t column = 0; column < columns && column < end + row; column++)
            triangle_put(k, at++, row, column);
    return RL_OK;
}

RL_KERNEL(ref_triu_indices) {
    const int64_t columns = rl_int(k, 1), n = k->out[0]->shape[1];
    const __int128 offset = rl_int(k, 2);
    for (int64_t row = 0, at = 0; at < n; row++) {
        __int128 from = offset + row > 0 ? offset + row : 0;
        for (int64_t column = from < columns ? (int64_t)from : columns; column < columns; column++)
            triangle_put(k, at++, row, column);
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
