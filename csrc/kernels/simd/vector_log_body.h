/* Logarithms and inverse hyperbolic functions on one vector; see vector_exp_body.h, which stands before it.
 *
 * x = 2^k (1 + f), and log x = k log 2 + f + f^2 q(f). The first two terms are summed with the rest of their
 * rounding, to which the small terms are added first. */

/* k and f of a positive normal x; 1 + f lies in [m, 2m), where the bits of m are `least` */
V_INLINE VF V_NAME(math_log_split)(VF x, int least, VI *k) {
    *k = vi_right(vi_sub(v_bits(x), vi_set(least)), 23);
    return v_sub(v_from_bits(vi_sub(v_bits(x), vi_left(*k, 23))), v_set(1.0f));
}

/* log 0 and what has no logarithm; y is right everywhere else; zero: where the pole is */
V_INLINE VF V_NAME(math_log_special)(VF x, float zero, VF y) {
    VF pole = v_pick(v_is_equal(x, v_set(zero)), v_set(-__builtin_inff()), v_set(__builtin_nanf("")));
    y = v_pick(v_is_less(x, v_set(__builtin_inff())), y, x);
    return v_pick(v_is_less(v_set(zero), x), y, pole);
}

/* (log(1 + f) - f) / f^2 to some base: c are its coefficients, the highest power first */
V_INLINE VF V_NAME(math_log_curve)(VF f, const float c[9]) {
    VF q = v_set(c[0]);
    V_UNROLL for (int i = 1; i < 9; i++) q = v_fma(q, f, v_set(c[i]));
    return q;
}

/* Is a lane no positive, normal, finite number? The vectors with one are rare: a branch costs least. */
V_INLINE int V_NAME(math_log_odd)(VF x) {
    VI moved = vi_add(v_bits(x), vi_set(0x7f800000)); /* normal ones are now the lowest integers */
    return v_mask_bits(vi_is_less(vi_set((int)0xfeffffffu), moved)) != 0;
}

/* what tells the bases apart, each in two parts of which the first of two_high is short: log 2 and log e;
 * where the interval of 1 + f begins */
typedef struct {
    float two_high, two_low, e_high, e_low;
    int least;
    float curve[9];
} V_NAME(log_base);

V_INLINE VF V_NAME(math_log_to)(VF x, const V_NAME(log_base) * base) {
    const int odd = V_NAME(math_log_odd)(x);
    VF normal = x, up = v_zero();
    if (__builtin_expect(odd, 0)) {
        VM small = v_is_less(x, v_set(0x1p-126f));
        normal = v_pick(small, v_mul(x, v_set(0x1p24f)), x);
        up = v_pick(small, v_set(24.0f), up);
    }
    VI k;
    VF f = V_NAME(math_log_split)(normal, base->least, &k), n = v_sub(v_to_float(k), up);
    VF two = v_set(base->two_high), e = v_set(base->e_high);
    VF high = v_fma(f, e, v_mul(n, two));
    VF low = v_fma(n, v_set(base->two_low), v_fms(f, e, v_fnma(n, two, high)));
    VF q = v_fma(V_NAME(math_log_curve)(f, base->curve), f, v_set(base->e_low));
    VF y = v_add(high, v_fma(f, q, low));
    return __builtin_expect(odd, 0) ? V_NAME(math_log_special)(x, 0.0f, y) : y;
}

V_INLINE VF V_NAME(math_log)(VF x) {
    static const V_NAME(log_base)
        base = {0x1.62e4p-1f,
                0x1.7f7d1cp-20f,
                1.0f,
                0.0f,
                0x3f2aaaab,
                {-0x1.07ca64p-3f, 0x1.1e6c56p-3f, -0x1.f3307p-4f, 0x1.1ed582p-3f, -0x1.559c74p-3f,
                 0x1.99d04ep-3f, -0x1.fffefap-3f, 0x1.555506p-2f, -0x1p-1f}};
    return V_NAME(math_log_to)(x, &base);
}

V_INLINE VF V_NAME(math_log2)(VF x) {
    static const V_NAME(log_base)
        base = {1.0f,
                0.0f,
                0x1.715476p0f,
                0x1.4ae0c0p-26f,
                0x3f2aaaab,
                {-0x1.7bc5ep-3f, 0x1.9ce01ap-3f, -0x1.68539ap-3f, 0x1.9de55ap-3f, -0x1.ecd0aap-3f,
                 0x1.279d72p-2f, -0x1.7153ep-2f, 0x1.ec703p-2f, -0x1.715476p-1f}};
    return V_NAME(math_log_to)(x, &base);
}

V_INLINE VF V_NAME(math_log10)(VF x) {
    static const V_NAME(log_base)
        base = {0x1.344p-2f,
                0x1.3509f8p-18f,
                0x1.bcb7b2p-2f,
                -0x1.5b235ep-27f,
                0x3f333333,
                {-0x1.288602p-5f, 0x1.d6083p-5f, -0x1.d2faa4p-5f, 0x1.f6c8ecp-5f, -0x1.2794b2p-4f,
                 0x1.63da3ap-4f, -0x1.bcbdf2p-4f, 0x1.287a5ep-3f, -0x1.bcb7acp-3f}};
    return V_NAME(math_log_to)(x, &base);
}

/* log(1 + x) + more log 2 for finite x > -1. Here 1 + f lies in [3/4, 3/2), for which
 * f = x / 2^k - (1 - 1 / 2^k) is exact as long as the terms of 1 + x overlap. */
