/* Recurrent layers forward: a launch for each step, in which a warp makes one unit of one row. */
#include "moves.h"
#include "reduce.h"
#include "rnn.h"

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

template <class E> static rl_status read(rl_call *k, const rnn_layer &l, forward<E> *f) {
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
        const rnn_product p = {s.rows, s.units, s.out, f.narrow_depth, f.narrow_unit, false};
        CUDA_LAUNCH(rnn_multiply<E>, cuda_blocks_of(s.rows * s.out), CUDA_THREADS, stream, p,
                    (const E *)f.hidden, f.projection, output);
    }
    cudaMemcpyAsync(f.last, output, (size_t)(s.rows * s.out) * sizeof(E), cudaMemcpyDeviceToDevice, stream);
}

template <class E> static rl_status run(rl_call *k, const rnn_layer &l) {
    forward<E> f;
    if (rl_cuda_begin(k, k->out[0]) != RL_OK || start(k, 1, RL_RNN_STATE) != RL_OK) return RL_FAIL;
    if (l.step.mode == RL_RNN_LSTM && start(k, 2, RL_RNN_CELL) != RL_OK) return RL_FAIL;
    if (rl_in(k, RL_RNN_GATES)->numel == 0) return RL_OK;
    if (read(k, l, &f) != RL_OK) return RL_FAIL;
    rnn_each_step(l, false, [&](const rnn_step &s) { launch_step(s, f, (cudaStream_t)k->stream); });
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_rnn_layer) {
    const rnn_layer l =
        rnn_layer_of(k, rl_in(k, RL_RNN_GATES), RL_RNN_STATE, RL_RNN_PROJECTION, RL_RNN_SIZES, RL_RNN_MODE);
    switch (k->out[0]->dtype) {
    case RL_F32: return run<float>(k, l);
    case RL_F64: return run<double>(k, l);
    default: return RL_UNSUPPORTED;
    }
}
