/* What a reduction took together, for the families whose operators reduce. */
#ifndef RL_DERIVATIVES_REDUCE_H
#define RL_DERIVATIVES_REDUCE_H
#include "formula.h"

/* What a reduction of argument 0 took together: dims as a mask and as a list, and how many elements. */
typedef struct {
    uint64_t mask;
    int64_t dims[RL_MAX_DIMS];
    int n;
    double count;
    bool kept;
} rl_span;

rl_span rl_span_of(rl_vjp *g, int dim_arg, bool kept);
/* a reduced tensor with its lost dims as 1 */
V rl_span_restored(rl_vjp *g, const rl_span *s, V x);
V rl_span_dims(const rl_span *s);
#endif
