/* Operators called from C. */
#include "call.h"

static PyObject *run_op(int op, const rl_slot *args, int n, int how) {
    rl_bound b;
    rl_bound_begin(&b, &rl_schemas[op]);
    rl_bound_fill(&b, args, n);
    PyObject *result = rl_dispatcher_call(&b, how);
    rl_bound_end(&b);
    return result;
}
PyObject *rl_op_run(int op, rl_slot *args, int n) {
    return run_op(op, args, n, RL_CALL_NORMAL);
}
PyObject *rl_op_run_inplace(int op, rl_slot *args, int n) {
    return run_op(op, args, n, RL_CALL_INPLACE);
}

PyObject *rl_op_unary(int op, PyObject *x) {
    rl_slot args[1] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)x)->v}};
    return rl_op_run(op, args, 1);
}

PyObject *rl_op_binary(int op, PyObject *a, PyObject *b) {
    rl_slot args[2] = {{.tag = RL_TENSOR, .u.t = &((rl_tensor *)a)->v},
                       {.tag = RL_TENSOR, .u.t = &((rl_tensor *)b)->v}};
    return rl_op_run(op, args, 2);
}
