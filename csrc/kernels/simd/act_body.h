/* What the lines of activations call. */
#include "vector_math_body.h"

V_INLINE VF V_NAME(silu_slope)(VF x) {
    VF s = V_NAME(math_sigmoid)(x);
    return v_mul(s, v_fma(x, v_sub(v_set(1.0f), s), v_set(1.0f)));
}
