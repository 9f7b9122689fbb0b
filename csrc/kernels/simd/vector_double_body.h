/* What functions on one vector of floats share: polynomials, and logarithm and exponential of base 2 that
 * work in double, so that their callers round once. */
#ifndef RL_KERNELS_SIMD_VECTOR_DOUBLE
#define RL_KERNELS_SIMD_VECTOR_DOUBLE
/* log2 m = s P(s^2) with s = (m - 1) / (m + 1), m from sqrt(1/2) to sqrt(2): 2^-37 of it */
static const double series_log2[] = {0x1.71547652bee12p1, 0x1.ec709d12a6d6fp-1, 0x1.27778008c0c02p-1,
                                     0x1.a58d78d726bbcp-2, 0x1.5ce989c91961ep-2};
/* 2^x from -1/2 to 1/2: 2^-29 of it */
static const double series_exp2[] = {0x1.0000000261e5ap0,  0x1.62e430c82a525p-1, 0x1.ebfbdadb0d3c6p-3,
                                     0x1.c6aed45b09b5cp-5, 0x1.3b2dbc5d667d1p-7, 0x1.5f459a5d2acdep-10,
                                     0x1.41d31dc2f3c43p-13};
#endif

/* without overflow in between */
V_INLINE VD V_NAME(hypot_half)(VD a, VD b) {
    return vd_sqrt(vd_fma(a, a, vd_mul(b, b)));
}
V_INLINE VF V_NAME(math_hypot)(VF a, VF b) {
    return v_join(V_NAME(hypot_half)(v_low(a), v_low(b)), V_NAME(hypot_half)(v_high(a), v_high(b)));
}

/* c[0] + c[1] x + c[2] x^2 + ... */
V_INLINE VF V_NAME(math_series)(VF x, const float *c, int n) {
    VF sum = v_set(c[n - 1]);
    V_UNROLL
    for (int i = n - 2; i >= 0; i--) sum = v_fma(sum, x, v_set(c[i]));
    return sum;
}
V_INLINE VD V_NAME(math_series_double)(VD x, const double *c, int n) {
    VD sum = vd_set(c[n - 1]);
    V_UNROLL
    for (int i = n - 2; i >= 0; i--) sum = vd_fma(sum, x, vd_set(c[i]));
    return sum;
}

/* a = m 2^e for normal a > 0, m from sqrt(1/2) to sqrt(2) */
V_INLINE VI V_NAME(math_exponent)(VF a) {
    return vi_right(vi_sub(v_bits(a), vi_set(0x3f3504f3)), 23);
}

/* log2 (m 2^e); guess: 1 / (m + 1) as a float has it, which one of Newton's steps makes good */
V_INLINE VD V_NAME(math_log2_double)(VD m, VD e, VD guess) {
    VD f = vd_sub(m, vd_set(1)), s = vd_mul(f, guess);
    s = vd_fma(guess, vd_fnma(s, vd_sub(m, vd_set(-1)), f), s);
    return vd_fma(s, V_NAME(math_series_double)(vd_mul(s, s), series_log2, 5), e);
}
V_INLINE VD V_NAME(math_exp2_double)(VD x) {
    return V_NAME(math_series_double)(x, series_exp2, 7);
}
