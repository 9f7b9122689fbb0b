/* Cells of recurrent nets: one step of a layer. */
#include "core/dtype.h"
#include "rnn.h"

/* (input, hx, w_ih, w_hh, b_ih, b_hh) */
static bool cell_fits(rl_values *g, rl_bound *b, V hx, int number) {
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

static void cell_run(rl_values *g, rl_bound *b, int mode, V state, V cell, V results[3]) {
    rnn_layer one = {.input = OP(unsqueeze, X(0), INT(0)),
                     .state = state,
                     .cell = cell,
                     .w_ih = X(2),
                     .w_hh = X(3),
                     .b_ih = X(4),
                     .b_hh = X(5),
                     .mode = mode};
    if (!FAILED) rl_rnn_layer_run(g, &one, results);
}

static V next_state(rl_values *g, rl_bound *b, int mode) {
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