V_INLINE VF V_NAME(math_log1p_plain)(VF x, VF more) {
    static const float curve[9] = {-0x1.71bf58p-5f, 0x1.ace752p-4f,  -0x1.0d9a56p-3f,
                                   0x1.28826ep-3f,  -0x1.54edd4p-3f, 0x1.996988p-3f,
                                   -0x1.000048p-2f, 0x1.5555a4p-2f,  -0.5f};
    VI k = vi_right(vi_sub(v_bits(v_add(x, v_set(1.0f))), vi_set(0x3f400000)), 23);
    VF s4 = v_from_bits(vi_left(vi_sub(vi_set(129), k), 23)), quarter = v_set(0.25f); /* 4 / 2^k is normal */
    VF f = v_fma(x, v_mul(s4, quarter), v_fms(s4, quarter, v_set(1.0f)));
    VF n = v_add(v_to_float(k), more), two = v_set(0x1.62e4p-1f);
    VF high = v_fma(n, two, f), rest = v_sub(f, v_fnma(n, two, high));
    VF low = v_fma(n, v_set(0x1.7f7d1cp-20f), rest);
    return v_add(high, v_fma(v_mul(f, f), V_NAME(math_log_curve)(f, curve), low));
}

V_INLINE VF V_NAME(math_log1p)(VF x) {
    VF y = v_or(V_NAME(math_log1p_plain)(x, v_zero()), v_sign_of(x));
    const int odd = V_NAME(math_log_odd)(v_add(x, v_set(1.0f)));
    return __builtin_expect(odd, 0) ? V_NAME(math_log_special)(x, -1.0f, y) : y;
}

/* log(1 + u), or log 2a where a is so large that u is a and overflowed on the way */
V_INLINE VF V_NAME(math_log1p_or_twice)(VF u, VF a) {
    VM large = v_is_less(v_set(0x1p30f), a);
    VF y = V_NAME(math_log1p_plain)(v_pick(large, a, u), v_pick(large, v_set(1.0f), v_zero()));
    return v_pick(v_is_less(a, v_set(__builtin_inff())), y, a);
}

V_INLINE VF V_NAME(math_asinh)(VF x) {
    VF one = v_set(1.0f), a = v_abs(x), z = v_mul(a, a);
    VF u = v_add(a, v_div(z, v_add(v_sqrt(v_fma(a, a, one)), one)));
    return v_or(V_NAME(math_log1p_or_twice)(u, a), v_sign_of(x));
}

/* t = x - 1 is exact. Near 1 it is sqrt(2t) times a polynomial. */
V_INLINE VF V_NAME(math_acosh)(VF x) {
    VF one = v_set(1.0f), half = v_set(0.5f), t = v_sub(x, one), twice = v_add(t, t);
    VF q = v_fma(v_set(-0x1.b149c2p-12f), t, v_set(0x1.cd637ep-10f));
    q = v_fma(q, t, v_set(-0x1.6b95ccp-8f));
    q = v_fma(q, t, v_set(0x1.3324f2p-6f));
    q = v_fma(q, t, v_set(-0x1.555536p-4f));
    VM near = v_is_less(t, half);
    VF root = v_sqrt(v_pick(near, twice, v_fma(t, t, twice)));
    VF y = V_NAME(math_log1p_or_twice)(v_add(t, root), x);
    return v_pick(near, v_fma(v_mul(root, t), q, root), y);
}

/* below 1/2 a polynomial; above, log(1 + 2a / (1 - a)) / 2 */
V_INLINE VF V_NAME(math_atanh)(VF x) {
    VF one = v_set(1.0f), a = v_abs(x), z = v_mul(a, a);
    VF q = v_fma(v_set(0x1.6c023cp-3f), z, v_set(0x1.9ee772p-5f));
    q = v_fma(q, z, v_set(0x1.e50768p-4f));
    q = v_fma(q, z, v_set(0x1.233dbcp-3f));
    q = v_fma(q, z, v_set(0x1.99a750p-3f));
    q = v_fma(q, z, v_set(0x1.55553ep-2f));
    VF small = v_fma(v_mul(a, z), q, a), u = v_div(v_add(a, a), v_sub(one, a));
    VF large = v_mul(V_NAME(math_log1p_plain)(u, v_zero()), v_set(0.5f));
    VF pole = v_pick(v_is_equal(a, one), v_set(__builtin_inff()), v_set(__builtin_nanf("")));
    VF y = v_pick(v_is_less(a, one), v_pick(v_is_less(a, v_set(0.5f)), small, large), pole);
    return v_or(y, v_sign_of(x));
}

/* log(e^a + e^b), and the same to base 2 */
V_INLINE VF V_NAME(math_logaddexp)(VF a, VF b) {
    VF most = V_NAME(math_max)(a, b), apart = v_pick(v_is_equal(a, b), v_zero(), v_abs(v_sub(a, b)));
    VF e = V_NAME(math_exp)(v_sub(v_zero(), apart));
    return v_add(most, V_NAME(math_log1p_plain)(e, v_zero()));
}
V_INLINE VF V_NAME(math_logaddexp2)(VF a, VF b) {
    VF most = V_NAME(math_max)(a, b), apart = v_pick(v_is_equal(a, b), v_zero(), v_abs(v_sub(a, b)));
    VF e = V_NAME(math_exp2)(v_sub(v_zero(), apart));
    return v_fma(V_NAME(math_log1p_plain)(e, v_zero()), v_set(0x1.715476p0f), most);
}
