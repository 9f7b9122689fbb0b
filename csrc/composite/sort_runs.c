/* Runs of equal elements. */
#include "slots.h"
#include "contract/half.h"
#include "core/error.h"

/* How many begin in the first n elements; their places to `to`, which has room for `most` of them, unless that
 * is NULL. */
#define RUNS(T, VALUE)                                                                                       \
    for (int64_t i = 1; i < n && found < most; i++) {                                                        \
        if (VALUE(((const T *)data)[i]) == VALUE(((const T *)data)[i - 1])) continue;                        \
        if (to) to[found] = i;                                                                               \
        found++;                                                                                             \
    }                                                                                                        \
    break;
#define SAME(x) (x)
static int64_t runs_find(int dtype, const void *data, int64_t n, int64_t most, int64_t *to) {
    int64_t found = n && most ? 1 : 0;
    if (found && to) to[0] = 0;
    switch (dtype) {
    case RL_F32: RUNS(float, SAME)
    case RL_F64: RUNS(double, SAME)
    case RL_F16: RUNS(rl_half, rl_from_half)
    case RL_BF16: RUNS(rl_bfloat, rl_from_bfloat)
    case RL_I64: RUNS(int64_t, SAME)
    case RL_I32: RUNS(int32_t, SAME)
    case RL_I16: RUNS(int16_t, SAME)
    default: RUNS(uint8_t, SAME)
    }
    return found;
}

static int64_t runs_count(const rl_view *v) {
    RL_RAW;
    return runs_find(v->dtype, rl_const_data(v), v->numel, v->numel, NULL);
}

static void runs_fill(const rl_view *v, const rl_view *starts) {
    RL_RAW;
    int64_t *to = rl_data(starts, RL_FRESH);
    int64_t found = runs_find(v->dtype, rl_const_data(v), v->numel, starts->numel, to);
    while (found < starts->numel) to[found++] = 0; /* somebody wrote in between */
}

COMPOSE(run_starts) {
    const rl_view *x = view_of(tensor_of(b, 0));
    if (x->ndim != 1 || x->device != RL_CPU || rl_is_converted(x->dtype)) {
        PyErr_SetString(PyExc_RuntimeError, "runs of equal elements are found in vectors on the CPU");
        return NULL;
    }
    rl_slot args[1] = {tensor_slot(tensor_of(b, 0))};
    RL_OWNED PyObject *dense = rl_op_run(RL_OP_contiguous, args, 1);
    RL_HELD v = {.storage = NULL};
    if (!dense || rl_composite_dense(&v, dense, view_of(dense)->dtype) < 0) return NULL;
    const int64_t count = runs_count(&v);
    rl_tensor *starts = rl_tensor_new(RL_I64, RL_CPU, 0, &count, 1);
    if (starts) runs_fill(&v, &starts->v);
    return (PyObject *)starts;
}
