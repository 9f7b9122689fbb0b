/* Derivatives of recurrent layers. */
#include "vjp.h"
#include "kernel_abi/rnn.h"

/* The results of _rnn_layer_backward. */
enum { RNN_BY_GATES, RNN_BY_HIDDEN, RNN_BY_STATE, RNN_BY_CELL, RNN_BEFORE, RNN_BY_PROJECTED, RNN_MADE };

/* ---- the gradient of a layer, written with public operators: what the kernels do
 * (kernels/shared/rnn.c), a step after the other, for those who differentiate it again. */
static V rnn_rows(rl_vjp *g, V x) {
    if (NDIM(x) == 2) return x;
    int64_t size[2] = {SIZE(x, 0) * SIZE(x, 1), SIZE(x, 2)};
    return OP(reshape, x, INTS(size, 2));
}

typedef struct {
    rl_vjp *g;
    const V *args;
    int64_t mode, steps, units;
    const int64_t *sizes;
    int64_t batch;
    V output, by_output, state, cell; /* rows; state and cell: gradients that go back */
} steps;

static int64_t size_of(const steps *s, int64_t t) {
    return s->sizes ? s->sizes[t] : s->batch;
}
static int64_t first_of(const steps *s, int64_t t) {
    int64_t first = 0;
    if (!s->sizes) return t * s->batch;
    for (int64_t i = 0; i < t; i++) first += s->sizes[i];
    return first;
}
static V part(rl_vjp *g, V x, int64_t dim, int64_t start, int64_t n) {
    return x.tag == RL_NONE ? x : OP(narrow, x, INT(dim), INT(start), INT(n));
}
static V rows_of_step(const steps *s, V x, int64_t t) {
    return part(s->g, x, 0, first_of(s, t), size_of(s, t));
}
/* unit j of the gates that lie side by side */
static V gate(const steps *s, V x, int64_t j) {
    return part(s->g, x, 1, j * s->units, s->units);
}
static V joined(rl_vjp *g, V top, V rest, int64_t n) { /* the rows from n on stay */
    if (FAILED || SIZE(rest, 0) == n) return top;
    return JOIN(top, part(g, rest, 0, n, SIZE(rest, 0) - n), 0);
}
/* the rows of the step before t, or what the layer began with */
static V before(const steps *s, V all, V first, int64_t t) {
    rl_vjp *g = s->g;
    const int64_t last = rl_number(s->args[RL_RNN_BACK_REVERSE]) ? t + 1 : t - 1, n = size_of(s, t);
    if (last < 0 || last >= s->steps) return part(g, first, 0, 0, n);
    const int64_t there = size_of(s, last) < n ? size_of(s, last) : n;
    return joined(g, part(g, all, 0, first_of(s, last), there), part(g, first, 0, 0, n), there);
}
static V plus(rl_vjp *g, V a, V b) {
    return b.tag == RL_NONE ? a : OP(add, a, b);
}
static V through_sigmoid(rl_vjp *g, V grad, V y) {
    return OP(mul, grad, OP(mul, y, OP(rsub, y, NUM(1))));
}
static V through_tanh(rl_vjp *g, V grad, V y) {
    return OP(mul, grad, OP(rsub, OP(mul, y, y), NUM(1)));
}
static V side_by_side(rl_vjp *g, const V *x, int n) {
    rl_view *room[4];
    for (int i = 0; i < n && !FAILED; i++) room[i] = (rl_view *)rl_value_tensor(x[i]);
    return OP(cat, TENSORS(room, n), INT(1));
}

static V lstm_gates(steps *s, int64_t t, V grad) {
    rl_vjp *g = s->g;
    const int64_t n = size_of(s, t);
    V saved = rows_of_step(s, s->args[RL_RNN_BACK_SAVED], t),
      more = rows_of_step(s, s->args[RL_RNN_BY_SAVED], t);
    V cells = s->args[RL_RNN_BACK_CELLS], bent = OP(tanh, rows_of_step(s, cells, t));
    V in = gate(s, saved, 0), forget = gate(s, saved, 1), made = gate(s, saved, 2), out = gate(s, saved, 3);
    V by = OP(add, part(g, s->cell, 0, 0, n), through_tanh(g, OP(mul, grad, out), bent));
    by = plus(g, by, rows_of_step(s, s->args[RL_RNN_BY_CELLS], t));
    V old = before(s, cells, s->args[RL_RNN_BACK_CELL], t);
    const V slopes[4] = {through_sigmoid(g, plus(g, OP(mul, by, made), gate(s, more, 0)), in),
                         through_sigmoid(g, plus(g, OP(mul, by, old), gate(s, more, 1)), forget),
                         through_tanh(g, plus(g, OP(mul, by, in), gate(s, more, 2)), made),
                         through_sigmoid(g, plus(g, OP(mul, grad, bent), gate(s, more, 3)), out)};
    s->cell = joined(g, OP(mul, by, forget), s->cell, n);
    return side_by_side(g, slopes, 4);
}

