/* Derivatives of recurrent layers. The kernels give what goes step by step; what is a product over all rows
 * is one here: dU = dgates^T h. */
#include "rnn.h"

static V maybe_grad(rl_vjp *g, int result) {
    return rl_vjp_has_grad(g, result) ? rl_vjp_grad(g, result) : NONE;
}
/* what was projected: output gate * tanh(cell) */
static V projected(rl_vjp *g) {
    const int64_t n = SIZE(OUT(4), 1);
    return OP(mul, OP(narrow, OUT(3), INT(1), INT(3 * n), INT(n)), OP(tanh, OUT(4)));
}

FORMULA(_rnn_layer) {
    const int64_t mode = rl_vjp_int(g, RL_RNN_MODE);
    const bool lstm = mode == RL_RNN_LSTM, gated = rl_rnn_saved(mode) > 0;
    V made[RNN_MADE] = {0};
    const V args[] = {G,
                      maybe_grad(g, 1),
                      lstm ? maybe_grad(g, 2) : NONE,
                      gated ? maybe_grad(g, 3) : NONE,
                      lstm ? maybe_grad(g, 4) : NONE,
                      X(RL_RNN_STATE),
                      MAYBE(RL_RNN_CELL),
                      X(RL_RNN_WEIGHT),
                      MAYBE(RL_RNN_PROJECTION),
                      OUT(0),
                      gated ? OUT(3) : NONE,
                      lstm ? OUT(4) : NONE,
                      MAYBE(RL_RNN_SIZES),
                      X(RL_RNN_MODE),
                      X(RL_RNN_REVERSE)};
    if (FAILED) return;
    if (rl_here.grad)
        rl_rnn_steps(g, args, made);
    else
        rl_values_op_all(VALUES, RL_OP__rnn_layer_backward, args, sizeof args / sizeof *args, made, RNN_MADE);
    if (FAILED) return;
    V hidden = mode == RL_RNN_GRU ? made[RNN_BY_HIDDEN] : rl_rnn_rows(g, made[RNN_BY_GATES]);
    TO(RL_RNN_GATES, made[RNN_BY_GATES]);
    TO(RL_RNN_STATE, made[RNN_BY_STATE]);
    TO(RL_RNN_CELL, made[RNN_BY_CELL]);
    TO(RL_RNN_WEIGHT, OP(mm, OP(t, hidden), made[RNN_BEFORE]));
    TO(RL_RNN_BIAS, OP(sum, hidden, INT(0)));
    TO(RL_RNN_PROJECTION, OP(mm, OP(t, made[RNN_BY_PROJECTED]), projected(g)));
}
