/* Trigonometry on one vector. Coefficients are minimax fits of relative error; a leading 1 is left out, so
 * that the last step adds a small correction to an exact term. */
#ifndef RL_KERNELS_SIMD_TRIG
#define RL_KERNELS_SIMD_TRIG
/* sin x = x + x z P(z), cos x = 1 + z P(z) with z = x^2; the first up to pi/2, the others up to pi/4 */
static const double trig_wave[] = {-0x1.5555554590ca9p-3, 0x1.11110bcab00e1p-7, -0x1.a017af507c1e4p-13,
                                   0x1.716affb0a4d43p-19, -0x1.99eb13e33e691p-26};
static const double trig_sine[] = {-0x1.55555549f10c5p-3, 0x1.111106a675edfp-7, -0x1.a00e1d6210fe1p-13,
                                   0x1.6c7fdc092443cp-19};
static const double trig_cosine[] = {-0x1.ffffffbc60302p-2, 0x1.5555374c7fbfbp-5, -0x1.6c05f6bfef586p-10,
                                     0x1.98a30fafcb4bep-16};
/* up to 1, and up to 1/2 */
static const float trig_atan[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f,  -0x1.2420a8p-3f,
                                  0x1.c08f5cp-4f,  -0x1.5816dep-4f, 0x1.da68dcp-5f,
                                  -0x1.fe1896p-6f, 0x1.64e83cp-7f,  -0x1.d4e918p-10f};
static const float trig_asin[] = {0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca756p-5f,
                                  0x1.04d318p-5f, 0x1.d516a6p-7f, 0x1.34cebp-5f};
#define TRIG_FAR     0x1p17f /* beyond, the C library takes pi away with more digits */
#define TRIG_HALF_PI 0x1.921fb6p0f, -0x1.777a5cp-25f

static __attribute__((noinline, cold)) void trig_lanes(float *x, int n, double (*f)(double)) {
    for (int i = 0; i < n; i++) x[i] = (float)f(x[i]);
}
#endif

V_INLINE VF V_NAME(trig_far)(VF x, double (*f)(double)) {
    float lanes[V_WIDTH];
    v_store(lanes, x);
    trig_lanes(lanes, V_WIDTH, f);
    return v_load(lanes);
}
V_INLINE bool V_NAME(trig_is_far)(VF x) {
    return __builtin_expect(v_mask_bits(v_is_less(v_set(TRIG_FAR), v_abs(x))) != 0, 0);
}

/* ---- sine, cosine, tangent: what is left of x without n times `step` (here its two parts), in double ----
 */
V_INLINE VD V_NAME(trig_rest)(VD x, VD n, double step, double more) {
    return vd_fnma(n, vd_set(more), vd_fnma(n, vd_set(step), x));
}

V_INLINE VD V_NAME(trig_wave_half)(VD x, VD n) {
    VD r = V_NAME(trig_rest)(x, n, 0x1.921fb54442d18p1, 0x1.1a62633145c07p-53);
    VD z = vd_mul(r, r);
    return vd_fma(vd_mul(r, z), V_NAME(math_series_double)(z, trig_wave, 5), r);
}
/* (-1)^count sin(x - n pi) */
V_INLINE VF V_NAME(trig_wave)(VF x, VF n, VF count) {
    VF y = v_join(V_NAME(trig_wave_half)(v_low(x), v_low(n)), V_NAME(trig_wave_half)(v_high(x), v_high(n)));
    return v_xor(y, v_from_bits(vi_left(v_to_int(count), 31)));
}

V_INLINE VF V_NAME(math_sin)(VF x) {
    if (V_NAME(trig_is_far)(x)) return V_NAME(trig_far)(x, sin);
    VF n = v_add(v_round(v_mul(x, v_set(0x1.45f306p-2f))), v_zero()); /* never -0: sin(-0) is -0 */
    return V_NAME(trig_wave)(x, n, n);
}

V_INLINE VF V_NAME(math_cos)(VF x) {
    if (V_NAME(trig_is_far)(x)) return V_NAME(trig_far)(x, cos);
    VF n = v_add(v_round(v_fms(x, v_set(0x1.45f306p-2f), v_set(0.5f))), v_set(0.5f));
    return V_NAME(trig_wave)(x, n, v_add(n, v_set(0.5f)));
}

/* odd: 1 where n is odd, else 0 */
V_INLINE VD V_NAME(trig_tan_half)(VD x, VD n, VD odd) {
    VD r = V_NAME(trig_rest)(x, n, 0x1.921fb54442d18p0, 0x1.1a62633145c07p-54);
    VD z = vd_mul(r, r);
    VD s = vd_fma(vd_mul(r, z), V_NAME(math_series_double)(z, trig_sine, 4), r);
    VD c = vd_fma(z, V_NAME(math_series_double)(z, trig_cosine, 4), vd_set(1));
    return vd_div(vd_pick(vd_is_less(vd_set(0.5), odd), c, s),
                  vd_pick(vd_is_less(vd_set(0.5), odd), vd_sub(vd_set(0), s), c));
}

