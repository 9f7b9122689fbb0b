/* Recurrent layers forward and backward, step by step: Note [Steps of a layer] in kernels/shared/rnn.h. */
#include "block_reduce.cuh"
#include "kernel_abi/rnn.h"
#include "copy.cuh"
#include "device.h"
#include "strided_iterator.cuh"

/* The rows of one step, and of the step before it in the order of the layer: Note [Packed rows] in
 * ops/shape/rnn.c. */
typedef struct {
    int mode, gates, saved; /* numbers of a unit and row */
    int64_t units, out;     /* out: of a state, after its projection */
    int64_t first, rows, before, rows_before;
} rnn_step;

typedef struct {
    rnn_step step; /* what all steps have in common */
    int64_t steps, batch;
    const int64_t *sizes; /* of the steps; NULL: all have the batch */
    bool reverse;
} rnn_layer;

/* `rows` has the steps and the batch in front; `state` is followed by cell and weight */
static inline rnn_layer rnn_layer_of(const rl_call *k, const rl_view *rows, int state, int projection,
                                     int sizes, int mode) {
    const rl_view *narrow = rl_in(k, projection);
    const bool is_packed = k->arg[sizes].tag != RL_NONE;
    rnn_layer l = rnn_layer();
    l.step.mode = (int)rl_int(k, mode);
    l.step.gates = rl_rnn_gates(l.step.mode);
    l.step.saved = rl_rnn_saved(l.step.mode);
    l.step.units = rl_in(k, state + 2)->shape[0] / l.step.gates;
    l.step.out = narrow ? narrow->shape[0] : l.step.units;
    l.reverse = rl_int(k, mode + 1) != 0;
    l.batch = rl_in(k, state)->shape[0];
    l.steps = is_packed ? rl_ints_of(k, sizes).n : rows->shape[0];
    l.sizes = is_packed ? rl_ints_of(k, sizes).at : nullptr;
    return l;
}
static inline int64_t rnn_rows_of(const rnn_layer &l, int64_t t) {
    return t < 0 || t >= l.steps ? 0 : l.sizes ? l.sizes[t] : l.batch;
}

/* body(step) for each step that has rows, from the first or, going back, from the last */
template <class Body> static void rnn_each_step(const rnn_layer &l, bool is_back, Body body) {
    const bool descends = is_back != l.reverse;
    int64_t end = 0;
    for (int64_t t = 0; t < l.steps; t++) end += rnn_rows_of(l, t);
    int64_t first = descends ? end : 0;
    for (int64_t i = 0; i < l.steps; i++) {
        const int64_t t = descends ? l.steps - 1 - i : i;
        rnn_step s = l.step;
        s.rows = rnn_rows_of(l, t);
        if (descends) first -= s.rows;
        s.first = first;
        s.rows_before = rnn_rows_of(l, l.reverse ? t + 1 : t - 1);
        s.before = l.reverse ? first + s.rows : first - s.rows_before;
        if (s.rows) body(s);
        if (!descends) first += s.rows;
    }
}

/* c (rows x n) = a (rows x depth) times w, or is added to; w: element (d, j) at d * w_depth + j * w_column */
typedef struct {
    int64_t rows, depth, n, w_depth, w_column;
    bool adds;
} rnn_gemm;
template <class E>
__global__ void __launch_bounds__(CUDA_THREADS) rnn_multiply(rnn_gemm p, const E *a, const E *w, E *c) {
    CUDA_EACH_OF(i, p.rows * p.n) {
        const int64_t row = i / p.n, j = i - row * p.n;
        E sum = p.adds ? c[i] : (E)0;
        for (int64_t d = 0; d < p.depth; d++) sum += a[row * p.depth + d] * w[d * p.w_depth + j * p.w_column];
        c[i] = sum;
    }
}

/* ==== forward: a launch for each step, in which a warp makes one unit of one row ==== */
template <class E> struct forward {
    const E *gates, *weight, *bias, *projection;
    int64_t unit, depth, narrow_unit, narrow_depth; /* steps of the weights */
    E *output, *last, *cell, *hidden, *saved, *cells;
};

template <class E> static __device__ E sigmoid(E x) {
    return 1 / (1 + exp(-x));
}

