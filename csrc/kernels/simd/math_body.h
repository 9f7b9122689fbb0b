/* Rows of one float32 input; the text is compiled once per vector width. */
#define V_UNARY(name, expression)                                                                            \
    V_TARGET static void V_NAME(unary_##name)(const float *from, float *to, int64_t n) {                     \
        int64_t i = 0;                                                                                       \
        for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                             \
            VF x = v_load(from + i);                                                                         \
            v_store(to + i, expression);                                                                     \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            VM m = v_tail(n - i);                                                                            \
            VF x = v_load_tail(from + i, m);                                                                 \
            v_store_tail(to + i, m, expression);                                                             \
        }                                                                                                    \
    }

V_UNARY(relu, v_max(v_zero(), x)) /* answers its second operand when that is NaN */
V_UNARY(neg, v_from_bits(vi_xor(v_bits(x), vi_set((int)0x80000000u))))
V_UNARY(abs, v_from_bits(vi_and(v_bits(x), vi_set(0x7fffffff))))
V_UNARY(sqrt, v_sqrt(x))
V_UNARY(exp, V_NAME(math_exp)(x))
V_UNARY(tanh, V_NAME(math_tanh)(x))
V_UNARY(sigmoid, V_NAME(math_sigmoid)(x))
V_UNARY(silu, v_div(x, v_add(v_set(1.0f), V_NAME(math_exp)(v_sub(v_zero(), x)))))
#undef V_UNARY
