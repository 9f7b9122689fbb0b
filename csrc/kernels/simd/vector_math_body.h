/* Elementary functions on one vector. The coefficients are weighted least-maximum fits in float32;
 * errors against libm in double: exp 1.1, tanh 1.4, sigmoid 2.5 units in the last place. */

/* e^x = 2^n e^r with |r| <= ln 2 / 2. 2^n goes on in two halves, so that the answer may be subnormal. */
V_INLINE VF V_NAME(math_exp)(VF x) {
    x = v_min(v_set(89.0f), v_max(v_set(-104.0f), x)); /* a NaN is the second operand and stays */
    VI n = v_to_int(v_mul(x, v_set(1.44269504f)));
    VF nf = v_to_float(n);
    VF r = v_fnma(nf, v_set(0x1.62e4p-1f), x);
    r = v_fnma(nf, v_set(0x1.7f7d1cp-20f), r);
    VF q = v_fma(v_set(0x1.6db47ep-10f), r, v_set(0x1.123b92p-7f));
    q = v_fma(q, r, v_set(0x1.55545ep-5f));
    q = v_fma(q, r, v_set(0x1.55548ep-3f));
    q = v_fma(q, r, v_set(0.5f));
    VF p = v_add(v_fma(v_mul(r, r), q, r), v_set(1.0f));
    VI half = vi_right(n, 1), bias = vi_set(127);
    p = v_mul(p, v_from_bits(vi_left(vi_add(half, bias), 23)));
    return v_mul(p, v_from_bits(vi_left(vi_add(vi_sub(n, half), bias), 23)));
}

V_INLINE VF V_NAME(math_tanh)(VF x) {
    VI sign = vi_and(v_bits(x), vi_set((int)0x80000000u));
    VF a = v_from_bits(vi_xor(v_bits(x), sign)), z = v_mul(a, a);
    VF q = v_fma(v_set(-0.005717042367905378f), z, v_set(0.020650584250688553f));
    q = v_fma(q, z, v_set(-0.05374349653720856f));
    q = v_fma(q, z, v_set(0.13331490755081177f));
    q = v_fma(q, z, v_set(-0.3333328366279602f));
    VF small = v_fma(v_mul(a, z), q, a);
    VF e = V_NAME(math_exp)(v_add(a, a));
    VF large = v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
    VF t = v_pick(v_is_less(a, v_set(0.625f)), small, large);
    return v_from_bits(vi_or(v_bits(t), sign));
}

V_INLINE VF V_NAME(math_sigmoid)(VF x) {
    return v_div(v_set(1.0f), v_add(v_set(1.0f), V_NAME(math_exp)(v_sub(v_zero(), x))));
}

/* The larger; a NaN on either side wins. */
V_INLINE VF V_NAME(math_max)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b));
}
V_INLINE VF V_NAME(math_min)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_min(a, b));
}

#include "vector_double_body.h"

#include "vector_trig_body.h"

#include "vector_erf_body.h"

#include "vector_pow_body.h"
