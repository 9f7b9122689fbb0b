/* The error function and what is made of it, on one vector. Coefficients are minimax fits. */
#ifndef RL_KERNELS_SIMD_ERF
#define RL_KERNELS_SIMD_ERF
#include <math.h>

/* erf x = x + x P(x^2) below 7/8; log2 erfc x beyond; (2^x - 1) / x from -1/2 to 1/2 */
static const float erf_near[] = {0x1.06eba6p-3f,  -0x1.8126ecp-2f, 0x1.ce1b86p-4f,
                                 -0x1.b69b8ep-6f, 0x1.479c18p-8f,  -0x1.3ba5acp-11f};
static const float erf_far[] = {-0x1.942d46p-13f, -0x1.a0949ep0f,  -0x1.d6551ap-1f, -0x1.343fc6p-3f,
                                0x1.08f8cp-5f,    -0x1.245cf2p-8f, 0x1.300b1ap-12f};
static const float erf_exp2[] = {0x1.62e43p-1f,  0x1.ebfb94p-3f,  0x1.c6af9ep-5f,
                                 0x1.3b681ap-7f, 0x1.5ef4dcp-10f, 0x1.1794cp-13f};
/* erfc x = e^(-x^2) u P(u) with u = 1 / (x + 5/2), from 0 to 10.4 */
static const double erfc_series[] = {0x1.20e07000b0bbbp-1, 0x1.68bb1d6b5ae91p0,  0x1.a3c8161261675p1,
                                     0x1.8bbb92815456cp2,  0x1.080865feeef61p4,  -0x1.2bfd8bc487589p3,
                                     0x1.7604d7ced0b7dp6,  -0x1.e2083fcf55547p6, -0x1.4b1b378ba8815p8,
                                     0x1.85d3e5234c037p9,  -0x1.c7063c68083c5p8};
/* erfinv x = x P(l) with l = log2(1 - x^2), above -8; x P(sqrt(-l)) below */
static const double erfinv_series_near[] = {
    0x1.c5bf8939e7bebp-1,   -0x1.495bba9dd5322p-3,  0x1.6bb3fe2f5668ap-8,  0x1.989a01d1fb266p-11,
    -0x1.cf2bd8042abfbp-16, -0x1.9d9c04e911f19p-18, 0x1.9503247f5db77p-21, 0x1.cc5cd3ced0705p-23,
    0x1.4b8b9febbf2c6p-26,  0x1.c5b7f1a79fc1ep-31,  0x1.f15e2bcf4c367p-37};
static const double erfinv_series_far[] = {
    -0x1.6c98b06fe7383p0,   0x1.a1cfeba0a5985p2,  -0x1.f1c1c7104ed94p2,  0x1.5b2f61e32ee2ep2,
    -0x1.23b6cdbbc18d5p1,   0x1.3aac189d0795ap-1, -0x1.b9a7d1a0ce182p-4, 0x1.87cd09bb373b4p-7,
    -0x1.90852538798ddp-11, 0x1.688980c109b87p-16};
/* log2 of the part of a normal distribution that lies below -x, from 0 to 13: two short chains of sums */
static const float gelu_even[] = {
    -1.0f, -0x1.d63335p-2f, 0x1.d85b1ap-8f, -0x1.3d079ep-13f, -0x1.07d468p-18f, -0x1.2b84b6p-28f};
static const float gelu_odd[] = {-0x1.26afp+0f, -0x1.aed5e8p-5f, -0x1.fb15cp-13f, 0x1.333adcp-15f,
                                 0x1.be9d84p-23f};
#endif

V_INLINE VF V_NAME(math_erf)(VF x) {
    VF a = v_min(v_set(4.0f), v_abs(x)), z = v_mul(a, a);
    VF near = v_fma(a, V_NAME(math_series)(z, erf_near, 6), a);
    VF l = V_NAME(math_series)(a, erf_far, 7), n = v_round(l), r = v_sub(l, n);
    VF rest = v_fma(r, V_NAME(math_series)(r, erf_exp2, 6), v_set(1.0f));
    VF far = v_sub(v_set(1.0f), v_scale(rest, n));
    return v_or(v_pick(v_is_less(a, v_set(0.875f)), near, far), v_sign_of(x));
}

/* ---- erfc ---- */
V_INLINE VD V_NAME(erfc_half)(VD a, VD n, VD guess) {
    VD power = vd_fnma(vd_mul(a, a), vd_set(0x1.71547652b82fep0), vd_sub(vd_set(0), n));
    VD u = vd_fma(guess, vd_fnma(guess, vd_sub(a, vd_set(-2.5)), vd_set(1)), guess);
    return vd_mul(vd_mul(u, V_NAME(math_series_double)(u, erfc_series, 11)), V_NAME(math_exp2_double)(power));
}

V_INLINE VF V_NAME(math_erfc)(VF x) {
    VF a = v_min(v_set(10.25f), v_abs(x));
    VF n = v_round(v_mul(v_mul(a, a), v_set(-0x1.715476p0f)));
    VF guess = v_div(v_set(1.0f), v_add(a, v_set(2.5f)));
    VF y = v_join(V_NAME(erfc_half)(v_low(a), v_low(n), v_low(guess)),
                  V_NAME(erfc_half)(v_high(a), v_high(n), v_high(guess)));
    y = v_scale(y, n);
    return v_pick(v_is_less(x, v_zero()), v_sub(v_set(2.0f), y), y);
}

