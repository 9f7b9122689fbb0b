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
    if (s[8] != 0) most = e[4] = v_pick(v_unordered(e[4], most), v_add(e[4], most), v_max(e[4], most));
    e[0] = v_add(p, v_div(v_mul(S(0), e[2]), v_add(v_div(v_sqrt(most), S(4)), S(5))));
}
#undef S
