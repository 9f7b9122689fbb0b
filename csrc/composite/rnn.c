/* Recurrent layers, their cells, and sequences of different lengths packed into one tensor. */
#include "compose.h"
#include "kernel_abi/rnn.h"
#include "core/dtype.h"

/* One layer in one direction: the arguments of _rnn_layer. */
typedef struct {
    V input, state, cell; /* input: what the gates are made of */
    V w_ih, w_hh, b_ih, b_hh, projection, sizes;
    int mode;
    bool reverse;
} rnn_layer;

/* ---- recurrent layers ----
 * a stack of layers and directions over _rnn_layer().
 *
 *     input ──► layer 0, forward  ─┐
 *          └──► layer 0, backward ─┴─ cat ── dropout ──► layer 1 ...     states: (layers * directions, B, H)
 *
 * https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTM.html */
static V rnn_numbers(rl_values *g, V x) {
    RL_HELD held = {.storage = NULL};
    if (rl_value_tensor(x)->device != RL_CPU)
        return RAISE(PyExc_RuntimeError, "%s: batch_sizes must lie on the CPU", g->what);
    x = OP(contiguous, x);
    FAILED = FAILED || rl_composite_dense(&held, (PyObject *)RL_TENSOR_OF(x.u.t), RL_I64) < 0;
    if (!FAILED && held.numel > INT32_MAX) RAISE(PyExc_RuntimeError, "too many steps");
    int64_t *room = FAILED ? NULL : rl_values_room(g, held.numel, sizeof *room);
    if (!room) return NONE;
    FAILED = rl_composite_numbers(&held, room) < 0;
    return INTS(room, (int)held.numel);
}

/* ---- one layer in one direction ---- */
static V as_dtype(rl_values *g, V x, int dtype) {
    if (FAILED || x.tag != RL_TENSOR || rl_value_tensor(x)->dtype == dtype) return x;
    return OP(to_copy, x, DTYPE(dtype), NONE);
}

/* will there be a gradient? */
static bool is_recorded(const V *tensors, int n) {
    bool needs = false;
    for (int i = 0; i < n; i++)
        needs = needs || (tensors[i].tag == RL_TENSOR && rl_requires_grad(RL_TENSOR_OF(tensors[i].u.t)));
    return needs && rl_tls.grad && !rl_tls.inference;
}

/* Halves are computed in float32; integers, which Elman's net with relu takes, exactly. */
static int work_dtype(int dtype, int mode) {
    if (rl_is_half(dtype)) return RL_F32;
    return mode == RL_RNN_RELU && !rl_is_float(dtype) ? RL_F64 : dtype;
}

/* Both biases are one summand, but of a GRU: there the second one is multiplied by the reset gate. */
static void rnn_layer_run(rl_values *g, const rnn_layer *l, V results[3]) {
    const bool apart = l->mode == RL_RNN_GRU, both = l->b_ih.tag != RL_NONE && l->b_hh.tag != RL_NONE;
    V bias = apart ? l->b_ih : both ? OP(add, l->b_ih, l->b_hh) : l->b_ih.tag == RL_NONE ? l->b_hh : l->b_ih;
    V gates = OP(linear, l->input, l->w_ih, bias);
    V second = apart ? l->b_hh : NONE;
    if (FAILED) return;
    const int dtype = rl_value_tensor(gates)->dtype, work = work_dtype(dtype, l->mode);
    const bool blends = l->mode == RL_RNN_GRU || l->mode == RL_RNN_LSTM;
    const V blended = l->mode == RL_RNN_LSTM ? l->cell : l->state;
    const int kept = blends ? rl_dtype_promote(dtype, rl_value_tensor(blended)->dtype) : dtype;
    const int answer = l->projection.tag == RL_NONE ? kept : dtype; /* a product again */
    const V tensors[] = {gates, l->state, l->cell, l->w_hh, second, l->projection};
    V in[6];
    for (int i = 0; i < 6; i++) in[i] = as_dtype(g, tensors[i], work);
    OPS(results, 3, _rnn_layer, in[0], in[1], in[2], in[3], in[4], in[5], l->sizes, INT(l->mode),
        BOOLEAN(l->reverse), BOOLEAN(is_recorded(in, 6)));
    for (int i = 0; i < 3 - (l->mode != RL_RNN_LSTM) && !FAILED; i++)
        results[i] = as_dtype(g, results[i], i == 2 ? kept : answer);
}

