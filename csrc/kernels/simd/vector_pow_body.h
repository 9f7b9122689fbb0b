/* Powers and division with a rest, on one vector. */
#ifndef RL_KERNELS_SIMD_POW
#define RL_KERNELS_SIMD_POW
#include <math.h>

static __attribute__((noinline, cold)) void fmod_lanes(float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) a[i] = fmodf(a[i], b[i]);
}
#endif

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

/* ---- division with a rest ---- */
/* Below 2^24 the quotient is a whole float, too large by one at most, and the rest is exact. */
V_INLINE VF V_NAME(math_fmod)(VF a, VF b) {
    VF size = v_abs(a), by = v_abs(b), quotient = v_div(size, by);
    VM plain = v_both(v_is_less(quotient, v_set(0x1p24f)), v_is_less(by, v_set(INFINITY)));
    if (__builtin_expect(v_mask_bits(v_not(plain)) != 0, 0)) {
        float left[V_WIDTH], right[V_WIDTH];
        v_store(left, a), v_store(right, b);
        fmod_lanes(left, right, V_WIDTH);
        return v_load(left);
    }
    VF rest = v_fnma(v_trunc(quotient), by, size);
    rest = v_pick(v_is_less(rest, v_zero()), v_add(rest, by), rest);
    return v_or(v_abs(rest), v_sign_of(a));
}

/* where the rest and b differ in sign */
V_INLINE VM V_NAME(rest_is_across)(VF rest, VF b) {
    VF zero = v_zero();
    return v_either(v_both(v_is_less(rest, zero), v_not(v_is_less(b, zero))),
                    v_both(v_is_less(zero, rest), v_is_less(b, zero)));
}

/* Python's: of the sign of b */
V_INLINE VF V_NAME(math_remainder)(VF a, VF b) {
    VF rest = V_NAME(math_fmod)(a, b);
    return v_pick(V_NAME(rest_is_across)(rest, b), v_add(rest, b), rest);
}

/* a == floor_divide(a, b) * b + remainder(a, b) as well as rounding lets it */
V_INLINE VF V_NAME(math_floor_divide)(VF a, VF b) {
    VF rest = V_NAME(math_fmod)(a, b), all = v_div(a, b), one = v_set(1.0f);
    VF q = v_div(v_sub(a, rest), b);
    q = v_pick(V_NAME(rest_is_across)(rest, b), v_sub(q, one), q);
    VF down = v_floor(q);
    down = v_pick(v_is_less(v_set(0.5f), v_sub(q, down)), v_add(down, one), down);
    down = v_pick(v_is_equal(q, v_zero()), v_sign_of(all), down);
    return v_pick(v_is_equal(b, v_zero()), all, down);
}
