/* What the operators of recurrent layers and their kernels call each other's modes and arguments. */
#ifndef RL_KERNEL_ABI_RNN_H
#define RL_KERNEL_ABI_RNN_H
#include <stdint.h>

enum { RL_RNN_TANH, RL_RNN_RELU, RL_RNN_GRU, RL_RNN_LSTM };
enum {
    RL_RNN_GATES, /* what the inputs of all steps give to the gates */
    RL_RNN_STATE,
    RL_RNN_CELL,
    RL_RNN_WEIGHT,
    RL_RNN_BIAS,
    RL_RNN_PROJECTION,
    RL_RNN_SIZES,
    RL_RNN_MODE,
    RL_RNN_REVERSE,
    RL_RNN_KEEP /* what the gradient needs */
};
/* ... of the gradient operator */
enum {
    RL_RNN_BY_OUTPUT,
    RL_RNN_BY_STATE,
    RL_RNN_BY_CELL,
    RL_RNN_BY_SAVED,
    RL_RNN_BY_CELLS,
    RL_RNN_BACK_STATE,
    RL_RNN_BACK_CELL,
    RL_RNN_BACK_WEIGHT,
    RL_RNN_BACK_PROJECTION,
    RL_RNN_BACK_OUTPUT,
    RL_RNN_BACK_SAVED,
    RL_RNN_BACK_CELLS,
    RL_RNN_BACK_SIZES,
    RL_RNN_BACK_MODE,
    RL_RNN_BACK_REVERSE
};

/* blocks of as many rows of a weight as there are units */
static inline int rl_rnn_gates(int64_t mode) {
    return mode == RL_RNN_LSTM ? 4 : mode == RL_RNN_GRU ? 3 : 1;
}
/* numbers of each unit and step that the gradient needs: input, forget, cell and output gate of an LSTM; of a
 * GRU reset, update and new gate, and what the state gives to the last */
static inline int rl_rnn_saved(int64_t mode) {
    return mode == RL_RNN_LSTM || mode == RL_RNN_GRU ? 4 : 0;
}
#endif