/* ---- a stack of them ---- */
typedef struct {
    V input, sizes, states, cells, params; /* states: (layers * directions, B, H) */
    int64_t layers;
    double dropout;
    bool biases, train, both_ways, projected, lower;
    int mode, each; /* each: how many parameters a layer has in one direction */
} stack;

/* what autocast makes of x in a stack that it casts as a whole */
static V seen(rl_values *g, const stack *s, V x) {
    if (!s->lower || FAILED || x.tag == RL_NONE) return x;
    return rl_values_own_steal(g, rl_autocast_tensor(RL_TENSOR_OF(x.u.t), true));
}
static V parameter(rl_values *g, const stack *s, int64_t layer, int i) {
    return seen(g, s, NTH(s->params, layer * s->each + i));
}

static void layer_run(rl_values *g, const stack *s, V input, int64_t n, bool reverse, V results[3]) {
    const rnn_layer layer = {
        .input = seen(g, s, input),
        .state = seen(g, s, OP(select, s->states, INT(0), INT(n))),
        .cell = s->cells.tag == RL_NONE ? NONE : seen(g, s, OP(select, s->cells, INT(0), INT(n))),
        .w_ih = parameter(g, s, n, 0),
        .w_hh = parameter(g, s, n, 1),
        .b_ih = s->biases ? parameter(g, s, n, 2) : NONE,
        .b_hh = s->biases ? parameter(g, s, n, 3) : NONE,
        .projection = s->projected ? parameter(g, s, n, s->each - 1) : NONE,
        .sizes = s->sizes,
        .mode = s->mode,
        .reverse = reverse};
    if (!FAILED) rnn_layer_run(g, &layer, results);
}

static V stack_run(rl_values *g, const stack *s, bool batch_first) {
    const int ways = s->both_ways ? 2 : 1;
    rl_view **last = rl_values_room(g, 2 * s->layers * ways, sizeof *last), **cells = last + s->layers * ways;
    V x = batch_first ? OP(contiguous, OP(transpose, s->input, INT(0), INT(1))) : s->input;
    for (int64_t layer = 0; layer < s->layers && !FAILED; layer++) {
        V out[2] = {0};
        for (int way = 0; way < ways && !FAILED; way++) {
            V results[3] = {0};
            const int64_t n = layer * ways + way;
            layer_run(g, s, x, n, way, results);
            out[way] = results[0];
            last[n] = results[1].u.t, cells[n] = results[2].u.t;
        }
        x = ways == 2 ? JOIN(out[0], out[1], -1) : out[0];
        if (s->dropout != 0 && s->train && layer < s->layers - 1)
            x = OP(dropout, x, NUM(s->dropout), BOOLEAN(true));
    }
    if (batch_first) x = OP(transpose, x, INT(0), INT(1));
    if (FAILED) return NONE;
    const int n = (int)s->layers * ways;
    V h = OP(stack, TENSORS(last, n), INT(0));
    return s->mode == RL_RNN_LSTM ? RESULTS(x, h, OP(stack, TENSORS(cells, n), INT(0))) : RESULTS(x, h);
}

/* In PyTorch oneDNN runs an LSTM whose sequences have one length, and autocast casts what that takes. Of
 * other stacks the products alone are cast. Halves of a processor that lacks them never come to oneDNN. */
static bool is_cast_whole(const stack *s, bool packed) {
    return s->mode == RL_RNN_LSTM && !packed && !s->projected && rl_value_tensor(s->input)->dtype != RL_F16;
}

/* ---- arguments: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first),
 * with batch_sizes in the place of batch_first where it is packed ---- */
