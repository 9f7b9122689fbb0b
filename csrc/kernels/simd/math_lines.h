/* Functions of one operand, and gradients of some: there a is that of the result. Note [Lines] */
V_NUMBERS(neg, 0.15, 1, KEEP, (), v_xor(a, v_set(-0.0f)), -a)
V_NUMBERS(abs, 0.15, 1, KEEP, (), v_abs(a), a < 0 ? -a : a)
V_EVERY(square, 0.15, 1, KEEP, (), v_mul(a, a), a *a, a)
V_EVERY(sign, 0.15, 1, KEEP, (),
        v_pick(v_is_less(v_zero(), a), v_set(1), v_pick(v_is_less(a, v_zero()), v_set(-1), v_zero())),
        (a > 0) - (a < 0), a)
V_FLOATS(sqrt, 0.2, 1, KEEP, (), v_sqrt(a))
V_FLOATS(rsqrt, 0.3, 1, KEEP, (), v_div(v_set(1), v_sqrt(a)))
V_FLOATS(reciprocal, 0.2, 1, KEEP, (), v_div(v_set(1), a))
V_NUMBERS(floor, 0.15, 1, KEEP, (), v_floor(a), a)
V_NUMBERS(ceil, 0.15, 1, KEEP, (), v_ceil(a), a)
V_NUMBERS(round, 0.15, 1, KEEP, (), v_round(a), a)
V_NUMBERS(trunc, 0.15, 1, KEEP, (), v_trunc(a), a)
V_FLOATS(frac, 0.15, 1, KEEP, (), v_sub(a, v_trunc(a)))
V_EVERY(isnan, 0.15, 1, TRUTH, (), v_unordered(a, a), a != a, 0 * a)
V_EVERY(isinf, 0.15, 1, TRUTH, (), v_is_equal(v_abs(a), v_set(V_INFINITY)), a != a, 0 * a)
V_EVERY(isfinite, 0.15, 1, TRUTH, (), v_is_less(v_abs(a), v_set(V_INFINITY)), a == a, 1 | a)
V_EVERY(isposinf, 0.15, 1, TRUTH, (), v_is_equal(a, v_set(V_INFINITY)), a != a, 0 * a)
V_EVERY(isneginf, 0.15, 1, TRUTH, (), v_is_equal(a, v_set(-V_INFINITY)), a != a, 0 * a)
V_EVERY(isreal, 0.15, 1, TRUTH, (), v_either(v_is_equal(a, a), v_unordered(a, a)), a == a, 1 | a)
V_EVERY(signbit, 0.15, 1, TRUTH, (), v_is_less(v_or(v_sign_of(a), v_set(1)), v_zero()), a < 0, 0 * a)
V_FLOATS(angle, 0.15, 1, KEEP, (),
         v_pick(v_unordered(a, a), a,
                v_pick(v_is_less(a, v_zero()), v_set((V_ELEMENT)3.14159265358979323846), v_zero())))
V_FLOATS(deg2rad, 0.15, 1, KEEP, (), v_mul(a, v_set((V_ELEMENT)0.017453292519943295769)))
V_FLOATS(rad2deg, 0.15, 1, KEEP, (), v_mul(a, v_set((V_ELEMENT)57.295779513082320877)))
V_PART(FLOATS, round_behind, 0.2, 1, KEEP, v_div(v_round(v_mul(a, s0)), s0))
V_PART(FLOATS, round_before, 0.2, 1, KEEP, v_mul(v_round(v_div(a, s0)), s0))
V_PART(EVERY, finite, 0.15, 1, KEEP,
       v_pick(v_unordered(a, a), s0,
              v_pick(v_is_equal(a, v_set(V_INFINITY)), s1, v_pick(v_is_equal(a, v_set(-V_INFINITY)), s2, a))),
       a, a)

V_FLOAT32(exp, 0.3, 1, KEEP, (), V_NAME(math_exp)(a))
V_FLOAT32(exp2, 0.3, 1, KEEP, (), V_NAME(math_exp2)(a))
V_FLOAT32(expm1, 0.4, 1, KEEP, (), V_NAME(math_expm1)(a))
V_FLOAT32(log, 0.4, 1, KEEP, (), V_NAME(math_log)(a))
V_FLOAT32(log1p, 0.4, 1, KEEP, (), V_NAME(math_log1p)(a))
V_FLOAT32(log2, 0.4, 1, KEEP, (), V_NAME(math_log2)(a))
V_FLOAT32(log10, 0.4, 1, KEEP, (), V_NAME(math_log10)(a))
V_FLOAT32(sinh, 0.5, 1, KEEP, (), V_NAME(math_sinh)(a))
V_FLOAT32(cosh, 0.4, 1, KEEP, (), V_NAME(math_cosh)(a))
V_FLOAT32(tanh, 0.6, 1, KEEP, (), V_NAME(math_tanh)(a))
V_FLOAT32(sin, 0.5, 1, KEEP, (), V_NAME(math_sin)(a))
V_FLOAT32(cos, 0.5, 1, KEEP, (), V_NAME(math_cos)(a))
V_FLOAT32(tan, 0.7, 1, KEEP, (), V_NAME(math_tan)(a))
V_FLOAT32(asin, 0.5, 1, KEEP, (), V_NAME(math_asin)(a))
V_FLOAT32(acos, 0.5, 1, KEEP, (), V_NAME(math_acos)(a))
V_FLOAT32(atan, 0.5, 1, KEEP, (), V_NAME(math_atan)(a))
V_FLOAT32(erf, 0.5, 1, KEEP, (), V_NAME(math_erf)(a))
V_FLOAT32(erfc, 1.1, 1, KEEP, (), V_NAME(math_erfc)(a))
V_FLOAT32(erfinv, 1.3, 1, KEEP, (), V_NAME(math_erfinv)(a))
V_FLOAT32(asinh, 0.6, 1, KEEP, (), V_NAME(math_asinh)(a))
V_FLOAT32(acosh, 0.6, 1, KEEP, (), V_NAME(math_acosh)(a))
V_FLOAT32(atanh, 0.6, 1, KEEP, (), V_NAME(math_atanh)(a))
V_FLOAT32(sigmoid, 0.4, 1, KEEP, (), V_NAME(math_sigmoid)(a))
V_FLOATS(sigmoid_backward, 0.2, 2, KEEP, (), v_mul(v_mul(a, v_sub(v_set(1), b)), b))
V_FLOATS(tanh_backward, 0.2, 2, KEEP, (), v_mul(a, v_fnma(b, b, v_set(1))))

V_PART(FLOATS, limit, 0.15, 1, KEEP, v_min(s1, v_max(s0, a))) /* NaN stays NaN */
#define MORE(a, b) v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b))
#define LESS(a, b) v_pick(v_unordered(a, b), v_add(a, b), v_min(a, b))
V_PART(EVERY, above, 0.2, 2, KEEP, MORE(a, b), a > b ? a : b, a | b)
V_PART(EVERY, below, 0.2, 2, KEEP, LESS(a, b), a < b ? a : b, a &b)
V_PART(NUMBERS, between, 0.3, 3, KEEP, LESS(MORE(a, b), c), (a > b ? a : b) < c ? (a > b ? a : b) : c)
#undef MORE
#undef LESS
#define BOUND(i, without) (k->arg[i].tag == RL_NONE ? (without) : rl_num(k, i))
V_FLOATS(clamp_backward, 0.2, 2, KEEP, (BOUND(2, -__builtin_inf()), BOUND(3, __builtin_inf())),
         v_pick(v_both(v_is_most(s0, b), v_is_most(b, s1)), a, v_zero()))
#undef BOUND
