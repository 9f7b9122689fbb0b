/* Which function is a composite's. */
#include "composite.h"

#define OP(id, ...)
#define VIEW(id, ...)
#define COMPOSITE(id, ...) PyObject *compose_##id(rl_op_call *b);
#include "ops/declarations/all.def"

static PyObject *(*const composed[RL_OP_COUNT])(rl_op_call *) = {
#define OP(id, ...)
#define VIEW(id, ...)
#define COMPOSITE(id, ...) [RL_OP_##id] = compose_##id,
#include "ops/declarations/all.def"
};

PyObject *rl_composite_run(int op, rl_op_call *b) {
    return composed[op](b);
}
