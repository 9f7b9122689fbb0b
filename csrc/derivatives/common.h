/* What formulas of several families share. */
#ifndef RL_DERIVATIVES_COMMON_H
#define RL_DERIVATIVES_COMMON_H
#include "formula.h"

static inline int64_t rl_dim_wrapped(int64_t d, int64_t n) {
    return d < 0 ? d + n : d;
}

/* The operator of this node once more, with G in the place of its first argument: it is linear in that. */
V rl_vjp_again(rl_vjp *g);
/* G in equal parts to the elements of argument 0 that are result 0, one of them all. */
V rl_vjp_shared(rl_vjp *g);
V rl_vjp_both(rl_vjp *g); /* G times the gradient that came into the operator */
/* Passes G on to the diagonal that lies in argument 0 (derivatives/view.c). */
void rl_vjp_diagonal(rl_vjp *g, int64_t shift, int64_t dim1, int64_t dim2);
#endif