/* unit j of row b, whose gates the state gave `gate` to */
template <class E>
static __device__ void make_unit(const rnn_step &s, const forward<E> &f, int64_t b, int64_t j,
                                 const E *gate) {
    const int64_t n = s.units, row = s.first + b;
    const E *x = f.gates + row * n * s.gates + j;
    E *saved = f.saved ? f.saved + row * n * s.saved + j : nullptr;
    E *hidden = f.hidden ? &f.hidden[b * n + j] : &f.output[row * n + j];
    if (s.mode == RL_RNN_LSTM) {
        const E in = sigmoid(gate[0] + x[0]), forget = sigmoid(gate[1] + x[n]);
        const E made = tanh(gate[2] + x[2 * n]), out = sigmoid(gate[3] + x[3 * n]);
        const E cell = forget * f.cell[b * n + j] + in * made;
        f.cell[b * n + j] = cell;
        *hidden = out * tanh(cell);
        if (!saved) return;
        saved[0] = in, saved[n] = forget, saved[2 * n] = made, saved[3 * n] = out;
        f.cells[row * n + j] = cell;
    } else if (s.mode == RL_RNN_GRU) {
        const E reset = sigmoid(gate[0] + x[0]), update = sigmoid(gate[1] + x[n]);
        const E made = tanh(x[2 * n] + reset * gate[2]);
        *hidden = made + update * (f.last[b * n + j] - made);
        if (saved) saved[0] = reset, saved[n] = update, saved[2 * n] = made, saved[3 * n] = gate[2];
    } else {
        const E sum = gate[0] + x[0];
        *hidden = s.mode == RL_RNN_TANH ? (E)tanh(sum) : sum < 0 ? (E)0 : sum;
    }
}

template <class E> __global__ void __launch_bounds__(CUDA_THREADS) make_units(rnn_step s, forward<E> f) {
    const int lane = threadIdx.x % CUDA_WARP;
    const int64_t warps = (int64_t)gridDim.x * (CUDA_THREADS / CUDA_WARP);
    int64_t i = (int64_t)blockIdx.x * (CUDA_THREADS / CUDA_WARP) + threadIdx.x / CUDA_WARP;
    for (; i < s.rows * s.units; i += warps) {
        const int64_t b = i / s.units, j = i - b * s.units;
        const E *state = f.last + b * s.out;
        E gate[4] = {0, 0, 0, 0};
        CUDA_UNROLL
        for (int v = 0; v < 4; v++) {
            if (v >= s.gates) continue;
            const E *w = f.weight + (v * s.units + j) * f.unit;
            for (int64_t d = lane; d < s.out; d += CUDA_WARP) gate[v] += state[d] * w[d * f.depth];
            gate[v] = cuda_warp_join(gate[v], cuda_sum());
            if (f.bias) gate[v] += f.bias[v * s.units + j];
        }
        if (lane == 0) make_unit(s, f, b, j, gate);
    }
}

template <class E> static const E *gapless(rl_call *k, int arg) {
    const rl_view *v = rl_in(k, arg);
    return v ? (const E *)cuda_gapless(k, v) : nullptr;
}

/* a state that begins as an argument says */
static rl_status start(rl_call *k, int out, int arg) {
    const rl_view *to = k->out[out];
    const void *from = cuda_gapless(k, rl_in(k, arg));
    if (!from) return RL_FAIL;
    if (to->numel == 0) return RL_OK;
    cudaMemcpyAsync(rl_data(to, RL_FRESH), from, (size_t)(to->numel * rl_itemsize(to->dtype)),
                    cudaMemcpyDeviceToDevice, (cudaStream_t)k->stream);
    return rl_cuda_end(k);
}

template <class E> static rl_status read_forward(rl_call *k, const rnn_layer &l, forward<E> *f) {
    const rl_view *w = rl_in(k, RL_RNN_WEIGHT), *narrow = rl_in(k, RL_RNN_PROJECTION);
    const bool keeps = rl_int(k, RL_RNN_KEEP) && l.step.saved;
    const bool is_lstm = l.step.mode == RL_RNN_LSTM;
    *f = forward<E>();
    f->gates = gapless<E>(k, RL_RNN_GATES);
    f->bias = gapless<E>(k, RL_RNN_BIAS);
    if (!f->gates || (rl_in(k, RL_RNN_BIAS) && !f->bias)) return RL_FAIL;
    f->weight = (const E *)rl_const_data(w);
    f->unit = w->strides[0], f->depth = w->strides[1];
    f->output = (E *)rl_data(k->out[0], RL_FRESH);
    f->last = (E *)rl_data(k->out[1], RL_FRESH);
    if (is_lstm) f->cell = (E *)rl_data(k->out[2], RL_FRESH);
    if (keeps) f->saved = (E *)rl_data(k->out[3], RL_FRESH);
    if (keeps && is_lstm) f->cells = (E *)rl_data(k->out[4], RL_FRESH);
    if (!narrow) return RL_OK;
    f->projection = (const E *)rl_const_data(narrow);
    f->narrow_unit = narrow->strides[0], f->narrow_depth = narrow->strides[1];
    f->hidden = (E *)k->svc->scratch(k, RL_COUNT(l.batch, l.step.units), sizeof(E));
    return f->hidden ? RL_OK : RL_FAIL;
}

