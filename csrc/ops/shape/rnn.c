/* Shape rules of recurrent layers.
 *
 * Note [Packed rows]
 * Sequences of one batch, of length T each, are rows of (T, B, ...). Those of decreasing lengths are packed:
 * all first elements, then all second ones, and so on; batch_sizes says how many there are of each step.
 *
 *     a0 a1 a2      a0 b0 c0 a1 b1 a2        batch_sizes 3, 2, 1
 *     b0 b1
 *     c0            row b of a step belongs to sequence b: those that have ended are the last ones */
#include "kernel_abi/rnn.h"
#include "shape.h"

static rl_status differs(const rl_call *k, const char *what, const rl_view *v) {
    char have[RL_DIMS_TEXT];
    return rl_error_set(RL_RUNTIME, "%s: %s of size %s does not fit the other arguments", k->name, what,
                        rl_dims_text(have, v->shape, v->ndim));
}
static rl_status is_sized(const rl_call *k, int arg, const char *what, int64_t rows, int64_t columns) {
    const rl_view *v = rl_in(k, arg);
    const int64_t dims[2] = {rows, columns};
    const int n = columns < 0 ? 1 : 2;
    const bool fits = v && v->ndim == n && memcmp(v->shape, dims, (size_t)n * sizeof *dims) == 0;
    if (fits && v->dtype == rl_tensor_arg(k, 0)->dtype) return RL_OK;
    if (fits)
        return rl_error_set(RL_RUNTIME, "%s: %s has another dtype than the first tensor", k->name, what);
    return v ? differs(k, what, v) : rl_error_set(RL_RUNTIME, "%s: %s is missing", k->name, what);
}
static rl_status is_sized_or_none(const rl_call *k, int arg, const char *what, int64_t rows,
                                  int64_t columns) {
    return rl_in(k, arg) ? is_sized(k, arg, what, rows, columns) : RL_OK;
}

/* `rows` has the steps and the batch in front of its last dimension */
static rl_status batch_of(const rl_call *k, const rl_view *rows, int sizes_arg, int64_t *batch) {
    const rl_ints sizes = rl_ints_of(k, sizes_arg);
    const bool packed = k->arg[sizes_arg].tag != RL_NONE;
    int64_t sum = 0;
    if (rows->ndim != 3 - packed) return differs(k, "gates", rows);
    if (!packed) {
        *batch = rows->shape[1];
        return RL_OK;
    }
    *batch = sizes.n ? sizes.at[0] : 0;
    for (int i = 0; i < sizes.n && sum <= rows->shape[0]; i++) {
        if (sizes.at[i] < 0 || sizes.at[i] > rows->shape[0] || (i && sizes.at[i] > sizes.at[i - 1]))
            return rl_error_set(RL_RUNTIME, "%s: batch_sizes must decrease", k->name);
        sum += sizes.at[i];
    }
    if (sum != rows->shape[0])
        return rl_error_set(RL_RUNTIME, "%s: batch_sizes must sum to the number of rows", k->name);
    return RL_OK;
}

static rl_status mode_of(const rl_call *k, int arg, int64_t *mode) {
    *mode = k->arg[arg].u.i;
    if (*mode >= RL_RNN_TANH && *mode <= RL_RNN_LSTM) return RL_OK;
    return rl_error_set(RL_VALUE, "%s: there is no mode %lld", k->name, (long long)*mode);
}

static rl_status nothing_in(rl_call *k, int out) {
    return rl_out_dims(k, out, (int64_t[]){0}, 1);
}
/* a result that not every call has */
static rl_status optional(rl_call *k, int out, bool there, int64_t rows, int64_t columns) {
    return there ? rl_out_dims(k, out, (int64_t[]){rows, columns}, 2) : nothing_in(k, out);
}
static int64_t rows_of(const rl_view *v) {
    return v->ndim == 2 ? v->shape[0] : v->shape[0] * v->shape[1];
}

/* state, cell, weight and projection begin at `first`; *units and *out are read from them */
static rl_status weights_fit(const rl_call *k, int first, int projection, int64_t mode, int64_t batch,
                             int64_t *units, int64_t *out) {
    const rl_view *weight = rl_in(k, first + 2), *narrow = rl_in(k, projection);
    const int gates = rl_rnn_gates(mode);
    if (weight->ndim != 2 || weight->shape[0] % gates || weight->shape[0] < gates)
        return differs(k, "weight", weight);
    *units = weight->shape[0] / gates;
    *out = narrow && narrow->ndim ? narrow->shape[0] : *units;
    if (is_sized(k, first + 2, "weight", weight->shape[0], *out) != RL_OK) return RL_FAIL;
    if (narrow && mode != RL_RNN_LSTM) return differs(k, "projection", narrow);
    if (is_sized_or_none(k, projection, "projection", *out, *units) != RL_OK) return RL_FAIL;
    if (is_sized(k, first, "state", batch, *out) != RL_OK) return RL_FAIL;
    return mode == RL_RNN_LSTM ? is_sized(k, first + 1, "cell", batch, *units) : RL_OK;
}

