/* Recurrent layers: a stack of layers and directions over _rnn_layer().
 *
 *     input ──► layer 0, forward  ─┐
 *          └──► layer 0, backward ─┴─ cat ── dropout ──► layer 1 ...     states: (layers * directions, B, H)
 *
 * https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTM.html */
#include "rnn.h"
#include "core/dtype.h"
#include "slots.h"

V rl_rnn_numbers(rl_values *g, V x) {
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
    return needs && rl_here.grad && !rl_here.inference;
}

/* Halves are computed in float32; integers, which Elman's net with relu takes, exactly. */
static int work_dtype(int dtype, int mode) {
    if (dtype == RL_F16 || dtype == RL_BF16) return RL_F32;
    return mode == RL_RNN_RELU && !rl_is_float(dtype) ? RL_F64 : dtype;
}

/* Both biases are one summand, but of a GRU: there the second one is multiplied by the reset gate. */
void rl_rnn_layer_run(rl_values *g, const rnn_layer *l, V results[3]) {
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
        TRUTH(l->reverse), TRUTH(is_recorded(in, 6)));
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
    if (!FAILED) rl_rnn_layer_run(g, &layer, results);
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
            x = OP(dropout, x, NUM(s->dropout), TRUTH(true));
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
    const int dtype = rl_value_tensor(s->states)->dtype, lower = rl_here.autocast.dtype[RL_CPU];
    if (!(rl_here.autocast.enabled >> RL_CPU & 1) || rl_value_tensor(s->states)->device != RL_CPU ||
        dtype == RL_F64)
        return;
    const bool as_one = !s->projected && dtype == RL_F32 && is_even(s);
    if (s->projected || as_one) s->states = as_dtype(g, s->states, lower);
    if (as_one) s->cells = as_dtype(g, s->cells, lower);
}

static V run(rl_values *g, rl_bound *b, int mode, bool packed) {
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
    if (packed) s.sizes = rl_rnn_numbers(g, X(1));
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
