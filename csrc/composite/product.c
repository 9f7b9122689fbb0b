/* Outer products. */
#include "slots.h"

COMPOSE(outer) {
    for (int i = 0; i < 2; i++)
        if (b->k.arg[i].u.t->ndim != 1) {
            PyErr_Format(PyExc_RuntimeError, "outer: Expected 1-D argument %s, but got %d-D",
                         i ? "vec2" : "self", b->k.arg[i].u.t->ndim);
            return NULL;
        }
    rl_slot args[2] = {b->k.arg[0], int_slot(1)};
    RL_OWNED PyObject *column = rl_op_run(RL_OP_unsqueeze, args, 2);
    return column ? rl_op_binary(RL_OP_mul, column, tensor_of(b, 1)) : NULL;
}

COMPOSE(ger) {
    return compose_outer(b);
}
