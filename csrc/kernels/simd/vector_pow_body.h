/* Powers, on one vector. */
#include <math.h>

V_INLINE VF V_NAME(math_rsqrt)(VF x) {
    return v_div(v_set(1.0f), v_sqrt(x));
}

/* y log2 (m 2^e), limited to where 2^ is 0 or infinite; the limits leave a NaN alone */
V_INLINE VD V_NAME(pow_log)(VD m, VD e, VD guess, VD y) {
    VD l = vd_mul(y, V_NAME(math_log2_double)(m, e, guess));
    return vd_min(vd_set(160), vd_max(vd_set(-160), l));
}
/* |x|^y unless |x| is 0, infinite or NaN */
V_INLINE VF V_NAME(pow_size)(VF a, VF y) {
    VM small = v_is_less(a, v_set(0x1p-126f));
    a = v_pick(small, v_mul(a, v_set(0x1p24f)), a);
    VI shift = V_NAME(math_exponent)(a);
    VF m = v_from_bits(vi_sub(v_bits(a), vi_left(shift, 23)));
    VF e = v_sub(v_to_float(shift), v_pick(small, v_set(24.0f), v_zero()));
    VF guess = v_div(v_set(1.0f), v_add(m, v_set(1.0f)));
    VD low = V_NAME(pow_log)(v_low(m), v_low(e), v_low(guess), v_low(y));
    VD high = V_NAME(pow_log)(v_high(m), v_high(e), v_high(guess), v_high(y));
    VF n = v_round(v_join(low, high));
    low = V_NAME(math_exp2_double)(vd_sub(low, v_low(n)));
    high = V_NAME(math_exp2_double)(vd_sub(high, v_high(n)));
    return v_scale(v_join(low, high), n);
}

/* with the special cases of C */
V_INLINE VF V_NAME(math_pow)(VF x, VF y) {
    VF a = v_abs(x), zero = v_zero(), one = v_set(1.0f), infinite = v_set(INFINITY);
    VF half = v_mul(y, v_set(0.5f));
    VM whole = v_is_equal(v_trunc(y), y), odd = v_both(whole, v_differs(v_trunc(half), half));
    VM falls = v_is_less(y, zero), is_infinite = v_is_equal(a, infinite);
    VF p = v_pick(v_is_equal(a, one), one, V_NAME(pow_size)(a, y));
    p = v_pick(v_is_equal(a, zero), v_pick(falls, infinite, zero), p);
    p = v_pick(is_infinite, v_pick(falls, zero, infinite), p);
    p = v_xor(p, v_pick(odd, v_sign_of(x), zero));
    VM has_none = v_both(v_is_less(x, zero), v_not(v_either(whole, is_infinite)));
    p = v_pick(v_either(has_none, v_unordered(x, y)), v_set(NAN), p);
    return v_pick(v_either(v_is_equal(x, one), v_is_equal(y, zero)), one, p);
}

/* a * 2^b. By a whole b it is exact where the result is, whatever that power alone would be: in doubles,
 * which hold every product on the way. */
V_INLINE VF V_NAME(math_ldexp)(VF a, VF b) {
    VF one = v_set(1.0f), n = v_min(v_set(300.0f), v_max(v_set(-300.0f), b));
    VF first = v_round(v_mul(n, v_set(0.333f))), second = v_round(v_mul(v_sub(n, first), v_set(0.5f)));
    VF p = v_scale(one, first), q = v_scale(one, second), r = v_scale(one, v_sub(v_sub(n, first), second));
    VD low = vd_mul(vd_mul(vd_mul(v_low(a), v_low(p)), v_low(q)), v_low(r));
    VD high = vd_mul(vd_mul(vd_mul(v_high(a), v_high(p)), v_high(q)), v_high(r));
    return v_pick(v_is_equal(v_trunc(b), b), v_join(low, high), v_mul(a, V_NAME(math_exp2)(b)));
}
