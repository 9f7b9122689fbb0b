/* Between the composites of recurrent layers. */
#ifndef RL_COMPOSITE_RNN_H
#define RL_COMPOSITE_RNN_H
#include "compose.h"
#include "contract/rnn.h"

/* One layer in one direction: the arguments of _rnn_layer. */
typedef struct {
    V input, state, cell; /* input: what the gates are made of */
    V w_ih, w_hh, b_ih, b_hh, projection, sizes;
    int mode;
    bool reverse;
} rnn_layer;
/* results: output, last state, last cell */
void rl_rnn_layer_run(rl_values *g, const rnn_layer *layer, V results[3]);

/* The numbers of an int64 tensor on the CPU as a list. */
V rl_rnn_numbers(rl_values *g, V x);
#endif