/* *direct: what goes to the state before without the gates */
static V gru_gates(steps *s, int64_t t, V grad, V *hidden, V *direct) {
    rl_vjp *g = s->g;
    V saved = rows_of_step(s, s->args[RL_RNN_BACK_SAVED], t),
      more = rows_of_step(s, s->args[RL_RNN_BY_SAVED], t);
    V reset = gate(s, saved, 0), update = gate(s, saved, 1), made = gate(s, saved, 2),
      given = gate(s, saved, 3);
    V old = before(s, s->output, s->args[RL_RNN_BACK_STATE], t);
    V slopes[3];
    slopes[2] = through_tanh(g, plus(g, OP(mul, grad, OP(rsub, update, NUM(1))), gate(s, more, 2)), made);
    slopes[0] = through_sigmoid(g, plus(g, OP(mul, slopes[2], given), gate(s, more, 0)), reset);
    slopes[1] = through_sigmoid(g, plus(g, OP(mul, grad, OP(sub, old, made)), gate(s, more, 1)), update);
    V all = side_by_side(g, slopes, 3);
    slopes[2] = plus(g, OP(mul, slopes[2], reset), gate(s, more, 3));
    *hidden = side_by_side(g, slopes, 3);
    *direct = OP(mul, grad, update);
    return all;
}

static V plain_gates(const steps *s, int64_t t, V grad) {
    rl_vjp *g = s->g;
    V y = rows_of_step(s, s->output, t);
    return s->mode == RL_RNN_TANH ? through_tanh(g, grad, y) : OP(mul, grad, OP(gt, y, NUM(0)));
}

/* made[] of one step; those that a mode has none of stay as they are */
static void step(steps *s, int64_t t, V *made) {
    rl_vjp *g = s->g;
    const int64_t n = size_of(s, t);
    V projection = s->args[RL_RNN_BACK_PROJECTION], direct = NONE;
    V grad = OP(add, part(g, s->state, 0, 0, n), rows_of_step(s, s->by_output, t));
    made[RNN_BEFORE] = before(s, s->output, s->args[RL_RNN_BACK_STATE], t);
    if (projection.tag != RL_NONE) {
        made[RNN_BY_PROJECTED] = grad;
        grad = OP(mm, grad, projection);
    }
    V all = s->mode == RL_RNN_LSTM  ? lstm_gates(s, t, grad)
            : s->mode == RL_RNN_GRU ? gru_gates(s, t, grad, &made[RNN_BY_HIDDEN], &direct)
                                    : plain_gates(s, t, grad);
    V back = OP(mm, s->mode == RL_RNN_GRU ? made[RNN_BY_HIDDEN] : all, s->args[RL_RNN_BACK_WEIGHT]);
    made[RNN_BY_GATES] = all;
    s->state = joined(g, plus(g, back, direct), s->state, n);
}

static void steps_run(steps *s, V *made) {
    rl_vjp *g = s->g;
    rl_view **room[RNN_MADE] = {0};
    bool has[RNN_MADE] = {0};
    for (int i = 0; i < RNN_MADE && !FAILED; i++) room[i] = rl_values_room(VALUES, s->steps, sizeof **room);
    const bool reverse = rl_number(s->args[RL_RNN_BACK_REVERSE]);
    for (int64_t i = 0; i < s->steps && !FAILED; i++) {
        const int64_t t = reverse ? i : s->steps - 1 - i;
        V one[RNN_MADE] = {0};
        step(s, t, one);
        for (int j = 0; j < RNN_MADE && !FAILED; j++) {
            room[j][t] = (rl_view *)rl_value_tensor(one[j]);
            has[j] = one[j].tag == RL_TENSOR;
        }
    }
    for (int j = 0; j < RNN_MADE && !FAILED; j++)
        if (has[j]) made[j] = OP(cat, TENSORS(room[j], (int)s->steps), INT(0));
}

