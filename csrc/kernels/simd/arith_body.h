/* Rows of arithmetic. */
V_BINARY(add, v_add(a, b))
V_BINARY(sub, v_sub(a, b))
V_BINARY(axpy, v_fma(b, s, a))
V_BINARY(mul, v_mul(a, b))
V_BINARY(div, v_div(a, b))
V_BINARY(maximum, V_NAME(math_max)(a, b))
V_BINARY(minimum, V_NAME(math_min)(a, b))
