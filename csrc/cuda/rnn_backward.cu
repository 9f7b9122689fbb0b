/* Recurrent layers backward, step after step from the last: the gradient of the new state, the slopes of its
 * gates, and through the weight the gradient of the state before. */
#include "moves.h"
#include "rnn.h"

template <class E> struct backward {
    const E *by_output, *by_saved, *by_cells, *state, *first_cell, *output, *saved, *cells;
    const E *weight, *projection;
    int64_t unit, depth, narrow_unit, narrow_depth; /* steps of the weights */
    E *gates, *hidden_gates, *by_state, *by_cell, *before, *total, *grad;
};

/* number j of row b of the step before: of the outputs of all steps, else of what the layer began with */
template <class E>
static __device__ E row_before(const rnn_step &s, int64_t b, int64_t j, int64_t n, const E *all,
                               const E *first) {
    return b < s.rows_before ? all[(s.before + b) * n + j] : first[b * n + j];
}

/* from later steps and from the output */
template <class E> __global__ void __launch_bounds__(CUDA_THREADS) gather_step(rnn_step s, backward<E> g) {
    CUDA_EACH_OF(i, s.rows * s.out) {
        const int64_t b = i / s.out, j = i - b * s.out, at = s.first * s.out + i;
        E *to = g.total ? &g.total[at] : &g.grad[i];
        *to = g.by_state[i] + g.by_output[at];
        g.before[at] = row_before(s, b, j, s.out, g.output, g.state);
    }
}

template <class E>
static __device__ void slopes_lstm(const rnn_step &s, const backward<E> &g, int64_t b, int64_t j) {
    const int64_t n = s.units, row = s.first + b;
    const E *gate = g.saved + row * 4 * n + j, *more = g.by_saved ? g.by_saved + row * 4 * n + j : nullptr;
    const E grad = g.grad[b * n + j], before = row_before(s, b, j, n, g.cells, g.first_cell);
    const E in = gate[0], forget = gate[n], made = gate[2 * n], out = gate[3 * n];
    const E bent = tanh(g.cells[row * n + j]), more_cell = g.by_cells ? g.by_cells[row * n + j] : (E)0;
    const E by_cell = g.by_cell[b * n + j] + grad * out * (1 - bent * bent) + more_cell;
    const E slope[4] = {by_cell * made, by_cell * before, by_cell * in, grad * bent};
    const E curve[4] = {in * (1 - in), forget * (1 - forget), 1 - made * made, out * (1 - out)};
    E *to = g.gates + row * 4 * n + j;
    for (int v = 0; v < 4; v++) to[v * n] = (slope[v] + (more ? more[v * n] : (E)0)) * curve[v];
    g.by_cell[b * n + j] = by_cell * forget;
}

template <class E>
static __device__ void slopes_gru(const rnn_step &s, const backward<E> &g, int64_t b, int64_t j) {
    const int64_t n = s.units, row = s.first + b;
    const E *gate = g.saved + row * 4 * n + j, *by = g.by_saved ? g.by_saved + row * 4 * n + j : nullptr;
    const E more[4] = {by ? by[0] : (E)0, by ? by[n] : (E)0, by ? by[2 * n] : (E)0, by ? by[3 * n] : (E)0};
    const E grad = g.grad[b * n + j], before = g.before[row * n + j];
    const E reset = gate[0], update = gate[n], made = gate[2 * n], given = gate[3 * n];
    const E made_by = (grad * (1 - update) + more[2]) * (1 - made * made);
    E *to = g.gates + row * 3 * n + j, *hidden = g.hidden_gates + row * 3 * n + j;
    to[0] = hidden[0] = (made_by * given + more[0]) * reset * (1 - reset);
    to[n] = hidden[n] = (grad * (before - made) + more[1]) * update * (1 - update);
    to[2 * n] = made_by;
    hidden[2 * n] = made_by * reset + more[3];
    g.by_state[b * n + j] = grad * update;
}

template <class E> __global__ void __launch_bounds__(CUDA_THREADS) make_slopes(rnn_step s, backward<E> g) {
    CUDA_EACH_OF(i, s.rows * s.units) {
        const int64_t b = i / s.units, j = i - b * s.units, at = s.first * s.units + i;
        if (s.mode == RL_RNN_LSTM)
            slopes_lstm(s, g, b, j);
        else if (s.mode == RL_RNN_GRU)
            slopes_gru(s, g, b, j);
        else if (s.mode == RL_RNN_TANH)
            g.gates[at] = g.grad[i] * (1 - g.output[at] * g.output[at]);
        else
            g.gates[at] = g.output[at] > 0 ? g.grad[i] : (E)0;
    }
}