/* its arguments, in that order: enum RL_RNN_BY_OUTPUT ... */
static void rnn_steps(rl_vjp *g, const V *args, V *made) {
    V output = args[RL_RNN_BACK_OUTPUT], sizes = args[RL_RNN_BACK_SIZES], weight = args[RL_RNN_BACK_WEIGHT];
    steps s = {.g = g, .args = args, .mode = (int64_t)rl_number(args[RL_RNN_BACK_MODE])};
    s.sizes = rl_value_numbers(&sizes);
    s.steps = sizes.tag == RL_NONE ? SIZE(output, 0) : rl_value_length(sizes);
    s.batch = SIZE(args[RL_RNN_BACK_STATE], 0), s.units = SIZE(weight, 0) / rl_rnn_gates(s.mode);
    s.output = rnn_rows(g, output), s.by_output = rnn_rows(g, args[RL_RNN_BY_OUTPUT]);
    s.state = args[RL_RNN_BY_STATE], s.cell = args[RL_RNN_BY_CELL];
    if (s.state.tag == RL_NONE) s.state = OP(zeros_like, args[RL_RNN_BACK_STATE]);
    if (s.mode == RL_RNN_LSTM && s.cell.tag == RL_NONE) s.cell = OP(zeros_like, args[RL_RNN_BACK_CELL]);
    if (FAILED) return;
    steps_run(&s, made);
    made[RNN_BY_STATE] = s.state, made[RNN_BY_CELL] = s.cell;
    if (FAILED || sizes.tag != RL_NONE) return;
    int64_t size[3] = {s.steps, s.batch, SIZE(weight, 0)};
    made[RNN_BY_GATES] = OP(reshape, made[RNN_BY_GATES], INTS(size, 3));
}

/* ---- recurrent layers ----
 * The kernels give what goes step by step; what is a product over all rows
 * is one here: dU = dgates^T h. */
static V maybe_grad(rl_vjp *g, int result) {
    return rl_vjp_has_grad(g, result) ? rl_vjp_grad(g, result) : NONE;
}
/* what was projected: output gate * tanh(cell) */
static V projected(rl_vjp *g) {
    const int64_t n = SIZE(OUT(4), 1);
    return OP(mul, OP(narrow, OUT(3), INT(1), INT(3 * n), INT(n)), OP(tanh, OUT(4)));
}

VJP(_rnn_layer) {
    const int64_t mode = rl_vjp_int(g, RL_RNN_MODE);
    const bool lstm = mode == RL_RNN_LSTM, gated = rl_rnn_saved(mode) > 0;
    V made[RNN_MADE] = {0};
    const V args[] = {G,
                      maybe_grad(g, 1),
                      lstm ? maybe_grad(g, 2) : NONE,
                      gated ? maybe_grad(g, 3) : NONE,
                      lstm ? maybe_grad(g, 4) : NONE,
                      X(RL_RNN_STATE),
                      MAYBE(RL_RNN_CELL),
                      X(RL_RNN_WEIGHT),
                      MAYBE(RL_RNN_PROJECTION),
                      OUT(0),
                      gated ? OUT(3) : NONE,
                      lstm ? OUT(4) : NONE,
                      MAYBE(RL_RNN_SIZES),
                      X(RL_RNN_MODE),
                      X(RL_RNN_REVERSE)};
    if (FAILED) return;
    if (rl_tls.grad)
        rnn_steps(g, args, made);
    else
        rl_values_op_all(VALUES, RL_OP__rnn_layer_backward, args, sizeof args / sizeof *args, made, RNN_MADE);
    if (FAILED) return;
    V hidden = mode == RL_RNN_GRU ? made[RNN_BY_HIDDEN] : rnn_rows(g, made[RNN_BY_GATES]);
    GRAD_OF(RL_RNN_GATES, made[RNN_BY_GATES]);
    GRAD_OF(RL_RNN_STATE, made[RNN_BY_STATE]);
    GRAD_OF(RL_RNN_CELL, made[RNN_BY_CELL]);
    GRAD_OF(RL_RNN_WEIGHT, OP(mm, OP(t, hidden), made[RNN_BEFORE]));
    GRAD_OF(RL_RNN_BIAS, OP(sum, hidden, INT(0)));
    GRAD_OF(RL_RNN_PROJECTION, OP(mm, OP(t, made[RNN_BY_PROJECTED]), projected(g)));
}