RL_SHAPE(_rnn_layer) {
    const rl_view *gates = rl_in(k, RL_RNN_GATES);
    int64_t mode, batch, units, out, shape[3];
    if (mode_of(k, RL_RNN_MODE, &mode) != RL_OK || batch_of(k, gates, RL_RNN_SIZES, &batch) != RL_OK)
        return RL_FAIL;
    if (weights_fit(k, RL_RNN_STATE, RL_RNN_PROJECTION, mode, batch, &units, &out) != RL_OK) return RL_FAIL;
    if (gates->shape[gates->ndim - 1] != units * rl_rnn_gates(mode)) return differs(k, "gates", gates);
    if (is_sized_or_none(k, RL_RNN_BIAS, "bias", units * rl_rnn_gates(mode), -1) != RL_OK) return RL_FAIL;
    memcpy(shape, gates->shape, (size_t)gates->ndim * sizeof *shape);
    shape[gates->ndim - 1] = out;
    if (rl_out_dims(k, 0, shape, gates->ndim) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, 1, (int64_t[]){batch, out}, 2) != RL_OK) return RL_FAIL;
    const bool lstm = mode == RL_RNN_LSTM;
    if (optional(k, 2, lstm, batch, units) != RL_OK) return RL_FAIL;
    const int64_t rows = rows_of(gates), saved = rl_rnn_saved(mode);
    const bool keep = k->arg[RL_RNN_KEEP].u.i;
    if (optional(k, 3, keep && saved > 0, rows, saved * units) != RL_OK) return RL_FAIL;
    return optional(k, 4, keep && lstm, rows, units);
}

RL_SHAPE(_rnn_layer_backward) {
    const rl_view *output = rl_in(k, RL_RNN_BACK_OUTPUT);
    int64_t mode, batch, units, out, shape[3];
    if (mode_of(k, RL_RNN_BACK_MODE, &mode) != RL_OK ||
        batch_of(k, output, RL_RNN_BACK_SIZES, &batch) != RL_OK)
        return RL_FAIL;
    if (weights_fit(k, RL_RNN_BACK_STATE, RL_RNN_BACK_PROJECTION, mode, batch, &units, &out) != RL_OK)
        return RL_FAIL;
    const int64_t rows = rows_of(output), saved = rl_rnn_saved(mode) * units,
                  gates = rl_rnn_gates(mode) * units;
    const bool lstm = mode == RL_RNN_LSTM;
    if (output->shape[output->ndim - 1] != out) return differs(k, "output", output);
    const rl_view *by_output = rl_in(k, RL_RNN_BY_OUTPUT);
    if (!rl_dims_same(by_output, output) || by_output->dtype != output->dtype)
        return rl_gradient_differs(k, output);
    if (is_sized_or_none(k, RL_RNN_BY_STATE, "grad_last", batch, out) != RL_OK) return RL_FAIL;
    if (saved && is_sized(k, RL_RNN_BACK_SAVED, "saved", rows, saved) != RL_OK) return RL_FAIL;
    if (saved && is_sized_or_none(k, RL_RNN_BY_SAVED, "grad_saved", rows, saved) != RL_OK) return RL_FAIL;
    if (lstm && is_sized(k, RL_RNN_BACK_CELLS, "cells", rows, units) != RL_OK) return RL_FAIL;
    if (lstm && is_sized_or_none(k, RL_RNN_BY_CELLS, "grad_cells", rows, units) != RL_OK) return RL_FAIL;
    if (lstm && is_sized_or_none(k, RL_RNN_BY_CELL, "grad_last_cell", batch, units) != RL_OK) return RL_FAIL;
    memcpy(shape, output->shape, (size_t)output->ndim * sizeof *shape);
    shape[output->ndim - 1] = gates;
    if (rl_out_dims(k, 0, shape, output->ndim) != RL_OK) return RL_FAIL;
    if (optional(k, 1, mode == RL_RNN_GRU, rows, gates) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, 2, (int64_t[]){batch, out}, 2) != RL_OK) return RL_FAIL;
    if (optional(k, 3, lstm, batch, units) != RL_OK) return RL_FAIL;
    if (rl_out_dims(k, 4, (int64_t[]){rows, out}, 2) != RL_OK) return RL_FAIL;
    return optional(k, 5, rl_in(k, RL_RNN_BACK_PROJECTION) != NULL, rows, out);
}
