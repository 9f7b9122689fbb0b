/* Arithmetic, comparisons and logic. Note [Elementwise ops] */
V_PART(EVERY, add, 0.2, 2, KEEP, v_add(a, b), a + b, a | b)
V_PART(EVERY, axpy, 0.2, 2, KEEP, v_fma(b, s0, a), a + s0 * b, a | (s0 != 0 && b))
V_PART(NUMBERS, sub, 0.2, 2, KEEP, v_sub(a, b), a - b)
V_PART(FLOATS, div, 0.2, 2, KEEP, v_div(a, b))
V_EVERY(mul, 0.2, 2, KEEP, (), v_mul(a, b), a *b, a &b)
V_EVERY(maximum, 0.2, 2, KEEP, (), v_select(v_unordered(a, b), v_add(a, b), v_max(a, b)), a > b ? a : b,
        a | b)
V_EVERY(minimum, 0.2, 2, KEEP, (), v_select(v_unordered(a, b), v_add(a, b), v_min(a, b)), a < b ? a : b, a &b)

/* a number wins against NaN */
V_EVERY(fmax, 0.2, 2, KEEP, (), v_select(v_unordered(a, a), b, v_select(v_unordered(b, b), a, v_max(a, b))),
        a > b ? a : b, a | b)
V_EVERY(fmin, 0.2, 2, KEEP, (), v_select(v_unordered(a, a), b, v_select(v_unordered(b, b), a, v_min(a, b))),
        a < b ? a : b, a &b)
V_EVERY(heaviside, 0.2, 2, KEEP, (),
        v_select(v_eq(a, v_zero()), b, v_select(v_lt(v_zero(), a), v_set(1), v_zero())), a == 0 ? b : a > 0,
        a | b)
V_FLOATS(copysign, 0.2, 2, KEEP, (), v_or(v_abs(a), v_sign_of(b)))

V_EVERY(eq, 0.2, 2, TRUTH, (), v_eq(a, b), a == b, a == b)
V_EVERY(ne, 0.2, 2, TRUTH, (), v_ne(a, b), a != b, a != b)
V_EVERY(lt, 0.2, 2, TRUTH, (), v_lt(a, b), a < b, a < b)
V_EVERY(le, 0.2, 2, TRUTH, (), v_le(a, b), a <= b, a <= b)
V_EVERY(gt, 0.2, 2, TRUTH, (), v_lt(b, a), a > b, a > b)
V_EVERY(ge, 0.2, 2, TRUTH, (), v_le(b, a), a >= b, a >= b)

#define TRUE(x) v_ne(x, v_zero())
V_EVERY(logical_and, 0.2, 2, TRUTH, (), v_mask_and(TRUE(a), TRUE(b)), (a != 0) & (b != 0), a &b)
V_EVERY(logical_or, 0.2, 2, TRUTH, (), v_mask_or(TRUE(a), TRUE(b)), (a != 0) | (b != 0), a | b)
V_EVERY(logical_xor, 0.2, 2, TRUTH, (),
        v_mask_or(v_mask_and(TRUE(a), v_not(TRUE(b))), v_mask_and(v_not(TRUE(a)), TRUE(b))),
        (a != 0) != (b != 0), a ^ b)
V_EVERY(logical_not, 0.15, 1, TRUTH, (), v_eq(a, v_zero()), a == 0, a == 0)
#undef TRUE
V_INTEGRAL(bitwise_and, 0.2, 2, KEEP, (), a &b, a &b)
V_INTEGRAL(bitwise_or, 0.2, 2, KEEP, (), a | b, a | b)
V_INTEGRAL(bitwise_xor, 0.2, 2, KEEP, (), a ^ b, a ^ b)
#define FAR(b) (((b) < 0) | ((b) > (T)(8 * sizeof(T) - 1)))
V_INTEGRAL(bitwise_left_shift, 0.2, 2, KEEP, (), FAR(b) ? 0 : (T)((uint64_t)a << (b & 63)), 0 * a * b)
#define ALL_OUT ((T)(8 * sizeof(T) - ((T) - 1 < 0)))
V_INTEGRAL(bitwise_right_shift, 0.2, 2, KEEP, (), a >> (FAR(b) ? ALL_OUT : b), 0 * a * b)
#undef FAR
#undef ALL_OUT
V_INTEGRAL(bitwise_not, 0.15, 1, KEEP, (), ~a, !a)

V_NUMBERS(addcmul, 0.3, 3, KEEP, (rl_num(k, 3)), v_fma(v_mul(s0, b), c, a), a + s0 * b * c)
V_FLOATS(addcdiv, 0.3, 3, KEEP, (rl_num(k, 3)), v_add(a, v_div(v_mul(s0, b), c)))
/* from the nearer end, so that weight 1 gives just b */
#define BLEND(w)                                                                                             \
    v_select(v_lt(v_abs(w), v_set(0.5f)), v_fma(w, v_sub(b, a), a),                                          \
             v_fnma(v_sub(b, a), v_sub(v_set(1), w), b))
V_PART(FLOATS, lerp, 0.3, 3, KEEP, BLEND(c))
V_PART(FLOATS, lerp_by, 0.3, 2, KEEP, BLEND(s0))
#undef BLEND

/* infinite where one is, whatever the other */
V_FLOAT32(hypot, 0.5, 2, KEEP, (),
          v_select(v_mask_or(v_eq(v_abs(a), v_set(V_INFINITY)), v_eq(v_abs(b), v_set(V_INFINITY))),
                   v_set(V_INFINITY), V_NAME(math_hypot)(a, b)))
V_FLOAT32(atan2, 0.9, 2, KEEP, (), V_NAME(math_atan2)(a, b))
V_FLOAT32(xlogy, 0.5, 2, KEEP, (),
          v_select(v_unordered(b, b), b,
                   v_select(v_eq(a, v_zero()), v_zero(), v_mul(a, V_NAME(math_log)(b)))))
V_FLOAT32(ldexp, 0.6, 2, KEEP, (), V_NAME(math_ldexp)(a, b))
V_FLOATS(fmod, 0.4, 2, KEEP, (), V_NAME(math_fmod)(a, b))
V_FLOATS(remainder, 0.4, 2, KEEP, (), V_NAME(math_remainder)(a, b))
V_FLOATS(floor_divide, 0.7, 2, KEEP, (), V_NAME(math_floor_divide)(a, b))
V_PART(FLOATS, div_trunc, 0.2, 2, KEEP, v_trunc(v_div(a, b)))
V_PART(FLOAT32, pow, 2, 2, KEEP, V_NAME(math_pow)(a, b))
V_PART(FLOATS, pow_3, 0.15, 1, KEEP, v_mul(v_mul(a, a), a))
V_PART(FLOATS, pow_2, 0.15, 1, KEEP, v_mul(a, a))
V_PART(FLOATS, pow_half, 0.2, 1, KEEP, v_sqrt(a))
V_PART(FLOATS, pow_minus_half, 0.3, 1, KEEP, v_div(v_set(1), v_sqrt(a)))
V_PART(FLOATS, pow_minus_1, 0.2, 1, KEEP, v_div(v_set(1), a))
V_PART(FLOATS, pow_minus_2, 0.2, 1, KEEP, v_div(v_set(1), v_mul(a, a)))
V_FLOAT32(logaddexp2, 0.8, 2, KEEP, (), V_NAME(math_logaddexp2)(a, b))
V_FLOAT32(logaddexp, 0.8, 2, KEEP, (), V_NAME(math_logaddexp)(a, b))
V_PART(FLOAT32, nextafter, 0.3, 2, KEEP, V_NAME(math_next)(a, b))