template <class E> static void launch_step(const rnn_step &s, const backward<E> &g, cudaStream_t stream) {
    const int64_t n_gates = s.units * s.gates;
    CUDA_LAUNCH(gather_step<E>, cuda_blocks_of(s.rows * s.out), CUDA_THREADS, stream, s, g);
    if (g.total) {
        const rnn_product p = {s.rows, s.out, s.units, g.narrow_unit, g.narrow_depth, false};
        CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.units), CUDA_THREADS, stream, p,
                    (const E *)g.total + s.first * s.out, g.projection, g.grad);
    }
    CUDA_LAUNCH(make_slopes<E>, cuda_blocks_of(s.rows * s.units), CUDA_THREADS, stream, s, g);
    /* of a GRU some of it went straight to the state before */
    const rnn_product p = {s.rows, n_gates, s.out, g.unit, g.depth, s.mode == RL_RNN_GRU};
    const E *from = g.hidden_gates ? g.hidden_gates : g.gates;
    CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.out), CUDA_THREADS, stream, p,
                from + s.first * n_gates, g.weight, g.by_state);
}

/* what an argument says, or zeros */
static rl_status start(rl_call *k, int out, int arg) {
    const rl_view *to = k->out[out], *given = rl_in(k, arg);
    const size_t bytes = (size_t)(to->numel * rl_itemsize(to->dtype));
    const void *from = given ? cuda_gapless(k, given) : nullptr;
    if (given && !from) return RL_FAIL;
    if (bytes == 0) return RL_OK;
    if (from)
        cudaMemcpyAsync(rl_data(to, RL_FRESH), from, bytes, cudaMemcpyDeviceToDevice,
                        (cudaStream_t)k->stream);
    else
        cudaMemsetAsync(rl_data(to, RL_FRESH), 0, bytes, (cudaStream_t)k->stream);
    return rl_cuda_end(k);
}

template <class E> static rl_status read_inputs(rl_call *k, backward<E> *g) {
    const struct {
        const E **to;
        int arg;
    } all[] = {{&g->by_output, RL_RNN_BY_OUTPUT},  {&g->by_saved, RL_RNN_BY_SAVED},
               {&g->by_cells, RL_RNN_BY_CELLS},    {&g->state, RL_RNN_BACK_STATE},
               {&g->first_cell, RL_RNN_BACK_CELL}, {&g->output, RL_RNN_BACK_OUTPUT},
               {&g->saved, RL_RNN_BACK_SAVED},     {&g->cells, RL_RNN_BACK_CELLS}};
    for (const auto &each : all) {
        const rl_view *v = rl_in(k, each.arg);
        if (v && v->numel && !(*each.to = (const E *)cuda_gapless(k, v))) return RL_FAIL;
    }
    return RL_OK;
}

template <class E> static rl_status read(rl_call *k, const rnn_layer &l, backward<E> *g) {
    const rl_view *w = rl_in(k, RL_RNN_BACK_WEIGHT), *narrow = rl_in(k, RL_RNN_BACK_PROJECTION);
    *g = backward<E>();
    if (read_inputs(k, g) != RL_OK) return RL_FAIL;
    g->weight = (const E *)rl_const_data(w);
    g->unit = w->strides[0], g->depth = w->strides[1];
    g->gates = (E *)rl_data(k->out[0], RL_FRESH);
    if (l.step.mode == RL_RNN_GRU) g->hidden_gates = (E *)rl_data(k->out[1], RL_FRESH);
    g->by_state = (E *)rl_data(k->out[2], RL_FRESH);
    if (l.step.mode == RL_RNN_LSTM) g->by_cell = (E *)rl_data(k->out[3], RL_FRESH);
    g->before = (E *)rl_data(k->out[4], RL_FRESH);
    g->grad = (E *)k->svc->scratch(k, RL_COUNT(l.batch, l.step.units), sizeof(E));
    if (!g->grad) return RL_FAIL;
    if (!narrow) return RL_OK;
    g->projection = (const E *)rl_const_data(narrow);
    g->narrow_unit = narrow->strides[0], g->narrow_depth = narrow->strides[1];
    g->total = (E *)rl_data(k->out[5], RL_FRESH);
    return RL_OK;
}

template <class E> static rl_status run(rl_call *k, const rnn_layer &l) {
    backward<E> g;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || start(k, 2, RL_RNN_BY_STATE) != RL_OK) return RL_FAIL;
    if (l.step.mode == RL_RNN_LSTM && start(k, 3, RL_RNN_BY_CELL) != RL_OK) return RL_FAIL;
    if (k->out[0]->numel == 0) return RL_OK;
    if (read(k, l, &g) != RL_OK) return RL_FAIL;
    rnn_each_step(l, true, [&](const rnn_step &s) { launch_step(s, g, (cudaStream_t)k->stream); });
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rnn_layer_backward) {
    const rnn_layer l = rnn_layer_of(k, rl_in(k, RL_RNN_BACK_OUTPUT), RL_RNN_BACK_STATE,
                                     RL_RNN_BACK_PROJECTION, RL_RNN_BACK_SIZES, RL_RNN_BACK_MODE);
    switch (k->out[0]->dtype) {
    case RL_F32: return run<float>(k, l);
    case RL_F64: return run<double>(k, l);
    default: return RL_UNSUPPORTED;
    }
}
