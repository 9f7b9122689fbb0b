/* Connectionist temporal classification (Graves et al., 2006), written once over two functions of rows.
 *
 * Note [Lattice]
 * A target of L labels has S = 2 L + 1 states: its labels with a blank before, between and after them. A path
 * takes a step of time in each state; it stays, or goes to the next state, or passes over a blank between
 * labels that differ (`skip`).
 *
 *     state   0      1      2      3      4
 *     label   blank  a      blank  b      blank        alpha[t][s]   log of the sum of all paths that lead to
 * s 0      -      -      0      -    skip    beta[t][s]    ... that lead from s to an end
 *
 * Rows are doubles, whatever the dtype. A row has RL_CTC_PAD numbers before it, -inf, and as many after it,
 * which may become anything: nothing goes back to lower states. Beta is alpha of the target read backward. */
#ifndef RL_KERNELS_SHARED_CTC_H
#define RL_KERNELS_SHARED_CTC_H
#include "kernel_abi/kernel.h"

enum { RL_CTC_PAD = 8 };
/* Both may work on up to RL_CTC_PAD - 1 numbers more. */
typedef struct {
    /* to[s] = log(exp from[s] + exp from[s-1] + exp(from[s-2] + skip[s])) + logs[s] */
    void (*step)(double *to, const double *from, const double *skip, const double *logs, int64_t n);
    void (*powers)(double *x, int64_t n); /* x = exp x */
    double ns;                            /* what a state takes at one step of time */
} rl_ctc_rows;
rl_status rl_ctc_loss(rl_call *k, const rl_ctc_rows *rows);
rl_status rl_ctc_loss_backward(rl_call *k, const rl_ctc_rows *rows);
#endif