static bool params_fit(rl_values *g, stack *s) {
    const int64_t ways = s->both_ways ? 2 : 1, layers = s->params.n / s->each;
    if (s->params.n % s->each)
        RAISE(PyExc_RuntimeError, "got an incorrect number of RNN parameters");
    else if (layers % ways || SIZE(s->states, 0) % ways)
        RAISE(PyExc_RuntimeError, "Odd number of params or hiddens given to a bidirectional RNN");
    else if (s->layers <= 0 || SIZE(s->states, 0) / ways < s->layers ||
             (s->cells.tag != RL_NONE && SIZE(s->cells, 0) / ways < s->layers))
        RAISE(PyExc_RuntimeError, "Expected more hidden states in stacked_rnn");
    else if (layers < s->layers)
        RAISE(PyExc_RuntimeError, "Expected more weights in stacked_rnn");
    return !FAILED;
}

/* do all sequences have the length of the first one? */
static bool is_even(const stack *s) {
    for (int i = 1; s->sizes.tag == RL_INTS && i < s->sizes.n; i++)
        if (s->sizes.u.ints[i] != s->sizes.u.ints[0]) return false;
    return NUMEL(s->input) > 0;
}

/* Autocast casts what linear() takes. The states of an LSTM that PyTorch gives to oneDNN are cast, too, and
 * so what it answers; what is projected comes from linear(). The states of others stay as they are. */
static void states_lowered(rl_values *g, stack *s) {
    const int dtype = rl_value_tensor(s->states)->dtype, lower = rl_tls.autocast.dtype[RL_CPU];
    if (!(rl_tls.autocast.enabled >> RL_CPU & 1) || rl_value_tensor(s->states)->device != RL_CPU ||
        dtype == RL_F64)
        return;
    const bool as_one = !s->projected && dtype == RL_F32 && is_even(s);
    if (s->projected || as_one) s->states = as_dtype(g, s->states, lower);
    if (as_one) s->cells = as_dtype(g, s->cells, lower);
}

static V run(rl_values *g, rl_op_call *b, int mode, bool packed) {
    const int at = packed ? 2 : 1; /* of hx */
    stack s = {.input = X(0),
               .states = X(at),
               .params = X(at + 1),
               .biases = X(at + 2).u.i,
               .layers = X(at + 3).u.i,
               .dropout = rl_number(X(at + 4)),
               .train = X(at + 5).u.i,
               .both_ways = X(at + 6).u.i,
               .mode = mode};
    if (mode == RL_RNN_LSTM) {
        if (X(at).n != 2) return RAISE(PyExc_RuntimeError, "lstm expects two hidden states");
        s.states = NTH(X(at), 0), s.cells = NTH(X(at), 1);
        s.projected = NDIM(s.states) == 3 && SIZE(s.states, 2) != SIZE(s.cells, 2);
    }
    s.each = (s.biases ? 4 : 2) + s.projected;
    if (NDIM(s.input) != 3 - packed || NDIM(s.states) != 3 || (s.cells.tag != RL_NONE && NDIM(s.cells) != 3))
        return RAISE(PyExc_RuntimeError, "%s: input must have %d dimensions and hx 3", b->schema->op->name,
                     3 - packed);
    s.lower = is_cast_whole(&s, packed);
    const bool batch_first = !packed && X(8).u.i;
    if (!packed && SIZE(s.input, batch_first) == 0)
        return RAISE(PyExc_RuntimeError, "Expected sequence length to be larger than 0 in RNN");
    if (packed && rl_value_tensor(X(1))->dtype != RL_I64)
        return RAISE(PyExc_RuntimeError, "expected scalar type Long but found %s",
                     rl_dtype_title(rl_value_tensor(X(1))->dtype));
    if (packed) s.sizes = rnn_numbers(g, X(1));
    if (FAILED || !params_fit(g, &s)) return NONE;
    if (mode == RL_RNN_LSTM) states_lowered(g, &s);
    return FAILED ? NONE : stack_run(g, &s, batch_first);
}

