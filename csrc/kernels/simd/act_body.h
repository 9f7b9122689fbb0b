/* Rows of activations, and of their gradients: there a is that of the result. */
V_UNARY(relu, v_max(v_zero(), x)) /* answers its second operand when that is NaN */
V_UNARY(silu, v_div(x, v_add(v_set(1.0f), V_NAME(math_exp)(v_sub(v_zero(), x)))))

V_BINARY(threshold_backward, v_pick(v_either(v_is_less(s, b), v_unordered(b, b)), a, v_zero()))
V_INLINE VF V_NAME(silu_slope)(VF x) {
    VF s = V_NAME(math_sigmoid)(x);
    return v_mul(s, v_fma(x, v_sub(v_set(1.0f), s), v_set(1.0f)));
}
V_BINARY(silu_backward, v_mul(a, V_NAME(silu_slope)(b)))
