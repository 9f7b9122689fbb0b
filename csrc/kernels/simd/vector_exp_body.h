/* Exponentials and hyperbolic functions on one vector. Polynomials are weighted least-maximum fits whose
 * coefficients were rounded to float32 one after the other. Errors over every float: tests/ulp/results.txt.
 *
 * A product that is added to something is always written as v_fma: what compilers would fuse on their own
 * must not change what a rest of a rounding is. */

/* x = n ln 2 + r + rest, n whole, |r| <= ln 2 / 2; |x| <= 200 */
typedef struct {
    VF n, r, rest;
    VF power; /* 2^n unit, unless that is too small or large */
} V_NAME(exp_parts);

/* a sum with it is rounded to a whole number n, and the lower bits are the exponent of 2^n unit */
#define EXP_MAGIC(log_unit) v_set(0x1.8p23f + 127 + (log_unit))

V_INLINE V_NAME(exp_parts) V_NAME(math_exp_parts)(VF x, VF magic) {
    V_NAME(exp_parts) e;
    VF sum = v_fma(x, v_set(0x1.715476p0f), magic);
    e.n = v_sub(sum, magic);
    e.power = v_from_bits(vi_left(v_bits(sum), 23));
    VF most = v_fnma(e.n, v_set(0x1.62e4p-1f), x); /* exact: the constant has 15 bits */
    e.r = v_fnma(e.n, v_set(0x1.7f7d1cp-20f), most);
    e.rest = v_fnma(e.n, v_set(0x1.7f7d1cp-20f), v_sub(most, e.r));
    return e;
}

/* e^(x less n ln 2), in (0.7, 1.42) */
V_INLINE VF V_NAME(math_exp_mantissa)(VF x, VF *n) {
    V_NAME(exp_parts) e = V_NAME(math_exp_parts)(x, EXP_MAGIC(0));
    VF q = v_fma(v_set(0x1.6d75dcp-10f), e.r, v_set(0x1.123ae2p-7f));
    q = v_fma(q, e.r, v_set(0x1.5554c4p-5f));
    q = v_fma(q, e.r, v_set(0x1.555490p-3f));
    q = v_fma(q, e.r, v_set(0.5f));
    q = v_fma(q, e.r, v_set(1.0f));
    *n = e.n;
    return v_fma(q, e.r, v_set(1.0f));
}

/* limits that leave a NaN alone: it is the second operand */
V_INLINE VF V_NAME(math_within)(VF low, VF x, VF high) {
    return v_min(high, v_max(low, x));
}

V_INLINE VF V_NAME(math_exp)(VF x) {
    VF n, p = V_NAME(math_exp_mantissa)(V_NAME(math_within)(v_set(-105.0f), x, v_set(89.0f)), &n);
    return v_scale(p, n);
}

/* e^x for x below 80, where answers below the normal numbers are 0: subnormal ones cost a hundred times as
 * much, and masks of -inf are common */
V_INLINE VF V_NAME(exp_normal)(VF x) {
    const VF least = v_set(-87.3f);
    VF n, p = V_NAME(math_exp_mantissa)(v_max(least, x), &n);
    return v_pick(v_is_less(x, least), v_zero(), v_scale(p, n));
}

V_INLINE VF V_NAME(math_exp2)(VF x) {
    const VF magic = v_set(0x1.8p23f);
    x = V_NAME(math_within)(v_set(-151.0f), x, v_set(129.0f));
    VF n = v_sub(v_add(x, magic), magic), r = v_sub(x, n);
    VF q = v_fma(v_set(0x1.4447b8p-13f), r, v_set(0x1.5f0960p-10f));
    q = v_fma(q, r, v_set(0x1.3b2a28p-7f));
    q = v_fma(q, r, v_set(0x1.c6af7ap-5f));
    q = v_fma(q, r, v_set(0x1.ebfbe0p-3f));
    q = v_fma(q, r, v_set(0x1.62e430p-1f));
    return v_scale(v_fma(q, r, v_set(1.0f)), n);
}

/* e^r - 1 - r, with what the reduction left */
V_INLINE VF V_NAME(math_exp_small)(V_NAME(exp_parts) e) {
    VF q = v_fma(v_set(0x1.a23eccp-13f), e.r, v_set(0x1.6d4d1ep-10f));
    q = v_fma(q, e.r, v_set(0x1.111006p-7f));
    q = v_fma(q, e.r, v_set(0x1.5554e8p-5f));
    q = v_fma(q, e.r, v_set(0x1.555556p-3f));
    q = v_fma(q, e.r, v_set(0x1p-1f));
    return v_fma(v_mul(e.r, e.r), q, e.rest);
}

/* e^x - 1 = s r + s - 1 + s (e^r - 1 - r) with s = 2^n: the first three as a sum and its rest, to which the
 * small term comes. All is scaled by `unit`. From n = 25 on s - 1 loses its 1, unless that is to be kept. */