V_INLINE VF V_NAME(math_tan)(VF x) {
    if (V_NAME(trig_is_far)(x)) return V_NAME(trig_far)(x, tan);
    VF n = v_add(v_round(v_mul(x, v_set(0x1.45f306p-1f))), v_zero());
    VF odd = v_to_float(vi_and(v_to_int(n), vi_set(1)));
    return v_join(V_NAME(trig_tan_half)(v_low(x), v_low(n), v_low(odd)),
                  V_NAME(trig_tan_half)(v_high(x), v_high(n), v_high(odd)));
}

/* ---- their inverses ---- */
/* base + more + t + error, the first above the second and the third, so that what t loses is known */
V_INLINE VF V_NAME(trig_sum)(VF base, VF more, VF t, VF error) {
    VF sum = v_add(base, t), lost = v_add(v_sub(base, sum), t);
    return v_add(sum, v_add(error, v_add(more, lost)));
}

/* base + more + atan(t + error) for |t| <= 1 */
V_INLINE VF V_NAME(trig_atan)(VF base, VF more, VF t, VF error) {
    VF z = v_mul(t, t);
    VF q = V_NAME(math_series)(z, trig_atan, 9);
    return V_NAME(trig_sum)(base, more, t, v_fma(v_mul(t, z), q, error));
}

/* beyond 1, atan x = pi/2 - atan 1/x */
V_INLINE VF V_NAME(math_atan)(VF x) {
    static const float half_pi[] = {TRIG_HALF_PI};
    VF a = v_min(v_set(0x1p60f), v_abs(x)), t = v_div(v_set(-1.0f), a);
    VF error = v_mul(v_fma(t, a, v_set(1.0f)), t);
    VM far = v_is_less(v_set(1.0f), a);
    VF y =
        V_NAME(trig_atan)(v_pick(far, v_set(half_pi[0]), v_zero()), v_pick(far, v_set(half_pi[1]), v_zero()),
                          v_pick(far, t, a), v_pick(far, error, v_zero()));
    return v_or(v_abs(y), v_sign_of(x));
}

V_INLINE VF V_NAME(math_atan2)(VF y, VF x) {
    static const float half_pi[] = {TRIG_HALF_PI};
    VF ay = v_abs(y), ax = v_abs(x), low = v_min(ax, ay), high = v_max(ax, ay);
    VM steep = v_is_less(ax, ay), left = vi_is_less(v_bits(x), vi_set(0));
    VF t = v_div(low, high);
    t = v_pick(v_is_equal(low, v_zero()), v_zero(), t);
    t = v_pick(v_is_equal(low, v_set(INFINITY)), v_set(1.0f), t);
    /* quarters of a turn before t, and whether t goes back from there */
    VF quarters = v_pick(steep, v_set(1.0f), v_pick(left, v_set(2.0f), v_zero()));
    VF back = v_xor(v_pick(steep, v_set(-0.0f), v_zero()), v_pick(left, v_set(-0.0f), v_zero()));
    VF a = V_NAME(trig_atan)(v_mul(quarters, v_set(half_pi[0])), v_mul(quarters, v_set(half_pi[1])),
                             v_xor(t, back), v_zero());
    a = v_or(v_abs(a), v_sign_of(y));
    return v_pick(v_unordered(x, y), v_add(x, y), a);
}

/* Beyond 1/2, asin x = pi/2 - 2 asin s with s^2 = (1 - x) / 2. z: the square, s: its root, w: asin s - s */
#define TRIG_ARC(x)                                                                                          \
    VF a = v_abs(x);                                                                                         \
    VM far = v_is_less(v_set(0.5f), a);                                                                      \
    VF z = v_pick(far, v_fnma(a, v_set(0.5f), v_set(0.5f)), v_mul(a, a));                                    \
    VF s = v_pick(far, v_sqrt(z), a);                                                                        \
    VF w = v_mul(v_mul(s, z), V_NAME(math_series)(z, trig_asin, 6));                                         \
    static const float half_pi[] = {TRIG_HALF_PI}

V_INLINE VF V_NAME(math_asin)(VF x) {
    TRIG_ARC(x);
    VF y = V_NAME(trig_sum)(v_set(half_pi[0]), v_set(half_pi[1]), v_mul(v_set(-2.0f), s),
                            v_mul(v_set(-2.0f), w));
    return v_or(v_abs(v_pick(far, y, v_add(s, w))), v_sign_of(x));
}

V_INLINE VF V_NAME(math_acos)(VF x) {
    TRIG_ARC(x);
    VF sign = v_sign_of(x), twice = v_mul(v_set(2.0f), v_add(s, w));
    VF near = v_sub(v_set(half_pi[0]), v_add(v_xor(s, sign), v_sub(v_xor(w, sign), v_set(half_pi[1]))));
    VF turned = v_sub(v_set(2 * half_pi[0]), v_sub(twice, v_set(2 * half_pi[1])));
    return v_pick(far, v_pick(v_is_less(x, v_zero()), turned, twice), near);
}
#undef TRIG_ARC
