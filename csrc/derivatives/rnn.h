/* The gradient of a recurrent layer as steps of public operators, which can be differentiated again. */
#ifndef RL_DERIVATIVES_RNN_H
#define RL_DERIVATIVES_RNN_H
#include "contract/rnn.h"
#include "formula.h"

/* The results of _rnn_layer_backward. */
enum { RNN_BY_GATES, RNN_BY_HIDDEN, RNN_BY_STATE, RNN_BY_CELL, RNN_BEFORE, RNN_BY_PROJECTED, RNN_MADE };
V rl_rnn_rows(rl_vjp *g, V x); /* (T, B, n) as (T * B, n) */
/* its arguments, in that order: enum RL_RNN_BY_OUTPUT ... */
void rl_rnn_steps(rl_vjp *g, const V *args, V *made);
#endif
