/* Results in channels-last (NHWC) memory format. */
#ifndef RL_OPS_FORMAT_H
#define RL_OPS_FORMAT_H
#include "table.h"

void rl_format_take(const rl_operator *op, rl_call *k);
/* the shape rule, then the memory format: Note [Channels last] */
static inline rl_status rl_format_shape(const rl_operator *op, rl_call *k) {
    rl_status status = op->shape(k);
    if (RL_UNLIKELY(op->format_of) && status == RL_OK) rl_format_take(op, k);
    return status;
}
/* does the call's first result lie so? */
static inline bool rl_format_taken(const rl_operator *op, const rl_call *k) {
    return RL_UNLIKELY(op->format_of) && !rl_is_contiguous(k->out[0]);
}
/* Runs the operator's ordinary kernels, by `run`, on contiguous copies of what lies otherwise. */
typedef rl_status (*rl_run_fn)(const rl_operator *op, rl_call *k, int device);
rl_status rl_format_contiguous(const rl_operator *op, rl_call *k, rl_run_fn run);
#endif
