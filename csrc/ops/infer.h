/* What an operator would answer, found without running it and without Python. */
#ifndef RL_OPS_INFER_H
#define RL_OPS_INFER_H
#include "schema.h"

/* Fills the dims, dtype and device of the results of `op`, which are n_out views whose storages stay as
 * they are; give their dims back with rl_view_clear. `args` are in the schema's order, RL_NONE where the
 * default counts; their tensors need no memory. RL_FAIL: the pending error has PyTorch's text.
 * RL_UNSUPPORTED: a composite, whose answer is known only by running what it is made of. */
rl_status rl_infer(int op, const rl_value *args, rl_view *results);
#endif
