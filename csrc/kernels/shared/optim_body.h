/* The arithmetic of optimisers' steps for a vector of elements. e[]: the parameter, its gradient, its state,
 * in the order of the operator's lists; s[]: the numbers of rl_step_plan.prepare. Each rounds where PyTorch's
 * separate operators round. Note [Steps] */
#define S(i) v_set((V_ELEMENT)s[i])

/* a gradient downhill, with what decays the weights */
V_TARGET static inline VF V_NAME(step_gradient)(VF g, VF p, double maximize, double decay) {
    if (maximize != 0) g = v_sub(v_zero(), g);
    return decay != 0 ? v_fma(p, v_set((V_ELEMENT)decay), g) : g;
}
/* from a towards b, as Tensor.lerp_() */
V_TARGET static inline VF V_NAME(step_lerp)(VF a, VF b, double weight) {
    if (weight < 0.5) return v_fma(v_set((V_ELEMENT)weight), v_sub(b, a), a);
    return v_fnma(v_sub(b, a), v_sub(v_set(1), v_set((V_ELEMENT)weight)), b);
}

/* the larger one, or NaN */
V_TARGET static inline VF V_NAME(step_most)(VF a, VF b) {
    return v_pick(v_unordered(a, b), v_add(a, b), v_max(a, b));
}

/* parameter, gradient, momentum_buffer */
V_TARGET static inline void V_NAME(step_sgd)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[5], s[3]);
    if (s[1] != 0) {
        e[2] = v_fma(g, S(2), v_mul(e[2], S(1)));
        g = s[4] != 0 ? v_fma(e[2], S(1), g) : e[2];
    }
    e[0] = v_fma(g, S(0), e[0]);
}

/* parameter, gradient, exp_avg, exp_avg_sq, max_exp_avg_sq */
V_TARGET static inline void V_NAME(step_adam)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[9], s[6]), p = e[0];
    if (s[7] != 1) p = v_mul(p, S(7));
    e[2] = V_NAME(step_lerp)(e[2], g, s[1]);
    e[3] = v_fma(v_mul(S(3), g), g, v_mul(e[3], S(2)));
    VF most = e[3];
    if (s[8] != 0) most = e[4] = V_NAME(step_most)(e[4], most);
    e[0] = v_add(p, v_div(v_mul(S(0), e[2]), v_add(v_div(v_sqrt(most), S(4)), S(5))));
}

/* parameter, gradient, square_avg, acc_delta */
V_TARGET static inline void V_NAME(step_adadelta)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[5], s[4]);
    e[2] = v_fma(v_mul(S(2), g), g, v_mul(e[2], S(1)));
    VF delta = v_mul(v_div(v_sqrt(v_add(e[3], S(3))), v_sqrt(v_add(e[2], S(3)))), g);
    e[3] = v_fma(v_mul(S(2), delta), delta, v_mul(e[3], S(1)));
    e[0] = v_fma(delta, S(0), e[0]);
}

/* parameter, gradient, sum */
V_TARGET static inline void V_NAME(step_adagrad)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[3], s[1]);
    e[2] = v_fma(g, g, e[2]);
    e[0] = v_add(e[0], v_div(v_mul(S(0), g), v_add(v_sqrt(e[2]), S(2))));
}

/* parameter, gradient, exp_avg, exp_inf */
V_TARGET static inline void V_NAME(step_adamax)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[5], s[4]);
    e[2] = V_NAME(step_lerp)(e[2], g, s[1]);
    e[3] = V_NAME(step_most)(v_mul(e[3], S(2)), v_add(v_abs(g), S(3)));
    e[0] = v_add(e[0], v_div(v_mul(S(0), e[2]), e[3]));
}

/* parameter, gradient, ax */
V_TARGET static inline void V_NAME(step_asgd)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[4], s[3]);
    e[0] = v_fma(g, S(1), v_mul(e[0], S(0)));
    e[2] = s[2] == 1 ? e[0] : v_fma(v_sub(e[0], e[2]), S(2), e[2]);
}

/* parameter, gradient, exp_avg, exp_avg_sq */
V_TARGET static inline void V_NAME(step_nadam)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[9], s[7]), p = e[0];
    if (s[8] != 1) p = v_mul(p, S(8));
    e[2] = V_NAME(step_lerp)(e[2], g, s[2]);
    e[3] = v_fma(v_mul(S(4), g), g, v_mul(e[3], S(3)));
    VF root = v_add(v_sqrt(v_div(e[3], S(5))), S(6));
    p = v_add(p, v_div(v_mul(S(0), g), root));
    e[0] = v_add(p, v_div(v_mul(S(1), e[2]), root));
}

/* parameter, gradient, exp_avg, exp_avg_sq */
V_TARGET static inline void V_NAME(step_radam)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[10], s[8]), p = e[0];
    if (s[9] != 1) p = v_mul(p, S(9));
    e[2] = V_NAME(step_lerp)(e[2], g, s[5]);
    e[3] = v_fma(v_mul(S(7), g), g, v_mul(e[3], S(6)));
    VF update = v_mul(v_div(e[2], S(0)), S(1));
    if (s[2] != 0) update = v_mul(v_mul(update, v_div(S(3), v_add(v_sqrt(e[3]), S(4)))), S(2));
    e[0] = v_sub(p, update);
}

/* parameter, gradient, square_avg, momentum_buffer, grad_avg */
V_TARGET static inline void V_NAME(step_rmsprop)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[7], s[4]);
    e[2] = v_fma(v_mul(S(2), g), g, v_mul(e[2], S(1)));
    VF squares = e[2];
    if (s[6] != 0) {
        e[4] = V_NAME(step_lerp)(e[4], g, s[2]);
        squares = v_fnma(e[4], e[4], squares);
    }
    VF root = v_add(v_sqrt(squares), S(3));
    if (s[5] > 0) {
        e[3] = v_add(v_mul(e[3], S(5)), v_div(g, root));
        e[0] = v_fma(e[3], S(0), e[0]);
    } else {
        e[0] = v_add(e[0], v_div(v_mul(S(0), g), root));
    }
}

/* +, 0 or - of a's sign; NaN stays NaN */
V_TARGET static inline VF V_NAME(step_by_sign)(VF a, VF more, VF same, VF less) {
    return v_pick(v_is_less(v_zero(), a), more,
                  v_pick(v_is_less(a, v_zero()), less, v_pick(v_is_equal(a, v_zero()), same, a)));
}

/* parameter, gradient, prev, step_size */
V_TARGET static inline void V_NAME(step_rprop)(const double *s, VF *e) {
    VF g = V_NAME(step_gradient)(e[1], e[0], s[4], 0), turn = v_mul(g, e[2]);
    e[3] = v_mul(e[3], V_NAME(step_by_sign)(turn, S(1), v_set(1), S(0)));
    e[3] = v_min(S(3), v_max(S(2), e[3])); /* NaN stays NaN */
    e[2] = v_pick(v_is_less(turn, v_zero()), v_zero(), g);
    e[0] = v_fnma(V_NAME(step_by_sign)(e[2], v_set(1), v_zero(), v_set(-1)), e[3], e[0]);
}
#undef S
