/* Recurrent layers, written once over a few functions of vectors.
 *
 * Note [Steps of a layer]
 * A step adds what the state gives to the gates (U h, this kernel's product) to what the input gave to them
 * (a product of all steps at once, before), and makes the next state of both:
 *
 *     panel of U    [k][gate][lane]       unit `lane` of all gates, so that a tile of the product, a few rows
 *                                         of the batch by one panel, goes from sums to states in registers
 *
 * Nothing flows between rows of a batch: threads share these and go through all steps on their own. A batch
 * of fewer rows than threads is shared by units, step after step, where a step is worth it. A row is added up
 * in one order whatever rows stand beside it.
 *
 * Going backward, the slopes of a step come first, then their product with U, in panels of RL_RNN_WIDE
 * vectors. Rows of steps: Note [Packed rows] in ops/shape/rnn.c. */
#ifndef RL_KERNELS_SHARED_RNN_H
#define RL_KERNELS_SHARED_RNN_H
#include "kernel_abi/kernel.h"
#include "kernel_abi/rnn.h"

enum { RL_RNN_WIDE = 4 }; /* vectors of a panel that has no gates */

/* Rows of one step; all but weights and bias are those of the first row. */
typedef struct {
    int mode;
    int64_t rows, units, depth; /* depth: of the state */
    const void *state, *weights, *bias, *gates;
    void *cell, *hidden;       /* hidden: the new state, before it is projected */
    void *saved, *saved_cells; /* may be NULL */
} rl_rnn_step;

/* c (rows x n) = a (rows x depth) times panels; c is added to where `add` says so */
typedef struct {
    int64_t rows, depth, n;
    const void *a, *weights;
    void *c;
    bool add;
} rl_rnn_gemm;

/* One row of a step backward. */
typedef struct {
    int mode;
    int64_t units;
    const void *grad; /* of the new state, before it is projected */
    const void *saved, *cell,
        *before; /* before: the cell, of a GRU the state; without gates cell is the output */
    const void *more_saved, *more_cell;     /* gradients of what was saved; may be NULL */
    void *gates, *hidden_gates, *by_before; /* by_before: in and out of an LSTM, out of a GRU */
} rl_rnn_slopes;

typedef struct {
    int width, rows; /* lanes of a vector; rows of a batch that a tile has */
    double ns;       /* a multiplication and an addition */
    void (*step)(const rl_rnn_step *s, int64_t p0, int64_t p1); /* panels */
    void (*product)(const rl_rnn_gemm *p, int64_t p0, int64_t p1);
    void (*slopes)(const rl_rnn_slopes *s);
} rl_rnn_ukernel;

rl_status rl_rnn_forward(rl_call *k, const rl_rnn_ukernel *ukernel);
rl_status rl_rnn_backward(rl_call *k, const rl_rnn_ukernel *ukernel);

/* ---- between the two: rnn.c, rnn.c ---- */
typedef struct {
    int mode, item; /* item: bytes of an element */
    bool reverse;
    int64_t steps, batch, units, out;
    int64_t *at; /* the first row of each step, and the end */
} rl_rnn;
/* `rows` has the steps and the batch in front; the others are places of arguments. False without memory. */
bool rl_rnn_read(rl_call *k, rl_rnn *r, const rl_view *rows, int state, int projection, int sizes, int mode);
/* its numbers side by side: where they lie or in scratch; NULL without memory, or without a view */
const char *rl_rnn_dense(rl_call *k, const rl_view *v);
void rl_rnn_fill(char *to, const rl_view *from, int item); /* dense; zeros without a view */
/* The weight as panels; `gates` > 1: a vector of each gate lies in a panel. Kept with the weight. */
typedef struct {
    int64_t units, depth, unit_step, depth_step;
    int gates;
} rl_rnn_panels;
const void *rl_rnn_packed(rl_call *k, const rl_rnn_ukernel *ukernel, const rl_view *w, const rl_rnn_panels *p,
                          int use);
int64_t rl_rnn_panel_count(const rl_rnn_ukernel *ukernel, const rl_rnn_panels *p);

/* body(run, t, rows b0 to b1, panels p0 to p1) of each phase of each step, in the order that `backward` says
 */
typedef void (*rl_rnn_phase)(const void *ctx, int64_t t, int64_t b0, int64_t b1, int64_t p0, int64_t p1);
typedef struct {
    const rl_rnn *r;
    const rl_rnn_ukernel *ukernel;
    const void *ctx;
    bool backward;
    int n;
    struct {
        rl_rnn_phase run;
        int64_t panels;
        double work; /* multiplications of a row of the batch */
    } phase[3];
} rl_rnn_plan;
void rl_rnn_run(rl_call *k, const rl_rnn_plan *plan);
#endif
