/* One step of gradient descent on n float32 elements, rounded where PyTorch's separate operators round. */
V_TARGET static inline VF V_NAME(sgd_new)(const sgd_numbers *s, VF p, VF g, VF *b) {
    if (s->maximize) g = v_sub(v_zero(), g);
    if (s->decay != 0) g = v_fma(p, v_set(s->decay), g);
    if (s->momentum != 0) {
        *b = v_fma(g, v_set(s->fresh), v_mul(*b, v_set(s->momentum)));
        g = s->nesterov ? v_fma(*b, v_set(s->momentum), g) : *b;
    }
    return v_fma(g, v_set(-s->rate), p);
}

V_TARGET static void V_NAME(sgd_row)(const sgd_numbers *s, float *p, const float *g, float *b, int64_t n) {
    int64_t i = 0;
    VF velocity = v_zero();
    for (; i + V_WIDTH <= n; i += V_WIDTH) {
        if (b) velocity = v_load(b + i);
        v_store(p + i, V_NAME(sgd_new)(s, v_load(p + i), v_load(g + i), &velocity));
        if (b) v_store(b + i, velocity);
    }
    if (i == n) return;
    VM m = v_tail(n - i);
    if (b) velocity = v_load_tail(b + i, m);
    v_store_tail(p + i, m, V_NAME(sgd_new)(s, v_load_tail(p + i, m), v_load_tail(g + i, m), &velocity));
    if (b) v_store_tail(b + i, m, velocity);
}
