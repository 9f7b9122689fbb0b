/* Activations and their gradients; in a gradient, a is the gradient of the result. Note [Elementwise ops] */
V_NUMBERS(relu, 0.15, 1, KEEP, (), v_max(v_zero(), a), a < 0 ? 0 : a) /* v_max: NaN stays NaN */
V_NUMBERS(threshold_backward, 0.2, 2, KEEP, (rl_num(k, 2)), v_select(v_le(b, s0), v_zero(), a),
          b <= s0 ? 0 : a)
V_PART(FLOATS, threshold, 0.15, 1, KEEP, v_select(v_le(a, s0), s1, a))
V_PART(FLOATS, prelu, 0.2, 2, KEEP, v_select(v_lt(v_zero(), a), a, v_mul(a, b)))
V_FLOATS(leaky_relu, 0.15, 1, KEEP, (rl_num(k, 1)), v_select(v_lt(v_zero(), a), a, v_mul(a, s0)))
V_FLOATS(leaky_relu_backward, 0.2, 2, KEEP, (rl_num(k, 2)), v_select(v_lt(v_zero(), b), a, v_mul(a, s0)))
V_FLOATS(hardtanh_backward, 0.2, 2, KEEP, (rl_num(k, 2), rl_num(k, 3)),
         v_select(v_mask_and(v_lt(s0, b), v_lt(b, s1)), a, v_zero()))
V_FLOATS(shrink_backward, 0.2, 2, KEEP, (rl_num(k, 2)),
         v_select(v_mask_or(v_lt(b, v_sub(v_zero(), s0)), v_lt(s0, b)), a, v_zero()))
V_FLOATS(hardshrink, 0.15, 1, KEEP, (rl_num(k, 1)),
         v_select(v_mask_and(v_le(v_sub(v_zero(), s0), a), v_le(a, s0)), v_zero(), a))
V_FLOATS(softshrink, 0.15, 1, KEEP, (rl_num(k, 1)),
         v_select(v_lt(s0, a), v_sub(a, s0),
                  v_select(v_lt(a, v_sub(v_zero(), s0)), v_add(a, s0), v_mul(a, v_zero()))))

#define SIX(x) v_min(v_set(6), v_max(v_zero(), x)) /* limited to [0, 6]; NaN stays NaN */
V_FLOATS(hardswish, 0.2, 1, KEEP, (), v_div(v_mul(a, SIX(v_add(a, v_set(3)))), v_set(6)))
V_FLOATS(hardsigmoid, 0.2, 1, KEEP, (), v_div(SIX(v_add(a, v_set(3))), v_set(6)))
#undef SIX
V_FLOATS(hardsigmoid_backward, 0.2, 2, KEEP, (),
         v_select(v_lt(v_abs(b), v_set(3)), v_mul(a, v_set(1.0f / 6)), v_zero()))
V_FLOATS(hardswish_backward, 0.2, 2, KEEP, (),
         v_select(v_le(b, v_set(-3)), v_zero(),
                  v_select(v_le(v_set(3), b), a, v_mul(a, v_add(v_div(b, v_set(3)), v_set(0.5f))))))

V_PART(FLOAT32, gelu, 0.6, 1, KEEP, V_NAME(math_gelu)(a))
V_PART(FLOAT32, gelu_tanh, 0.8, 1, KEEP, V_NAME(math_gelu_tanh)(a))
V_PART(FLOAT32, gelu_backward, 0.9, 2, KEEP, v_mul(a, V_NAME(math_gelu_slope)(b)))
V_PART(FLOAT32, gelu_tanh_backward, 0.9, 2, KEEP, v_mul(a, V_NAME(math_gelu_tanh_slope)(b)))
V_FLOAT32(silu, 0.4, 1, KEEP, (), V_NAME(math_silu)(a))
V_FLOAT32(silu_backward, 0.5, 2, KEEP, (), v_mul(a, V_NAME(math_silu_slope)(b)))
V_FLOAT32(mish, 0.8, 1, KEEP, (), V_NAME(math_mish)(a))
V_FLOAT32(mish_backward, 0.5, 2, KEEP, (), v_mul(a, V_NAME(math_mish_slope)(b)))
V_FLOAT32(log_sigmoid, 0.6, 1, KEEP, (), V_NAME(math_log_sigmoid)(a))
V_FLOAT32(log_sigmoid_backward, 0.5, 2, KEEP, (), v_mul(a, V_NAME(math_sigmoid)(v_sub(v_zero(), b))))
V_PART(FLOAT32, glu, 0.5, 2, KEEP, v_mul(a, V_NAME(math_sigmoid)(b)))

/* beta, threshold */
V_FLOAT32(softplus, 0.8, 1, KEEP, (rl_num(k, 1), rl_num(k, 2)),
          v_select(v_lt(s1, v_mul(a, s0)), a, v_div(V_NAME(math_softplus)(v_mul(a, s0)), s0)))
V_FLOAT32(softplus_backward, 0.5, 2, KEEP, (rl_num(k, 2), rl_num(k, 3)),
          v_select(v_lt(s1, v_mul(b, s0)), a, v_mul(a, V_NAME(math_sigmoid)(v_mul(b, s0)))))

/* alpha or its product with what scales the answer, what scales the input, what scales the answer */
#define ELU(scaled) v_mul(s0, V_NAME(math_expm1)(scaled))
V_FLOAT32(elu, 0.4, 1, KEEP, (rl_num(k, 1)), v_select(v_lt(a, v_zero()), ELU(a), a))
V_FLOAT32(celu, 0.5, 1, KEEP, (rl_num(k, 1), 1 / rl_num(k, 1)),
          v_select(v_lt(a, v_zero()), ELU(v_mul(a, s1)), a))
V_FLOAT32(selu, 0.4, 1, KEEP,
          (1.6732632423543772848170429916717 * 1.0507009873554804934193349852946, 0,
           1.0507009873554804934193349852946),
          v_select(v_lt(a, v_zero()), ELU(a), v_mul(a, s2)))
#undef ELU
V_FLOAT32(elu_backward, 0.4, 2, KEEP, (rl_num(k, 2) * rl_num(k, 3), rl_num(k, 4), rl_num(k, 3)),
          v_select(v_lt(v_zero(), b), v_mul(a, s2),
                   v_mul(v_mul(v_mul(a, s1), s0), V_NAME(math_exp)(v_mul(b, s1)))))
