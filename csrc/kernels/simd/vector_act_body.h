/* Smooth activations and their slopes on one vector; see vector_exp_body.h and vector_log_body.h. */

/* unit (1 + e^-x), finite for x >= -112 */
V_INLINE VF V_NAME(math_one_and_decay)(VF x, VF magic, VF unit) {
    VF minus = V_NAME(math_within)(v_set(-59.0f), v_xor(v_set(-0.0f), x), v_set(112.0f));
    V_NAME(exp_parts) e = V_NAME(math_exp_parts)(minus, magic);
    VF whole = v_add(e.power, unit), rest = v_sub(unit, v_sub(whole, e.power));
    return v_add(whole, v_fma(e.power, v_add(e.r, V_NAME(math_exp_small)(e)), rest));
}

V_INLINE VF V_NAME(math_sigmoid)(VF x) {
    VF unit = v_set(0x1p-40f);
    return v_div(unit, V_NAME(math_one_and_decay)(x, EXP_MAGIC(-40), unit));
}

/* x / (1 + e^-x); the divisor is infinite where the answer is 0, or NaN for -inf */
V_INLINE VF V_NAME(math_silu)(VF x) {
    VM far = v_is_less(x, v_set(-64.0f));
    VF unit = v_pick(far, v_set(0x1p-40f), v_set(1.0f));
    VF below = V_NAME(math_one_and_decay)(x, v_pick(far, EXP_MAGIC(-40), EXP_MAGIC(0)), unit);
    below = v_pick(v_is_less(x, v_set(-111.0f)), v_set(__builtin_inff()), below);
    return v_div(v_mul(x, unit), below);
}

V_INLINE VF V_NAME(math_decay)(VF x) { /* e^-|x| */
    return V_NAME(math_exp)(v_or(x, v_set(-0.0f)));
}

V_INLINE VF V_NAME(math_log_sigmoid)(VF x) {
    VF e = V_NAME(math_decay)(x);
    return v_sub(v_min(v_zero(), x), V_NAME(math_log1p_plain)(e, v_zero()));
}

/* log(1 + e^x) */
V_INLINE VF V_NAME(math_softplus)(VF x) {
    VF e = V_NAME(math_decay)(x);
    return v_add(v_max(v_zero(), x), V_NAME(math_log1p_plain)(e, v_zero()));
}

/* x tanh(log(1 + e^x)) = x w / (w + 2), w = e^x (e^x + 2), each with the rest of its rounding. Below 0 the
 * power of two of e^x comes last: e^x may be a subnormal number where x e^x is none. */
V_INLINE VF V_NAME(math_mish)(VF x) {
    VF one = v_set(1.0f), two = v_set(2.0f);
    V_NAME(exp_parts)
    e = V_NAME(math_exp_parts)(V_NAME(math_within)(v_set(-112.0f), x, v_set(20.0f)), EXP_MAGIC(0));
    VF p_rest, p = V_NAME(math_exp_pair)(e, &p_rest);
    VM negative = v_is_less(x, v_zero());
    VF power = v_scale(one, e.n), first = v_pick(negative, one, power), last = v_pick(negative, power, one);
    p = v_mul(p, first), p_rest = v_mul(p_rest, first);
    VF grown = v_mul(p, last), more = v_add(grown, two);
    VF more_rest = v_fma(last, p_rest, v_sub(grown, v_sub(more, two)));
    VF top = v_mul(p, more);
    VF top_rest = v_fma(p, more_rest, v_fma(p_rest, more, v_fms(p, more, top)));
    VF w = v_mul(top, last), below = v_add(w, two);
    VF below_rest = v_fma(last, top_rest, v_sub(w, v_sub(below, two)));
    VF part = v_near_reciprocal(below), t = v_mul(top, part);
    VF miss = v_fnma(t, below_rest, v_add(v_fnma(t, below, top), top_rest));
    t = v_fma(miss, part, t);
    t = v_pick(v_is_less(x, v_set(-111.0f)), v_zero(), t); /* -inf times 0 */
    return v_scale(v_mul(x, t), v_pick(negative, e.n, v_zero()));
}

/* s + x s (1 - s), s the sigmoid of x and 1 - s that of -x */
V_INLINE VF V_NAME(math_silu_slope)(VF x) {
    VF one = v_set(1.0f), e = V_NAME(math_decay)(x), part = v_div(one, v_add(one, e));
    VF less = v_mul(e, part);
    VM below = v_is_less(x, v_zero());
    return v_mul(v_pick(below, less, part), v_fma(x, v_pick(below, part, less), one));
}

/* t + x s (1 - t^2), t = w / (w + 2): the second term is 4 x e^x (1 + e^x) / (w + 2)^2 */
V_INLINE VF V_NAME(math_mish_slope)(VF x) {
    VF one = v_set(1.0f), two = v_set(2.0f);
    VF none = v_sub(x, x); /* NaN for infinities, as the formula has it */
    x = V_NAME(math_within)(v_set(-112.0f), x, v_set(20.0f));
    VF e = V_NAME(math_exp)(x), w = v_mul(e, v_add(e, two)), part = v_div(one, v_add(w, two));
    VF rise = v_mul(v_mul(v_mul(x, v_set(4.0f)), v_mul(e, v_add(e, one))), part);
    return v_fma(v_add(w, rise), part, none);
}
