/* Steps of recurrent layers on the device: Note [Steps of a layer] in kernels/shared/rnn.h. */
#ifndef RL_CUDA_RNN_H
#define RL_CUDA_RNN_H
#include "contract/rnn.h"
#include "device.h"
#include "walk.h"

/* The rows of one step, and of the step before it in the order of the layer: Note [Packed rows] in
 * ops/shape/rnn.c. */
typedef struct {
    int mode, gates, saved; /* numbers of a unit and row */
    int64_t units, out;     /* out: of a state, after its projection */
    int64_t first, rows, before, rows_before;
} rnn_step;

typedef struct {
    rnn_step step; /* what all steps have in common */
    int64_t steps, batch;
    const int64_t *sizes; /* of the steps; NULL: all have the batch */
    bool reverse;
} rnn_layer;

/* `rows` has the steps and the batch in front; `state` is followed by cell and weight */
static inline rnn_layer rnn_layer_of(const rl_call *k, const rl_view *rows, int state, int projection,
                                     int sizes, int mode) {
    const rl_view *narrow = rl_in(k, projection);
    const bool is_packed = k->arg[sizes].tag != RL_NONE;
    rnn_layer l = rnn_layer();
    l.step.mode = (int)rl_int(k, mode);
    l.step.gates = rl_rnn_gates(l.step.mode);
    l.step.saved = rl_rnn_saved(l.step.mode);
    l.step.units = rl_in(k, state + 2)->shape[0] / l.step.gates;
    l.step.out = narrow ? narrow->shape[0] : l.step.units;
    l.reverse = rl_int(k, mode + 1) != 0;
    l.batch = rl_in(k, state)->shape[0];
    l.steps = is_packed ? rl_ints_of(k, sizes).n : rows->shape[0];
    l.sizes = is_packed ? rl_ints_of(k, sizes).at : nullptr;
    return l;
}
static inline int64_t rnn_rows_of(const rnn_layer &l, int64_t t) {
    return t < 0 || t >= l.steps ? 0 : l.sizes ? l.sizes[t] : l.batch;
}

/* body(step) for each step that has rows, from the first or, going back, from the last */
template <class Body> static void rnn_each_step(const rnn_layer &l, bool is_back, Body body) {
    const bool descends = is_back != l.reverse;
    int64_t end = 0;
    for (int64_t t = 0; t < l.steps; t++) end += rnn_rows_of(l, t);
    int64_t first = descends ? end : 0;
    for (int64_t i = 0; i < l.steps; i++) {
        const int64_t t = descends ? l.steps - 1 - i : i;
        rnn_step s = l.step;
        s.rows = rnn_rows_of(l, t);
        if (descends) first -= s.rows;
        s.first = first;
        s.rows_before = rnn_rows_of(l, l.reverse ? t + 1 : t - 1);
        s.before = l.reverse ? first + s.rows : first - s.rows_before;
        if (s.rows) body(s);
        if (!descends) first += s.rows;
    }
}

/* c (rows x n) = a (rows x depth) times w, or is added to; w: element (d, j) at d * w_depth + j * w_column */
typedef struct {
    int64_t rows, depth, n, w_depth, w_column;
    bool adds;
} rnn_product;
template <class E>
__global__ void __launch_bounds__(CUDA_THREADS) rnn_multiply(rnn_product p, const E *a, const E *w, E *c) {
    CUDA_EACH_OF(i, p.rows * p.n) {
        const int64_t row = i / p.n, j = i - row * p.n;
        E sum = p.adds ? c[i] : (E)0;
        for (int64_t d = 0; d < p.depth; d++) sum += a[row * p.depth + d] * w[d * p.w_depth + j * p.w_column];
        c[i] = sum;
    }
}
#endif