V_INLINE VF V_NAME(math_expm1_parts)(VF x, VF magic, VF unit, bool keep_one, VF *low) {
    V_NAME(exp_parts) e = V_NAME(math_exp_parts)(x, magic);
    VF s = e.power, whole = v_sub(s, unit);
    VF high = v_fma(s, e.r, whole), rest = v_fms(s, e.r, v_sub(high, whole));
    if (keep_one) rest = v_add(rest, v_sub(v_sub(s, whole), unit));
    *low = v_fma(s, V_NAME(math_exp_small)(e), rest);
    return high;
}

V_INLINE VF V_NAME(math_expm1)(VF x) {
    VF within = V_NAME(math_within)(v_set(-20.0f), x, v_set(89.0f)), low;
    VF high = V_NAME(math_expm1_parts)(within, EXP_MAGIC(-1), v_set(0.5f), true, &low);
    high = v_add(high, low);
    return v_pick(v_is_less(v_abs(x), v_set(0x1p-25f)), x, v_add(high, high));
}

/* tanh a is a + a^3 P(a^2) below 1, and 1 - 2 / (1 + e^2a) above, where what is subtracted is so small that
 * it needs no rest. Half of e^2r is a polynomial of r; times 2^n it is rounded together with the sum. */
V_INLINE VF V_NAME(math_tanh)(VF x) {
    VF a = v_min(v_set(10.0f), v_abs(x)), z = v_mul(a, a), one = v_set(1.0f), half = v_set(0.5f);
    VF p = v_fma(v_set(-0x1.77d4b6p-12f), z, v_set(0x1.2da29ap-9f));
    p = v_fma(p, z, v_set(-0x1.04608cp-7f));
    p = v_fma(p, z, v_set(0x1.6009c4p-6f));
    p = v_fma(p, z, v_set(-0x1.b9623cp-5f));
    p = v_fma(p, z, v_set(0x1.110be4p-3f));
    p = v_fma(p, z, v_set(-0x1.55553cp-2f));
    VF near = v_fma(v_mul(a, z), p, a);
    VF sum = v_fma(a, v_set(0x1.715476p1f), EXP_MAGIC(0)), power = v_from_bits(vi_left(v_bits(sum), 23));
    VF r = v_fnma(v_sub(sum, EXP_MAGIC(0)), v_set(0x1.62e43p-2f), a);
    VF q = v_fma(v_set(0x1.6a4f14p-5f), r, v_set(0x1.12397ep-3f));
    q = v_fma(q, r, v_set(0x1.5558aep-2f));
    q = v_fma(q, r, v_set(0x1.555492p-1f));
    q = v_fma(q, r, v_set(0x1.fffffcp-1f));
    q = v_fma(v_fma(q, r, one), r, half);
    VF below = v_fma(q, power, half), part = v_near_reciprocal(below);
    part = v_fma(v_fnma(part, below, one), part, part);
    VF far = v_sub(one, part);
    return v_or(v_pick(v_is_less(a, one), near, far), v_sign_of(x));
}

/* e^r as a sum and its rest */
V_INLINE VF V_NAME(math_exp_pair)(V_NAME(exp_parts) e, VF *rest) {
    VF one = v_set(1.0f), near = v_add(e.r, one);
    VF small = v_add(v_sub(e.r, v_sub(near, one)), V_NAME(math_exp_small)(e));
    VF p = v_add(near, small);
    *rest = v_sub(small, v_sub(p, near));
    return p;
}

/* e^|x| / 4 and its rest; twice that is infinite where sinh and cosh are */
V_INLINE VF V_NAME(math_exp_quarter)(VF x, VF *rest) {
    V_NAME(exp_parts) e = V_NAME(math_exp_parts)(v_min(v_set(89.5f), v_abs(x)), EXP_MAGIC(-2));
    VF p_rest, p = V_NAME(math_exp_pair)(e, &p_rest);
    *rest = v_mul(p_rest, e.power);
    return v_mul(p, e.power);
}

V_INLINE VF V_NAME(math_sinh)(VF x) {
    VF rest, h = V_NAME(math_exp_quarter)(x, &rest), a = v_abs(x), z = v_mul(x, x);
    VF large = v_sub(h, v_sub(v_div(v_set(0x1p-4f), h), rest));
    VF q = v_fma(v_set(0x1.756c1ep-19f), z, v_set(0x1.a022bcp-13f));
    q = v_fma(q, z, v_set(0x1.1110e0p-7f));
    q = v_fma(q, z, v_set(0x1.555556p-3f));
    VF small = v_fma(v_mul(a, z), q, a);
    return v_or(v_pick(v_is_less(a, v_set(1.0f)), small, v_add(large, large)), v_sign_of(x));
}

V_INLINE VF V_NAME(math_cosh)(VF x) {
    VF rest, h = V_NAME(math_exp_quarter)(x, &rest);
    h = v_add(h, v_add(v_div(v_set(0x1p-4f), h), rest));
    return v_add(h, h);
}
