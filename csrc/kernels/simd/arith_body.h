/* Rows of two float32 inputs; a side of a single element comes as a step of 0. */
#define V_BINARY(name, expression)                                                                           \
    V_TARGET static void V_NAME(binary_##name)(const float *left, const float *right, float *to, int64_t n,  \
                                               int step_a, int step_b, float number) {                       \
        VF s = v_set(number), a = v_zero(), b = v_zero();                                                    \
        int64_t i = 0;                                                                                       \
        (void)s;                                                                                             \
        if (n == 0) return;                                                                                  \
        if (!step_a) a = v_set(*left);                                                                       \
        if (!step_b) b = v_set(*right);                                                                      \
        if (step_a && step_b) {                                                                              \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                a = v_load(left + i), b = v_load(right + i);                                                 \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        } else if (step_a) {                                                                                 \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                a = v_load(left + i);                                                                        \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        } else {                                                                                             \
            for (; i + V_WIDTH <= n; i += V_WIDTH) {                                                         \
                if (step_b) b = v_load(right + i);                                                           \
                v_store(to + i, expression);                                                                 \
            }                                                                                                \
        }                                                                                                    \
        if (i < n) {                                                                                         \
            VM m = v_tail(n - i);                                                                            \
            if (step_a) a = v_load_tail(left + i, m);                                                        \
            if (step_b) b = v_load_tail(right + i, m);                                                       \
            v_store_tail(to + i, m, expression);                                                             \
        }                                                                                                    \
    }

V_BINARY(add, v_add(a, b))
V_BINARY(sub, v_sub(a, b))
V_BINARY(axpy, v_fma(b, s, a))
V_BINARY(mul, v_mul(a, b))
V_BINARY(div, v_div(a, b))
V_BINARY(maximum, V_NAME(math_max)(a, b))
V_BINARY(minimum, V_NAME(math_min)(a, b))
V_BINARY(threshold_backward, v_pick(v_either(v_is_less(s, b), v_unordered(b, b)), a, v_zero()))
/* gradients of activations: a is that of the result */
#define ONE_LESS(x) v_sub(v_set(1.0f), x)
V_INLINE VF V_NAME(silu_slope)(VF x) {
    VF s = V_NAME(math_sigmoid)(x);
    return v_mul(s, v_fma(x, ONE_LESS(s), v_set(1.0f)));
}
V_BINARY(sigmoid_backward, v_mul(v_mul(a, ONE_LESS(b)), b))
V_BINARY(tanh_backward, v_mul(a, ONE_LESS(v_mul(b, b))))
V_BINARY(silu_backward, v_mul(a, V_NAME(silu_slope)(b)))
#undef ONE_LESS
#undef V_BINARY
