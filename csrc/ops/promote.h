/* Which dtype a call computes in and answers with. */
#ifndef RL_OPS_PROMOTE_H
#define RL_OPS_PROMOTE_H
#include "table.h"

/* compute: cast the tensors to it before the kernel, -1 leaves them; out: dtype of the result. */
rl_status rl_types_resolve(const rl_operator *op, const rl_call *k, int *compute, int *out);
int rl_types_common(const rl_value *a, const rl_value *b); /* of two tensors or numbers */
/* The usual call: all its tensors have one floating dtype, the only bit of `dtypes`, and no dtype is asked
 * for. Numbers among them change nothing. Answers as rl_types_resolve does, or false: that must be asked. */
void rl_types_note(rl_operator *op); /* once, of each operator */
static inline bool rl_types_plain(const rl_operator *op, uint64_t dtypes, int *compute, int *out) {
    if (!op->plain || (dtypes & (dtypes - 1)) || !(dtypes & op->dtypes & RL_SET_FLOATS)) return false;
    int dtype = __builtin_ctzll(dtypes);
    *compute = op->plain_casts ? dtype : -1;
    *out = op->plain_out < 0 ? dtype : op->plain_out;
    return true;
}
#endif