/* ---- the inverse of erf ---- */
/* log2(1 - x^2), 1 - x^2 being m 2^e, 1 / scale = 2^e */
V_INLINE VD V_NAME(erfinv_log)(VD x, VD scale, VD e, VD guess) {
    return V_NAME(math_log2_double)(vd_mul(vd_fnma(x, x, vd_set(1)), scale), e, guess);
}
V_INLINE VD V_NAME(erfinv_near)(VD x, VD l) {
    return vd_mul(x, V_NAME(math_series_double)(l, erfinv_series_near, 11));
}
/* root: that of -l, as a float has it, slope: 1 / (2 root) */
V_INLINE VD V_NAME(erfinv_far)(VD x, VD l, VD root, VD slope) {
    root = vd_fnma(slope, vd_fma(root, root, l), root);
    return vd_mul(x, V_NAME(math_series_double)(root, erfinv_series_far, 10));
}

V_INLINE VF V_NAME(math_erfinv)(VF x) {
    VF z = v_fnma(x, x, v_set(1.0f)), one = v_set(1.0f);
    VI e = V_NAME(math_exponent)(z);
    VF scale = v_from_bits(vi_left(vi_sub(vi_set(127), e), 23)), power = v_to_float(e);
    VF guess = v_div(one, v_fma(z, scale, one));
    VD x0 = v_low(x), x1 = v_high(x);
    VD l0 = V_NAME(erfinv_log)(x0, v_low(scale), v_low(power), v_low(guess));
    VD l1 = V_NAME(erfinv_log)(x1, v_high(scale), v_high(power), v_high(guess));
    VF y = v_join(V_NAME(erfinv_near)(x0, l0), V_NAME(erfinv_near)(x1, l1));
    VM far = v_is_less(z, v_set(0x1p-8f));
    if (v_mask_bits(far)) {
        VF root = v_sqrt(v_max(one, v_sub(v_zero(), v_join(l0, l1)))), slope = v_div(v_set(0.5f), root);
        y = v_pick(far,
                   v_join(V_NAME(erfinv_far)(x0, l0, v_low(root), v_low(slope)),
                          V_NAME(erfinv_far)(x1, l1, v_high(root), v_high(slope))),
                   y);
        y = v_pick(v_is_less(z, v_set(0x1p-25f)), v_div(x, v_zero()), y); /* 1, and beyond: NaN */
        y = v_pick(v_is_less(one, v_abs(x)), v_set(NAN), y);
    }
    return y;
}

/* ---- gelu ---- */
#define HALF_BELL  0x1.988454p-2f /* 1 / sqrt(2 pi) */
#define TANH_SCALE 0x1.988454p-1f /* sqrt(2 / pi) */
/* the part of a normal distribution that lies below x; below -13 its 2^n has no bits: 0 */
V_INLINE VF V_NAME(gelu_part)(VF x) {
    VF a = v_min(v_set(13.0f), v_abs(x)), z = v_mul(a, a), one = v_set(1.0f);
    VF l = v_fma(a, V_NAME(math_series)(z, gelu_odd, 5), V_NAME(math_series)(z, gelu_even, 6));
    VF sum = v_add(l, EXP_MAGIC(0)), r = v_sub(l, v_sub(sum, EXP_MAGIC(0)));
    VF rest = v_fma(r, V_NAME(math_series)(r, erf_exp2, 6), one);
    VF far = v_mul(rest, v_from_bits(vi_left(v_bits(sum), 23)));
    return v_pick(v_is_less(x, v_zero()), far, v_sub(one, far));
}
V_INLINE VF V_NAME(math_gelu)(VF x) {
    return v_mul(x, V_NAME(gelu_part)(x));
}
V_INLINE VF V_NAME(math_gelu_slope)(VF x) {
    VF bell = V_NAME(math_exp)(v_mul(v_mul(x, x), v_set(-0.5f)));
    return v_fma(x, v_mul(bell, v_set(HALF_BELL)), V_NAME(gelu_part)(x));
}

V_INLINE VF V_NAME(gelu_tanh)(VF x, VF z) {
    return V_NAME(math_tanh)(v_mul(v_mul(v_set(TANH_SCALE), x), v_fma(v_set(0.044715f), z, v_set(1.0f))));
}
V_INLINE VF V_NAME(math_gelu_tanh)(VF x) {
    return v_mul(v_mul(v_set(0.5f), x), v_add(V_NAME(gelu_tanh)(x, v_mul(x, x)), v_set(1.0f)));
}
V_INLINE VF V_NAME(math_gelu_tanh_slope)(VF x) {
    VF z = v_mul(x, x), t = V_NAME(gelu_tanh)(x, z), half = v_set(0.5f);
    VF inner = v_mul(v_set(TANH_SCALE), v_fma(v_set(3 * 0.044715f), z, v_set(1.0f)));
    VF bend = v_mul(v_mul(v_mul(half, x), v_fnma(t, t, v_set(1.0f))), inner);
    return v_add(v_fma(half, t, half), bend);
}
#undef HALF_BELL
#undef TANH_SCALE