/* the state, its projection, and the output as the next step's state */
template <class E> static void launch_step(const rnn_step &s, const forward<E> &f, cudaStream_t stream) {
    E *output = f.output + s.first * s.out;
    CUDA_LAUNCH_BLOCKS(make_units<E>, cuda_blocks_of(s.rows * s.units * CUDA_WARP), CUDA_THREADS, 0, stream,
                       s, f);
    if (f.hidden) {
        const rnn_gemm p = {s.rows, s.units, s.out, f.narrow_depth, f.narrow_unit, false};
        CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.out), CUDA_THREADS, stream, p,
                    (const E *)f.hidden, f.projection, output);
    }
    cudaMemcpyAsync(f.last, output, (size_t)(s.rows * s.out) * sizeof(E), cudaMemcpyDeviceToDevice, stream);
}

template <class E> static rl_status run_forward(rl_call *k, const rnn_layer &l) {
    forward<E> f;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || start(k, 1, RL_RNN_STATE) != RL_OK) return RL_FAIL;
    if (l.step.mode == RL_RNN_LSTM && start(k, 2, RL_RNN_CELL) != RL_OK) return RL_FAIL;
    if (rl_in(k, RL_RNN_GATES)->numel == 0) return RL_OK;
    if (read_forward(k, l, &f) != RL_OK) return RL_FAIL;
    rnn_each_step(l, false, [&](const rnn_step &s) { launch_step(s, f, (cudaStream_t)k->stream); });
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rnn_layer) {
    const rnn_layer l =
        rnn_layer_of(k, rl_in(k, RL_RNN_GATES), RL_RNN_STATE, RL_RNN_PROJECTION, RL_RNN_SIZES, RL_RNN_MODE);
    switch (k->out[0]->dtype) {
    case RL_F32: return run_forward<float>(k, l);
    case RL_F64: return run_forward<double>(k, l);
    default: return RL_UNSUPPORTED;
    }
}

/* ==== backward, step after step from the last: the gradient of the new state, the slopes of its gates, and
 * through the weight the gradient of the state before ==== */
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
        const rnn_gemm p = {s.rows, s.out, s.units, g.narrow_unit, g.narrow_depth, false};
        CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.units), CUDA_THREADS, stream, p,
                    (const E *)g.total + s.first * s.out, g.projection, g.grad);
    }
    CUDA_LAUNCH(make_slopes<E>, cuda_blocks_of(s.rows * s.units), CUDA_THREADS, stream, s, g);
    /* of a GRU some of it went straight to the state before */
    const rnn_gemm p = {s.rows, n_gates, s.out, g.unit, g.depth, s.mode == RL_RNN_GRU};
    const E *from = g.hidden_gates ? g.hidden_gates : g.gates;
    CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.out), CUDA_THREADS, stream, p,
                from + s.first * n_gates, g.weight, g.by_state);
}

/* what an argument says, or zeros */
static rl_status start_backward(rl_call *k, int out, int arg) {
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

template <class E> static rl_status read_backward(rl_call *k, const rnn_layer &l, backward<E> *g) {
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

template <class E> static rl_status run_backward(rl_call *k, const rnn_layer &l) {
    backward<E> g;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || start_backward(k, 2, RL_RNN_BY_STATE) != RL_OK)
        return RL_FAIL;
    if (l.step.mode == RL_RNN_LSTM && start_backward(k, 3, RL_RNN_BY_CELL) != RL_OK) return RL_FAIL;
    if (k->out[0]->numel == 0) return RL_OK;
    if (read_backward(k, l, &g) != RL_OK) return RL_FAIL;
    rnn_each_step(l, true, [&](const rnn_step &s) { launch_step(s, g, (cudaStream_t)k->stream); });
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rnn_layer_backward) {
    const rnn_layer l = rnn_layer_of(k, rl_in(k, RL_RNN_BACK_OUTPUT), RL_RNN_BACK_STATE,
                                     RL_RNN_BACK_PROJECTION, RL_RNN_BACK_SIZES, RL_RNN_BACK_MODE);
    switch (k->out[0]->dtype) {
    case RL_F32: return run_backward<float>(k, l);
    case RL_F64: return run_backward<double>(k, l);
    default: return RL_UNSUPPORTED;
    }
}
