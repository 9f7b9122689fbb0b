/* Rows of functions of one operand, and of their gradients: there a is that of the result. */
V_UNARY(neg, v_from_bits(vi_xor(v_bits(x), vi_set((int)0x80000000u))))
V_UNARY(abs, v_from_bits(vi_and(v_bits(x), vi_set(0x7fffffff))))
V_UNARY(square, v_mul(x, x))
V_UNARY(sqrt, v_sqrt(x))
V_UNARY(exp, V_NAME(math_exp)(x))
V_UNARY(tanh, V_NAME(math_tanh)(x))
V_UNARY(sigmoid, V_NAME(math_sigmoid)(x))

#define ONE_LESS(x) v_sub(v_set(1.0f), x)
V_BINARY(sigmoid_backward, v_mul(v_mul(a, ONE_LESS(b)), b))
V_BINARY(tanh_backward, v_mul(a, ONE_LESS(v_mul(b, b))))
#undef ONE_LESS
