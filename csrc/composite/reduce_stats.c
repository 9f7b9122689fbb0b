/* Means without NaN. */
#include "compose.h"
#include "core/dtype.h"

COMPOSED(nanmean) {
    V x = X(0);
    if (!rl_is_float(x.u.t->dtype))
        return RAISE(PyExc_RuntimeError,
                     "nanmean(): expected input to have floating point or complex dtype but got %s",
                     rl_dtype_title(x.u.t->dtype));
    V number = OP(sum, OP(logical_not, OP(isnan, OP(alias, x))), X(1), X(2));
    return OP(div, OP(nansum, x, X(1), X(2), X(3)), number);
}
