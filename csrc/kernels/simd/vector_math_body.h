/* Elementary functions on one vector. */

/* The larger; a NaN on either side wins. */
V_INLINE VF V_NAME(math_max)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b));
}

#include "vector_exp_body.h"

#include "vector_log_body.h"

#include "vector_act_body.h"

#include "vector_double_body.h"

#include "vector_trig_body.h"

#include "vector_erf_body.h"

#include "vector_pow_body.h"
