/* Connectionist temporal classification: reductions, lengths in tensors, one example without a batch.
 * Arguments: (log_probs, targets, input_lengths, target_lengths, blank, ...). */
#include "compose.h"
#include "core/dtype.h"
#include <math.h>

enum { MEAN = 1, SUM = 2 };

/* ---- lengths ---- */
/* the numbers of a tensor as a list */
static V lengths_of(rl_values *g, V x, const char *what) {
    RL_HELD held = {.storage = NULL};
    const int dtype = rl_value_tensor(x)->dtype;
    if (rl_is_float(dtype) || dtype == RL_BOOL) return RAISE(PyExc_RuntimeError, "%s must be integral", what);
    if (rl_value_tensor(x)->device == RL_META)
        return RAISE(PyExc_NotImplementedError, "ctc_loss() cannot look at %s on the meta device", what);
    rl_tensor *dense = rl_tensor_new(RL_I64, RL_CPU, 0, rl_value_tensor(x)->shape, rl_value_tensor(x)->ndim);
    rl_values_own_steal(g, (PyObject *)dense);
    FAILED = FAILED || rl_tensor_copy(dense, RL_TENSOR_OF(x.u.t)) < 0 ||
             rl_composite_dense(&held, (PyObject *)dense, RL_I64) < 0;
    if (!FAILED && held.numel > INT32_MAX) RAISE(PyExc_RuntimeError, "%s has too many elements", what);
    int64_t *room = FAILED ? NULL : rl_values_room(g, held.numel, sizeof *room);
    if (!room) return NONE;
    FAILED = rl_composite_numbers(&held, room) < 0;
    return INTS(room, (int)held.numel);
}

static void divisors_fill(const rl_view *v, const int64_t *lengths) {
    RL_RAW;
    int64_t *to = rl_data(v, RL_FRESH);
    for (int64_t i = 0; i < v->numel; i++) to[i] = lengths[i] > 1 ? lengths[i] : 1;
}

/* what the mean divides each loss by: the length of its target, at least 1 */
static V divisors(rl_values *g, const rl_view *like, V lengths) {
    int64_t n = lengths.tag == RL_INTS ? lengths.n : 1; /* one example: its length may be a number */
    rl_tensor *made = rl_tensor_new(RL_I64, RL_CPU, 0, &n, 1);
    rl_tensor *there = rl_tensor_new(RL_I64, like->device, like->device_index, &n, 1);
    rl_values_own_steal(g, (PyObject *)made);
    V v = rl_values_own_steal(g, (PyObject *)there);
    if (FAILED) return NONE;
    divisors_fill(&made->v, lengths.tag == RL_INTS ? lengths.u.ints : &lengths.u.i);
    FAILED = rl_tensor_copy(there, made) < 0;
    return v;
}

/* ---- the loss ---- */
static V ctc(rl_values *g, rl_op_call *b, V times, V lengths) {
    const bool batch = NDIM(X(0)) == 3;
    V logs = batch ? X(0) : OP(unsqueeze, X(0), INT(1)), targets = X(1);
    if (FAILED) return NONE;
    if (rl_value_tensor(targets)->dtype != RL_I64) targets = OP(to_copy, targets, DTYPE(RL_I64), NONE);
    V loss = OP(_ctc_loss, logs, targets, times, lengths, X(4), X(6));
    if (X(6).u.i) loss = OP(where, OP(eq, loss, NUM(INFINITY)), NUM(0), loss);
    if (FAILED) return NONE;
    if (X(5).u.i == SUM) return OP(sum, loss);
    if (X(5).u.i != MEAN) return batch ? loss : OP(squeeze_dim, loss, INT(0));
    return OP(mean, OP(div, loss, divisors(g, loss.u.t, lengths)));
}

COMPOSED(ctc_loss) {
    return ctc(g, b, X(2), X(3));
}
COMPOSED(ctc_loss_tensor) {
    V times = lengths_of(g, X(2), "input_lengths");
    V lengths = FAILED ? NONE : lengths_of(g, X(3), "target_lengths");
    return FAILED ? NONE : ctc(g, b, times, lengths);
}

COMPOSED(_ctc_loss_tensor) { /* (..., zero_infinity) */
    V results[2], times = lengths_of(g, X(2), "input_lengths");
    V lengths = FAILED ? NONE : lengths_of(g, X(3), "target_lengths");
    OPS(results, 2, _ctc_loss, X(0), X(1), times, lengths, X(4), X(5));
    return RESULTS(results[0], results[1]);
}