COMPOSED(lstm) {
    return run(g, b, RL_RNN_LSTM, false);
}
COMPOSED(lstm_packed) {
    return run(g, b, RL_RNN_LSTM, true);
}
COMPOSED(gru) {
    return run(g, b, RL_RNN_GRU, false);
}
COMPOSED(gru_packed) {
    return run(g, b, RL_RNN_GRU, true);
}
COMPOSED(rnn_tanh) {
    return run(g, b, RL_RNN_TANH, false);
}
COMPOSED(rnn_tanh_packed) {
    return run(g, b, RL_RNN_TANH, true);
}
COMPOSED(rnn_relu) {
    return run(g, b, RL_RNN_RELU, false);
}
COMPOSED(rnn_relu_packed) {
    return run(g, b, RL_RNN_RELU, true);
}

/* ---- cells of recurrent nets ----
 * one step of a layer. */
/* (input, hx, w_ih, w_hh, b_ih, b_hh) */
static bool cell_fits(rl_values *g, rl_op_call *b, V hx, int number) {
    V input = X(0), w_ih = X(2), w_hh = X(3);
    const char *const flat = "Dimension out of range (expected to be in range of [-1, 0], but got 1)";
    if (NDIM(input) < 2 || NDIM(hx) < 1 || NDIM(w_ih) < 2 || NDIM(w_hh) < 2)
        RAISE(PyExc_IndexError, flat);
    else if (SIZE(input, 1) != SIZE(w_ih, 1))
        RAISE(PyExc_RuntimeError, "input has inconsistent input_size: got %lld expected %lld",
              (long long)SIZE(input, 1), (long long)SIZE(w_ih, 1));
    else if (SIZE(input, 0) != SIZE(hx, 0))
        RAISE(PyExc_RuntimeError, "Input batch size %lld doesn't match hidden%d batch size %lld",
              (long long)SIZE(input, 0), number, (long long)SIZE(hx, 0));
    else if (NDIM(hx) < 2)
        RAISE(PyExc_IndexError, flat);
    else if (SIZE(hx, 1) != SIZE(w_hh, 1))
        RAISE(PyExc_RuntimeError, "hidden%d has inconsistent hidden_size: got %lld, expected %lld", number,
              (long long)SIZE(hx, 1), (long long)SIZE(w_hh, 1));
    return !FAILED;
}

static void cell_run(rl_values *g, rl_op_call *b, int mode, V state, V cell, V results[3]) {
    rnn_layer one = {.input = OP(unsqueeze, X(0), INT(0)),
                     .state = state,
                     .cell = cell,
                     .w_ih = X(2),
                     .w_hh = X(3),
                     .b_ih = X(4),
                     .b_hh = X(5),
                     .mode = mode};
    if (!FAILED) rnn_layer_run(g, &one, results);
}

static V next_state(rl_values *g, rl_op_call *b, int mode) {
    V results[3] = {0};
    if (!cell_fits(g, b, X(1), 0)) return NONE;
    if (mode == RL_RNN_TANH && !rl_is_float(rl_value_tensor(X(0))->dtype)) /* of integers: floats */
        return OP(tanh, OP(add, OP(linear, X(0), X(2), X(4)), OP(linear, X(1), X(3), X(5))));
    cell_run(g, b, mode, X(1), NONE, results);
    return results[1];
}

COMPOSED(lstm_cell) {
    V results[3] = {0};
    if (X(1).n != 2) return RAISE(PyExc_RuntimeError, "lstm_cell expects two hidden states");
    if (!cell_fits(g, b, NTH(X(1), 0), 0) || !cell_fits(g, b, NTH(X(1), 1), 1)) return NONE;
    cell_run(g, b, RL_RNN_LSTM, NTH(X(1), 0), NTH(X(1), 1), results);
    return RESULTS(results[1], results[2]);
}
COMPOSED(gru_cell) {
    return next_state(g, b, RL_RNN_GRU);
}
COMPOSED(rnn_tanh_cell) {
    return next_state(g, b, RL_RNN_TANH);
}
COMPOSED(rnn_relu_cell) {
    return next_state(g, b, RL_RNN_RELU);
}

/* ---- padded sequences packed, and packed ones padded ----
 * Note [Packed rows] in ops/shape/rnn.c. Steps that have as
 * many sequences as the one before are one piece. */
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
    V list = rnn_numbers(g, lengths);
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
    V sizes = rnn_numbers(g, X(1));
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
