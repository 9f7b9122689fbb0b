/* What the derivatives of matrices share. */
#ifndef RL_DERIVATIVES_LINALG_H
#define RL_DERIVATIVES_LINALG_H
#include "formula.h"

#define TURN(x) OP(transpose, x, INT(-2), INT(-1))
/* X with T X == B (left) or X T == B */
#define TRIANGLE(t, b, upper, left, unit)                                                                    \
    OP(linalg_solve_triangular, t, b, TRUTH(upper), TRUTH(left), TRUTH(unit))
static inline V rl_matrix_columns(rl_vjp *g, V x, int64_t from, int64_t n) {
    return OP(narrow, x, INT(-1), INT(from), INT(n));
}
static inline V rl_matrix_rows(rl_vjp *g, V x, int64_t from, int64_t n) {
    return OP(narrow, x, INT(-2), INT(from), INT(n));
}
static inline V rl_matrix_identity(rl_vjp *g, V like) { /* of the dims of a batch of square matrices */
    return OP(triu, OP(tril, OP(ones_like, like)));
}
/* x or y, which may be absent */
static inline V rl_matrix_sum(rl_vjp *g, V x, V y) {
    return x.tag != RL_TENSOR ? y : y.tag != RL_TENSOR ? x : OP(add, x, y);
}
/* Is the gradient itself going to be differentiated? Then what only the call kept is found again. */
static inline bool rl_matrix_again(void) {
    return rl_here.grad;
}
#endif
