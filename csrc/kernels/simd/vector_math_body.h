/* Elementary functions on one vector. */

/* The larger; a NaN on either side wins. */
V_INLINE VF V_NAME(math_max)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b));
}

/* The float next to a, towards b: one step of the bits, which count the size of either sign up. */
V_INLINE VF V_NAME(math_next)(VF a, VF b) {
    VM rises = v_is_less(a, b), above = v_is_less(v_zero(), a);
    VM larger = v_either(v_both(rises, above), v_not(v_either(rises, above)));
    VF up = v_from_bits(vi_add(v_bits(a), vi_set(1))), down = v_from_bits(vi_sub(v_bits(a), vi_set(1)));
    VF least = v_or(v_from_bits(vi_set(1)), v_sign_of(b));
    VF next = v_pick(v_is_equal(a, v_zero()), least, v_pick(larger, up, down));
    next = v_pick(v_unordered(a, a), a, next);
    return v_pick(v_either(v_is_equal(a, b), v_unordered(b, b)), b, next);
}

#include "vector_exp_body.h"

#include "vector_log_body.h"

#include "vector_act_body.h"

#include "vector_double_body.h"

#include "vector_trig_body.h"

#include "vector_erf_body.h"

#include "vector_pow_body.h"
