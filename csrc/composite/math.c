/* What answers with its argument itself, as long as numbers are real. */
#include "compose.h"
#include "core/dtype.h"

COMPOSED(positive) {
    if (rl_value_tensor(X(0))->dtype == RL_BOOL)
        return RAISE(PyExc_RuntimeError, "The `+` operator, on a bool tensor is not supported.");
    return X(0);
}

static V real_itself(rl_values *g, V x, const char *name) {
    if (RL_SET_COMPLEX >> rl_value_tensor(x)->dtype & 1)
        return RAISE(PyExc_NotImplementedError, "\"%s_cpu\" not implemented for '%s'", name,
                     rl_dtype_title(rl_value_tensor(x)->dtype));
    return x;
}
COMPOSED(conj) {
    return real_itself(g, X(0), "conj");
}
COMPOSED(real) {
    return real_itself(g, X(0), "real");
}
COMPOSED(conj_physical) {
    return real_itself(g, X(0), "conj_physical");
}
COMPOSED(resolve_conj) {
    return X(0);
}
COMPOSED(resolve_neg) {
    return X(0);
}
