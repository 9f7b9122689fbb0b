/* Powers that are computed in float64 whatever comes in. */
#include "compose.h"
#include "core/dtype.h"

static V wide(rl_values *g, V x) {
    if (x.tag != RL_TENSOR) return NUM(rl_number(x));
    return rl_value_tensor(x)->dtype == RL_F64 ? x : OP(to_copy, x, DTYPE(RL_F64), NONE);
}

static bool refuses(rl_values *g, const char *what, const char *name, int dtype) {
    if (dtype == RL_F64) return false;
    RAISE(PyExc_RuntimeError,
          "the %s given to %s has dtype %s but the operation's result requires dtype Double", what, name,
          rl_dtype_title(dtype));
    return true;
}
static bool refuses_out(rl_values *g, const rl_op_call *b) {
    return b->out && refuses(g, "output", "float_power", ((rl_tensor *)b->out)->v.dtype);
}

COMPOSED(float_power) {
    if (refuses_out(g, b)) return NONE;
    return OP(pow, wide(g, X(0)), wide(g, X(1)));
}
COMPOSED(float_power_number) {
    if (refuses_out(g, b)) return NONE;
    return OP(pow_number, wide(g, X(0)), wide(g, X(1)));
}
COMPOSED(float_power_) {
    if (refuses(g, "base", "float_power_", rl_value_tensor(X(0))->dtype)) return NONE;
    return IN_PLACE(pow, X(0), wide(g, X(1)));
}
