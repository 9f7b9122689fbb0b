/* Padded sequences packed, and packed ones padded: Note [Packed rows] in ops/shape/rnn.c. Steps that have as
 * many sequences as the one before are one piece. */
#include "core/dtype.h"
#include "rnn.h"

static V numbers_tensor(rl_values *g, int64_t n, rl_tensor **made) {
    *made = rl_tensor_new(RL_I64, RL_CPU, 0, &n, 1);
    return rl_values_own_steal(g, (PyObject *)*made);
}
/* how many of the lengths, which decrease, are above each t */
static void counts_fill(const rl_view *v, V lengths) {
    RL_RAW;
    int64_t *to = rl_data(v, RL_FRESH), n = lengths.n;
    for (int64_t t = 0; t < v->numel; t++) {
        while (n > 0 && lengths.u.ints[n - 1] <= t) n--;
        to[t] = n;
    }
}
static V counts(rl_values *g, V lengths, int64_t n) {
    rl_tensor *made;
    V v = numbers_tensor(g, n, &made);
    if (made) counts_fill(&made->v, lengths);
    return v;
}

/* x with n sizes in the place of its first dimensions */
static V leading(rl_values *g, V x, int dims, const int64_t *lead, int n) {
    int64_t size[RL_MAX_DIMS + 1];
    int to = 0;
    for (int i = 0; i < n; i++) size[to++] = lead[i];
    for (int d = dims; d < NDIM(x); d++) size[to++] = SIZE(x, d);
    return OP(reshape, x, INTS(size, to));
}

static bool lengths_fit(rl_values *g, V x, V lengths, V list) {
    if (list.n != SIZE(x, 1))
        RAISE(PyExc_RuntimeError,
              "Expected `len(lengths)` to be equal to batch_size, but got %lld (batch_size=%lld)",
              (long long)SIZE(lengths, 0), (long long)SIZE(x, 1));
    else if (list.u.ints[list.n - 1] <= 0)
        RAISE(PyExc_RuntimeError, "Length of all samples has to be greater than 0, but found an element in "
                                  "'lengths' that is <= 0");
    for (int i = 1; i < list.n && !FAILED; i++)
        if (list.u.ints[i] > list.u.ints[i - 1])
            RAISE(PyExc_RuntimeError,
                  "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                  "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                  "requirement if you do not need ONNX exportability.");
    return !FAILED;
}

/* the pieces of a padded tensor (T, B, ...), longest sequences last */
static V packed(rl_values *g, V x, V lengths) {
    rl_view **room = rl_values_room(g, lengths.n, sizeof *room);
    int pieces = 0;
    int64_t begin = 0;
    for (int i = lengths.n - 1; i >= 0 && !FAILED; i--) {
        const int64_t end = lengths.u.ints[i] < SIZE(x, 0) ? lengths.u.ints[i] : SIZE(x, 0);
        if (end <= begin) continue;
        V steps = OP(narrow, x, INT(0), INT(begin), INT(end - begin));
        V piece = OP(narrow, steps, INT(1), INT(0), INT(i + 1));
        piece = leading(g, piece, 2, (int64_t[]){(end - begin) * (i + 1)}, 1);
        if (!FAILED) room[pieces++] = piece.u.t;
        begin = end;
    }
    return FAILED ? NONE : OP(cat, TENSORS(room, pieces), INT(0));
}

COMPOSED(_pack_padded_sequence) { /* (input, lengths, batch_first) */
    V lengths = X(1);
    const rl_view *v = lengths.u.t;
    if (v->ndim != 1 || v->dtype != RL_I64 || v->device != RL_CPU)
        return RAISE(PyExc_RuntimeError,
                     "'lengths' argument should be a 1D CPU int64 tensor, but got %dD %s %s tensor", v->ndim,
                     v->device == RL_CPU    ? "cpu"
                     : v->device == RL_META ? "meta"
                                            : "cuda",
                     rl_dtype_title(v->dtype));
    if (NUMEL(X(0)) == 0) return RAISE(PyExc_RuntimeError, "Cannot pack empty tensors.");
    V x = X(2).u.i ? OP(transpose, X(0), INT(0), INT(1)) : X(0);
    if (!FAILED && NDIM(x) < 2)
        return RAISE(PyExc_IndexError,
                     "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    V list = rl_rnn_numbers(g, lengths);
    if (FAILED || !lengths_fit(g, x, lengths, list)) return NONE;
    return RESULTS(packed(g, x, list), counts(g, list, list.u.ints[0]));
}

/* (steps, n, ...) of one value, that looks like x (.., ...) behind its first dimension */
static V padding(rl_values *g, V x, V value, int64_t steps, int64_t n) {
    int64_t size[RL_MAX_DIMS + 1] = {steps, n};
    for (int d = 1; d < NDIM(x); d++) size[d + 1] = SIZE(x, d);
    V one = OP(full_like, leading(g, OP(narrow, x, INT(0), INT(0), INT(1)), 1, (int64_t[]){1, 1}, 2), value);
    return OP(expand, one, INTS(size, NDIM(x) + 1));
}

static V padded(rl_values *g, V x, V sizes, V value, int64_t total) {
    rl_view **room = rl_values_room(g, (int64_t)sizes.n + 1, sizeof *room);
    const int64_t batch = sizes.u.ints[0];
    int64_t row = 0;
    int pieces = 0;
    for (int t = 0, end; t < sizes.n && !FAILED; t = end) {
        const int64_t n = sizes.u.ints[t];
        for (end = t + 1; end < sizes.n && sizes.u.ints[end] == n; end++) {
        }
        V piece = OP(narrow, x, INT(0), INT(row), INT((end - t) * n));
        piece = leading(g, piece, 1, (int64_t[]){end - t, n}, 2);
        if (n < batch) piece = JOIN(piece, padding(g, x, value, end - t, batch - n), 1);
        if (!FAILED) room[pieces++] = piece.u.t;
        row += (end - t) * n;
    }
    if (total > sizes.n && !FAILED) {
        V rest = padding(g, x, value, total - sizes.n, batch);
        if (!FAILED) room[pieces++] = rest.u.t;
    }
    return FAILED ? NONE : OP(cat, TENSORS(room, pieces), INT(0));
}

COMPOSED(_pad_packed_sequence) { /* (data, batch_sizes, batch_first, padding_value, total_length) */
    const rl_view *v = X(1).u.t;
    if (v->ndim != 1 || v->dtype != RL_I64 || v->device != RL_CPU || !v->numel || NDIM(X(0)) == 0)
        return RAISE(PyExc_RuntimeError,
                     "_pad_packed_sequence: batch_sizes must be a 1D CPU int64 tensor of at least one step");
    V sizes = rl_rnn_numbers(g, X(1));
    if (FAILED) return NONE;
    const int64_t total = X(4).u.i > 0 ? X(4).u.i : sizes.n;
    if (total < sizes.n)
        return RAISE(
            PyExc_RuntimeError,
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            "total_length=%lld and max sequence length being %lld",
            (long long)total, (long long)sizes.n);
    for (int t = 0; t < sizes.n; t++)
        if (sizes.u.ints[t] <= 0 || (t && sizes.u.ints[t] > sizes.u.ints[t - 1]))
            return RAISE(PyExc_RuntimeError, "_pad_packed_sequence: batch_sizes must decrease");
    V x = padded(g, X(0), sizes, X(3), total);
    if (X(2).u.i) x = OP(transpose, x, INT(0), INT(1));
    return FAILED ? NONE : RESULTS(x, counts(g, sizes, sizes.u.ints[0]));
}
